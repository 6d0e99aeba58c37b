"""Print the table of data sets: sizes, time of naive greedy for K = 200, AUC with all training comparisons (Fig. 1a).

python experiments/dataset_table.py [--scale paper] [--data FOLDER]
"""

from functools import partial

import common
import evaluation
import pandas as pd
from rich.table import Table


def spread(values: pd.Series) -> str:
    low, high = values.min(), values.max()
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


if __name__ == "__main__":
    chosen = common.options(__doc__)
    names = common.available([*common.WITH_ANSWERS, *common.ONLY_FEATURES], chosen.data)
    times = common.measure_timings(
        chosen, [(name, seed, "NG") for name in names for seed in range(common.repeats(chosen, name))]
    )
    path = chosen.results / "datasets.csv"
    if chosen.redraw:
        facts = pd.read_csv(path)
    else:
        units = [{"data": name, "seed": seed} for seed in range(1 if chosen.quick else 10) for name in names]
        facts = common.run_units(path, units, partial(evaluation.data_facts, folder=chosen.data), jobs=-1)
    table = Table("data", "N", "d", "|A|", "|C|", "|C trn|", "T_n (s)", "A_ab", "A_ac", "lambda")
    for name in names:
        own = facts[facts.data == name]
        took = times[(times.data == name) & (times.K == 200)]
        mark = "*" if took.extrapolated.any() else ""
        auc = ["" if own[column].isna().all() else f"{own[column].mean():.3f}" for column in ("labels", "comparisons")]
        sizes = [spread(own[column]) for column in ("n", "d", "labeled", "pairs", "training")]
        table.add_row(name, *sizes, f"{took.seconds.mean():.3g}{mark}", *auc, f"{own.ridge.mean():.1g}")
    common.console.print(table)
    common.console.print("* extrapolated from the first steps, since all steps cost the same")
