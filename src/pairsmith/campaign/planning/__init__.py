"""From stored answers to the next round.

rounds   the pairs of a round: designed and random
planner  when to add a round, and how large
pace     open pairs, and how fast people answer
waits    pairs that wait for raters who are not at work
worker   the process that plans and reports while people answer
"""
