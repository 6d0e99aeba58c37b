"""Programs as raters.

judge   hand pairs to a program and store its answers
asking  ask a program by command or by HTTP
"""
