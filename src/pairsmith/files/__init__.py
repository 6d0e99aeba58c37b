"""Files: tables of items, labels and answers, and everything that is written so that a crash cannot halve it.

    items         a table of items: ids, features, groups
    labels        labels of items, by id
    answers       pairs of items and answers to them, by id
    formats       one reader a format: CSV, TSV, JSON Lines, Parquet, .npy; another one goes here
    sources       where bytes come from, a file or a pipe, and which format they are in
    json_reader   JSON, in which no key may be repeated
    write_table   tables written, without formulas that a spreadsheet would run
    write         a file written whole, or not at all
    checkpoint    the pairs a selection has picked so far

Words: a *pair* is asked, an *answer* is a pair with its outcome, a *label* is absolute; an *id* is what users call an
item.
"""
