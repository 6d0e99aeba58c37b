"""The design: the information about the coefficients and item effects, given the pairs asked so far.

    information     Design: the information matrix A as a root of its inverse; add(i, j) and log det
    effects         Effects: the covariance of the items' own effects, beside their features
    sparse_inverse  the inverse of a large sparse matrix, which the effects need
    weights         the weight of an answer under a model
    steps           Step, which every algorithm and criterion yields, and the exhaustive search for the best pair
    kernels         compiled loops over pairs that several packages use
    compiling       how numba compiles kernels, and how long that takes
    blas            BLAS restricted to one thread

Vocabulary: *log det* is log det A, which D-optimal designs maximise. A *gain* is what a pair adds to an objective. The
*root* W satisfies W W' = A^-1. *WhitenedItems* features are Z = X W: between them, d_ij = |z_i - z_j|^2 of a pair is a
squared distance. An item is *touched* once it was compared, labelled or picked, since its effect is then partly known.
"""
