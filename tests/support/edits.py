"""Files as somebody might have edited them: each field missing, or of another type."""

import copy
from contextlib import contextmanager

VALUES = (None, True, 3, -1, 1.5, 1e999, float("nan"), 10**400, "text", "", [], [1], [[1]], ["a"], {}, {"a": 1})
MISSING = object()


def edits(content, values=VALUES):
    """Yield (place, the content with this place edited) for all fields, and the first two entries of lists."""
    places = [((), content)]
    while places:
        place, value = places.pop()
        inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
        for key, child in inner:
            places.append(((*place, key), child))
            for new in (MISSING, *values):
                edited = copy.deepcopy(content)
                holder = edited
                for step in place:
                    holder = holder[step]
                if new is MISSING:
                    del holder[key]
                else:
                    holder[key] = new
                yield (*place, key), edited


@contextmanager
def read_or_refused(beginning):
    """What happens within succeeds, or fails with a ValueError of one line that begins so, as with a file's name."""
    try:
        yield
        return
    except ValueError as error:
        told = str(error)
    assert told.startswith(str(beginning)), told
    assert "\n" not in told
