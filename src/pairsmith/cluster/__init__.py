"""The engine's scans on the workers of a Dask cluster; the only room that imports dask.

client    submitting tasks, and doing again what was lost with a worker; the scan
tasks     what a worker does: pure functions of features and a tile of the pairs
kernels   rows of a file, read in a compiled loop
"""
