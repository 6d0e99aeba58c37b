"""select(): arguments -> problem -> criterion -> run -> Selection.

select       select() and Selection
start        the items as a design sees them, and what is known beforehand
memory       how much memory a search may use
run          steps taken and timed: progress, checkpoint, certificate
certificate  how far the picks can be from the optimum
"""
