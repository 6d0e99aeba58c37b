"""From stored answers to the next round.

rounds   the pairs of a round: designed and random
planner  when to add a round, and how large
pace     open pairs, answers per second, and pairs that are stuck
worker   the process that plans and reports while people answer
"""
