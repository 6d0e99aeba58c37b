"""The paper's eight greedy algorithms, written to be read beside the paper.

greedy    the algorithms, each a rule (how a gain is computed) times a search (how the largest is found), and their
          registry, ALGORITHMS
kernels   their compiled loops
"""
