"""Rows of a file, read in a compiled loop."""

from numba import types

from pairsmith.design.compiling import compiled

_pread = types.ExternalFunction("pread", types.intp(types.intc, types.uintp, types.uintp, types.int64))


@compiled
def read_rows(descriptor, offset, items, ascending, out):
    """out[r] = the bytes of row items[r] of an open file whose rows begin at `offset`; how many could be read.

    `ascending` sorts the items. Rows that follow each other in both are read at once.
    """
    size = out.shape[1]
    at = 0
    while at < len(ascending):
        first, run = ascending[at], 1
        while (
            at + run < len(ascending)
            and ascending[at + run] == first + run
            and items[first + run] == items[first] + run
        ):
            run += 1
        done = 0
        while done < run * size:
            read = _pread(
                descriptor,
                types.uintp(out.ctypes.data + first * size + done),
                types.uintp(run * size - done),
                types.int64(offset + items[first] * size + done),
            )
            if read <= 0:
                return at
            done += read
        at += run
    return at
