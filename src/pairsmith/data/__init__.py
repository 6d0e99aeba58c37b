"""The inputs of a selection: items with features, and the candidate pairs.

    arrays          names for array types; checks of row numbers that users pass
    candidates      candidate pairs: AllPairs, WithinGroups, Among and PairList; Rows, the one form of all four;
                    Remaining, the pairs that may still be picked
    features        Features: the items' numbers, in memory, too large to copy, or on the workers of a cluster
    user_features   arrays, data frames and tables with ids that users pass, checked and turned into Features
    outcomes        checks of the outcomes of comparisons: +1, -1 and 0, or words
    spread          mean and standard deviation of columns, without loss of digits
    memory          the memory that is available
    errors          ArgumentError: a value that an argument cannot have
    options         checks of single values that users pass: whole numbers, names, threads, seeds
    ridge           the lambda of the information matrix, chosen and checked
    names           texts shown to people
    fingerprint     hashes of arrays and features, by which a checkpoint recognises its problem

Vocabulary: an *item* is a row of X and is known here by its row number. A *pair* is (i, j) with i < j. An *id* is the
name that a user gives an item.
"""
