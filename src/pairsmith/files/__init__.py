"""Files: tables of items, labels and pairs, and everything that is written so that a crash cannot halve it.

tables       items, labels, pairs and answers read from CSV, Parquet and others by id, and written
write        a file written whole, or not at all
checkpoint   the pairs a selection has picked so far
"""
