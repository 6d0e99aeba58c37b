"""The design: what is known about the coefficients once the pairs asked so far are answered.

    information   Design: the information matrix A as a root of its inverse; add(i, j), log det
    effects       effects of the items' own, beside their features: what is still open of them
    sparse_inverse  the inverse of a matrix that is large and sparse, for those effects
    weights       what an answer weighs under a model
    steps         Step, what every algorithm and criterion yields; the best of all remaining pairs, every one looked at
    kernels       compiled loops over pairs that several rooms use
    blas          BLAS held to one thread
    compiling     how long numba was compiling

Words: *log det* is log det A, which D-optimal designs maximise; a *gain* is what a pair adds to an objective; the
*root* W has W W' = A^-1; *whitened* features are Z = X W, between which a pair's d_ij = |z_i - z_j|^2 is a squared
distance. An item is *touched* once it was compared, labelled or picked: something is known of its effect then.
"""
