"""Plot time against d, N = 3,000, K = 50 and 200, for all eight algorithms and the engine (the paper's Fig. 3).

python experiments/time_d.py [--scale paper]
"""

import common

chosen = common.options(__doc__)
n, dimensions = (600, [20, 60, 200]) if chosen.quick else (3000, [20, 60, 100, 200, 400])
units = [(f"gaussian {n} {d}", 0, method) for d in dimensions for method in common.ALGORITHM_NAMES]
table = common.measure_timings(chosen, units)
common.draw_two_budgets(table, "d", f"features d (N = {n:,})", chosen.figures / "time-d.png")
