"""Plot the time on each data set relative to naive greedy, K = 200 (the paper's Fig. 5).

python experiments/relative_time.py [--scale paper] [--data FOLDER]
"""

import common
import matplotlib.pyplot as plt
import numpy as np

chosen = common.options(__doc__)
names = common.available([*common.WITH_ANSWERS, *common.ONLY_FEATURES], chosen.data)
units = [
    (name, seed, method)
    for name in names
    for seed in range(common.repeats(chosen, name))
    for method in common.ALGORITHM_NAMES
]
table = common.measure_timings(chosen, units)
table = table[table.K == 200].pivot_table(index=["data", "seed"], columns="method", values="seconds")
relative = table.div(table["NG"], axis=0).groupby("data").mean().loc[names]
methods = [method for method in common.ALGORITHM_NAMES if method != "NG"]
figure, axis = plt.subplots(figsize=(max(8.5, 1.5 + 1.25 * len(names)), 4.6), layout="constrained")
for at, method in enumerate(methods):
    place = np.arange(len(names)) + (at - 3.5) / 10
    hatch = {"--": "////", ":": "...."}.get(common.LINES.get(method, "-"), "")
    axis.bar(
        place, relative[method], 0.095, color=common.COLOURS[method], label=method, hatch=hatch, edgecolor="white", lw=0
    )
axis.axhline(1, color="0.3", lw=1)
axis.set(yscale="log", ylabel="time relative to naive greedy")
axis.set_xticks(range(len(names)), [name.replace("_", " ") for name in names])
axis.legend(frameon=False, ncols=8, loc="lower center", bbox_to_anchor=(0.5, 1), fontsize=9)
common.save_figure(figure, [axis], chosen.figures / "relative-time.png")
