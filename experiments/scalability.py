"""Plot the time of the lazy algorithms and the engine on 1.1 10^8 pairs, N = 15,000, d = 400 (the paper's Fig. 1b).

    python experiments/scalability.py [--scale paper]

Naive lazy takes an hour, so it only runs at the paper's scale.
"""

import common
import matplotlib.pyplot as plt

chosen = common.options(__doc__)
n, d = (3000, 100) if chosen.quick else (15_000, 400)
methods = [*([] if chosen.quick else ["NL"]), "FLP", "FLM", "SLP", "SLM", "engine"]
table = common.measure_timings(chosen, [(f"gaussian {n} {d}", 0, method) for method in methods])
figure, axis = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
ends = {}
for method in methods:
    own = table[table.method == method]
    axis.plot(
        own.K, own.seconds, common.LINES.get(method, "-"), color=common.COLOURS[method],
        lw=2.4 if method == "engine" else 1.6,
    )  # fmt: skip
    ends[method] = (own.K.iloc[-1], own.seconds.iloc[-1])
axis.set(yscale="log", xlabel="pairs picked K", ylabel="seconds", xlim=(0, 225))
axis.set_title(f"N = {n:,}, d = {d}: {n * (n - 1) // 2:,} pairs")
common.label_lines(axis, ends)
common.save_figure(figure, [axis], chosen.figures / "scalability.png")
