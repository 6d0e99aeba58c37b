"""select() and Selection. An argument passes through these modules in this order:

options      how to search: the criterion, the algorithm, and what goes with them
start        the items as the design sees them, with the posterior of a Gaussian process
models       checks of models, and the estimate of a linear model
problem      which pairs may be picked, and what is known already
memory       how much memory the search may use
run          the steps, timed and saved; the progress bar
certificate  a proved bound on how much better any other pairs could be
select       select(), which calls all of these, and Selection

An argument is checked once, by the first of these modules that reads it. Later modules trust it.
"""
