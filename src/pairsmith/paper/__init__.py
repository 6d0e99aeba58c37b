"""The paper's eight greedy algorithms, readable beside the paper.

greedy    two axes, rules and searches, and the table of their combinations, ALGORITHMS
kernels   their compiled loops
"""
