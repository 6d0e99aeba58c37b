"""The default search: the exact greedy sequence of D-optimal pairs, from a few scans of all pairs.

In whitened coordinates, a pair's gain is a squared distance, d_ij = |z_i - z_j|^2, so the greedy step takes the
farthest pair of points. Gains only fall (submodularity), so a scan that keeps all pairs above a floor serves many
steps: as long as the best of the pairs it kept reaches the floor, it is the best of all. There are three nested levels:

    +-- all pairs ---------- up to 10^12, never stored; only a scan examines them --------------------+
    |                        pairs that a scan leaves out are below the floor, and stay below it      |
    |   +-- the pool ------- up to 10^7 pairs, each with an upper bound on its gain --------------+   |
    |   |                    a bound is lowered only when that matters                            |   |
    |   |   +-- the working set -- some 10^4 pairs with their gains, updated at every pick ---+   |   |
    |   |   |                      the best of them is the next pick                          |   |   |
    |   |   +---------------------------------------------------------------------------------+   |   |
    |   +-----------------------------------------------------------------------------------------+   |
    +-------------------------------------------------------------------------------------------------+

A pick is the best pair of the working set, as long as its gain reaches every bound outside. Otherwise a new working set
is drawn from the pool. When the best of the pool is below the floor, all pairs are scanned again.

With item effects (`design.effects`), d_ij = |z_i - z_j|^2 + own_i + own_j - 2 E_ij. The distance is over the same d
columns, in which touched items are shifted; the other terms are the variance of the two effects. E_ij is 0 unless both
items are touched. So a scan treats all other pairs as before, with own_i and own_j added, and examines the T^2 / 2
pairs of touched items separately, in float64. A pick still lowers gains by (rho_i - rho_j)^2.

Words
    whitened   Z = X W, where W W' = A^-1
    gain       d_ij, or w_ij d_ij with weights; a Step reports log(1 + gain), which orders pairs alike
    scan       one examination of all candidates, in float32 under a proved bound, or in float64
    floor      the gain that a pair must reach to be kept; it rises if there is no room for all such pairs
    hit        a pair that reaches the floor, with its gain or an upper bound on it
    tile       the pairs of two blocks of items, whose products a scan computes at once
    strip      the tiles of one block of rows
    update     the rank-one change of the design at a pick
    touched    with item effects: compared, labelled or picked before; E covers these items

Modules, from the top down
    search            the greedy sequence
    random_matching   the first picks with item effects but without features: nothing to scan for
    floor             a cost model that chooses the floor of a scan
    working_set, pool the two inner levels
    scan              the plan of a scan: which items, which tiles, which columns
    backend           the passes of a scan, in threads (`pairsmith.cluster` runs them as tasks)
    screening         the float32 bound and its proof
    whitening         the whitened items, and what bounds their gains
    top_pairs         hits, and a bounded collection of the largest
    threads           threads for loops over blocks
    kernels           compiled inner loops
"""
