"""The default search: the exact greedy sequence of D-optimal pairs, from a few scans of all pairs.

Whitened, a pair's gain is a distance, d_ij = |z_i - z_j|^2, and the greedy step takes the farthest pair of points.
Gains only fall (submodularity), so a scan of all pairs that keeps those above a floor is good for many steps: while the
best of what it kept reaches the floor, that is the best of all pairs. So there are three levels, one in the other:

    +-- all pairs ------------------ up to 10^12, none of them stored; looked at by a scan only ------+
    |                                                                                                 |
    |   . . . what a scan leaves out is below the floor, and stays there, because gains only fall . . |
    |                                                                                                 |
    |   +-- the pool ------------- up to 10^7 pairs, each with an upper bound on its gain ----------+ |
    |   |                          (bounds are brought up to date only when that matters)           | |
    |   |                                                                                           | |
    |   |   +-- the front -------- some 10^4 pairs, each with its gain, updated at every pick --+   | |
    |   |   |                      the best of them is the next pick                            |   | |
    |   |   +-----------------------------------------------------------------------------------+   | |
    |   +-------------------------------------------------------------------------------------------+ |
    +-------------------------------------------------------------------------------------------------+

Where items have effects of their own (`design.effects`), d_ij = |z_i - z_j|^2 + own_i + own_j - 2 E_ij: the same
distance over the d columns, in which the z of touched items are shifted, and beside it what effects leave open. E_ij is
0 unless both items are touched, so a scan looks at all other pairs as before, with own_i and own_j counted in, and at
pairs of two touched items, T^2 / 2 of them, by themselves and in float64. Gains fall by (rho_i - rho_j)^2 as ever.

A pick is the best of the front while that reaches every bound outside it. Else the front is drawn anew from the pool;
and when the pool's best is below the floor, a new epoch begins with a scan of all pairs.

Words
    whitened   Z = X W, where W W' = A^-1: features between which a pair's gain is a squared distance
    gain       here d_ij, or w_ij d_ij; what a Step reports is log(1 + d_ij), which orders pairs alike
    scan       a look at all candidate pairs, in float32 under a proved bound, or in float64
    tile       some items beside some others: the pairs whose products a scan computes at once
    floor      what a pair's gain must reach to be kept; it rises when more are found than there is room for
    hit        a pair that reaches the floor, with its gain or an upper bound on it
    pool       the hits of the last scan
    front      the best part of the pool, in float64; the best, and what comes near it, are computed afresh from the
               root before a pick
    epoch      the time between two scans, and the picks made in it
    touched    said of an item that was compared, labelled or picked, where items have effects: E is about these
    reach      a squared length for each item: two items whose reaches are short cannot be far apart (`whitened`)

Modules, from the top down
    search      the greedy sequence: epochs, and picks from the front
    floor       the cost model that chooses the floor of a scan
    pool, front the two inner levels, and Epoch, the picks since the scan
    picking     picks from the front where items have effects; else a kernel makes them
    scan        a pass over all pairs, planned: which tiles, which columns
    passes      the pass itself, in threads of this process (`pairsmith.cluster` has it as tasks)
    screening   the float32 bound, and its proof
    whitened    the items at one moment of the design, and which pairs are gone
    top_pairs   hits, and the largest of them under a floor that rises
    untouched   pairs of items that nothing tells apart, in a random order: there is nothing to scan for
    threads     threads for loops over blocks
    kernels     compiled inner loops
"""
