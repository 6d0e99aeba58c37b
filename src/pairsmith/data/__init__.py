"""What a selection is made from: items with features, and the pairs of them that may be asked.

    arrays          what arrays are called here; row numbers that users pass, checked
    candidates      which pairs may be asked: AllPairs, WithinGroups, PairList; Rows, the one form of all three;
                    Remaining, what of it is still to be had
    features        Features: the items' numbers, in memory, too large to copy, or on the workers of a cluster
    user_features   what users pass as features (arrays, data frames, tables with ids), checked -> Features
    outcomes        outcomes of comparisons, checked: +1, -1 and 0, or words
    spread          mean and standard deviation of columns, however large, small or close their numbers are
    memory          how much memory there is
    options         single values that users pass, checked: whole numbers, names, threads, seeds
    ridge           the objective's lambda, chosen and checked
    names           names of items as people see them
    fingerprint     hashes of arrays and features, which say whether a checkpoint belongs to a problem

Words: an *item* is a row of X, known here by its row number; a *pair* is (i, j) with i < j; an *id* is what users call
an item.
"""
