"""The engine's scans on the workers of a Dask cluster; the only room that imports dask.

Only scans are distributed. A scan is a pure function of features, whitener, tile and floor, so plain tasks serve: what
a dead worker had is run again elsewhere, and what tasks find is merged, as it comes, in the coordinator's TopPairs,
whose floor the tasks that follow start from. Picks are made by the coordinator, between scans.

    client     Cluster: the workers of a client, for one selection; connect, for the command line
    scan       InTasks: the engine's passes, cut into tasks
    submit     Submitter: calls become tasks, and what was lost with a worker is done again; Broadcast
    features   features on workers: in files that they read, or in blocks that they hold; OnWorkers stands for them here
    tasks      what a worker does: pure functions of features, a whitener and some of the pairs
    cache      what a worker keeps, in bounded memory
    kernels    rows of a file, read in a compiled loop

Words (floor, tile, whitened): see `pairsmith.engine`; the whitener is the factors of W, and the center.
"""
