"""The default search: the exact greedy sequence from a few scans of all pairs."""
