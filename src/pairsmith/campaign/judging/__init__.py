"""Programs as raters.

judge   hand pairs to a program and store its answers
asking  ask by a command or by HTTP
"""
