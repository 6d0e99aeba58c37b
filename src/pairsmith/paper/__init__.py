"""The paper's eight greedy algorithms, readable beside the paper.

greedy    the algorithms, each a rule (how a gain is known) times a search (how the largest is found), and their
          table, ALGORITHMS
kernels   their compiled loops
"""
