"""Plot time against K for three lazy algorithms at several d (the paper's Fig. 4): is there a jump, and where?

python experiments/time_k.py [--scale paper]
"""

import common
import matplotlib.pyplot as plt

chosen = common.options(__doc__)
n, dimensions = (1000, [20, 60, 200]) if chosen.quick else (5000, [20, 60, 100, 200, 400])
methods = ["NL", "FLP", "SLP"]
slowest_last = [(f"gaussian {n} {d}", 0, method) for method in reversed(methods) for d in dimensions]
table = common.measure_timings(chosen, slowest_last)
figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained", sharey=True)
shades = plt.get_cmap("viridis")
for axis, method in zip(axes, methods, strict=True):
    ends = {}
    for at, d in enumerate(dimensions):
        own = table[(table.method == method) & (table.d == d)]
        colour = shades(0.9 * at / (len(dimensions) - 1))
        axis.plot(own.K, own.seconds, color=colour, lw=1.8)
        ends[f"d = {d}"] = (own.K.iloc[-1], own.seconds.iloc[-1])
        common.COLOURS[f"d = {d}"] = colour
    axis.set(yscale="log", title=method, xlabel=f"pairs picked K (N = {n:,})", xlim=(0, 245))
    common.label_lines(axis, ends)
axes[0].set_ylabel("seconds")
common.save_figure(figure, axes, chosen.figures / "time-k.png")
