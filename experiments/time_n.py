"""Plot time against N, d = 400, K = 50 and 200, for all eight algorithms and the engine (the paper's Fig. 2).

python experiments/time_n.py [--scale paper]
"""

import common

chosen = common.options(__doc__)
sizes, repeats = ([250, 500, 1000], 1) if chosen.quick else ([500, 1000, 2000, 3000, 5000], 2)
units = [
    (f"gaussian {n} 400", seed, method)
    for n in sizes
    for seed in range(repeats if n < 2000 else 1)
    for method in common.ALGORITHM_NAMES
    if n < 5000 or method not in ("FG", "NL", "NG")
]
table = common.measure_timings(chosen, units)
common.draw_two_budgets(table, "n", "items N (d = 400)", chosen.figures / "time-n.png")
