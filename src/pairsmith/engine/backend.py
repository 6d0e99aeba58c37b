"""The passes of a scan over all items and all pairs: the interface, and its implementation in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.candidates import Remaining
from pairsmith.design.information import Design
from pairsmith.design.kernels import distances
from pairsmith.engine import kernels
from pairsmith.engine.screening import ItemBlock, ScreenPlan, TileRows
from pairsmith.engine.threads import ThreadTeam
from pairsmith.engine.top_pairs import Hits, Items, TopPairs
from pairsmith.engine.whitening import WhitenedItems, whiten

ProgressCallback = Callable[[str], None]  # reports progress as a line of text

PAIRS_AT_ONCE = 1 << 18  # pairs per task of a float64 pass
_NUMBERS_PER_TASK = 1 << 18  # entries of Z per task of a pass over items
_BATCHES_PER_THREAD = 32  # batches of strips, so that no thread waits long for the others

_NO_COVARIANCE = np.zeros((0, 0)), np.zeros(0, dtype=np.int32)


class ScanBackend(Protocol):
    """Carries out the passes of a scan; implemented by `ThreadBackend` and `pairsmith.cluster.scan.InTasks`.

    With item effects, both passes over pairs skip the pairs whose two items are touched: `Scan` handles those.
    """

    @property
    def second_look(self) -> bool:
        """Whether Z is at hand for any pair, so that a screen may leave out columns and recompute its hits."""

    def measure(self, factors: tuple[Floats, ...]) -> tuple[Floats, Floats, Floats | None]:
        """Return |z_i|^2 of all items, the sum of squares of each column of Z, and Z if this process keeps it."""

    def screen(self, whitened: WhitenedItems, plan: ScreenPlan, top: TopPairs) -> None:
        """Add the planned pairs whose bound reaches the floor. Pairs that are gone may be among them."""

    def exact(self, whitened: WhitenedItems, top: TopPairs) -> None:
        """Add the remaining candidates whose gain in float64 reaches the floor."""


class ThreadBackend:
    """Passes in threads of this process. Z is kept in memory if it takes no more than `memory` bytes."""

    def __init__(
        self,
        design: Design,
        remaining: Remaining,
        team: ThreadTeam,
        _diagnostics: dict[str, Any],
        tell: ProgressCallback,
        memory: int,
    ) -> None:
        self.design, self.remaining, self.team, self.tell = design, remaining, team, tell
        n, d = design.features.shape
        self.items_per_task = max(1, _NUMBERS_PER_TASK // d)
        # These arrays are reused from scan to scan: freeing memory and allocating it again is slow.
        self.squared_norms = np.empty(n)
        self.Z: Floats | None = np.empty((n, d)) if n * d * 8 <= memory else None
        self.float32_rows: npt.NDArray[np.float32] = np.empty(0, dtype=np.float32)

    @property
    def second_look(self) -> bool:
        return self.Z is not None

    def measure(self, factors: tuple[Floats, ...]) -> tuple[Floats, Floats, Floats | None]:
        points, step = self.design.points, self.items_per_task
        n, d = points.shape
        energies = np.zeros((-(-n // step), d))

        def work(task: int) -> None:
            block = slice(task * step, min((task + 1) * step, n))
            Z = whiten(points, block, factors, None if self.Z is None else self.Z[block])
            np.einsum("ic,ic->i", Z, Z, out=self.squared_norms[block])
            np.einsum("ic,ic->c", Z, Z, out=energies[task])

        self.team.share(work, range(len(energies)))
        return self.squared_norms, energies.sum(axis=0), self.Z

    def screen(self, whitened: WhitenedItems, plan: ScreenPlan, top: TopPairs) -> None:
        items = self._tile_rows(whitened, plan)
        total = plan.pairs[-1] if len(plan.pairs) else 0
        shares = np.linspace(0, 1, _BATCHES_PER_THREAD * self.team.threads + 1)[1:-1]
        batches = [batch for batch in np.split(plan.strips, np.searchsorted(plan.pairs, shares * total)) if len(batch)]
        local, lock, done = threading.local(), threading.Lock(), 0

        def work(batch: Ints) -> None:
            nonlocal done
            if not hasattr(local, "scratch"):
                local.scratch = plan.screening.scratch()
            for hits in plan.screening.hits(items, items, batch, lambda: whitened.product(top.floor), local.scratch):
                hits = hits.only(~whitened.both_touched(hits.i, hits.j)) if whitened.own is not None else hits
                hits = whitened.with_true_gains(hits, top.floor)
                with lock:
                    top.add(hits)
            with lock:
                done += 1
                self.tell(f"scanning {len(self.remaining.rows):.2g} pairs, {done / len(batches):.0%}")

        self.team.share(work, batches)

    def _tile_rows(self, whitened: WhitenedItems, plan: ScreenPlan) -> TileRows:
        """Prepare the items of the plan for the screen, as one block."""
        screening, order = plan.screening, plan.order
        size = len(order) * screening.row_width
        if size > len(self.float32_rows):
            self.float32_rows = np.empty(size, dtype=np.float32)
        rows = self.float32_rows[:size].reshape(len(order), -1)
        items = ItemBlock.of(whitened, 0, order)
        points = self.design.points

        def work(low: int) -> None:
            block = slice(low, low + self.items_per_task)
            Z, which = self.Z, order[block]
            if Z is None:
                Z, which = whiten(points, which, whitened.factors), np.arange(len(which), dtype=np.int32)
            screening.write_float32_rows(Z, which, items.part(block), rows[block])

        self.team.share(work, range(0, len(order), self.items_per_task))
        return TileRows(items, rows, self.Z, order)

    def exact(self, whitened: WhitenedItems, top: TopPairs) -> None:
        rows, lock, done = self.remaining.rows, threading.Lock(), 0
        Z = whitened.rows(np.arange(rows.n_items)) if whitened.Z is None else whitened.Z
        blocks = rows.blocks(PAIRS_AT_ONCE)
        arrays = rows.partner, rows.first, rows.count, rows.start

        def work(block: tuple[int, int]) -> None:
            nonlocal done
            floor = top.floor
            hits = pairs_above_floor(Z, arrays, whitened.design.scores, whitened.own, *block, whitened.product(floor))
            hits = whitened.with_true_gains(hits.only(~whitened.both_touched(hits.i, hits.j)), floor)
            hits = hits.only(top.wanted(hits) & ~whitened.gone(hits.i, hits.j))
            with lock:
                top.add(hits)
                done += 1
                self.tell(f"scanning {len(rows):.2g} pairs in float64, {done / len(blocks):.0%}")

        self.team.share(work, blocks)


def pairs_above_floor(
    Z: Floats,
    arrays: tuple[Any, Any, Any, Any],
    scores: Floats | None,
    own: Floats | None,
    low: int,
    high: int,
    floor: float,
    covariance: tuple[Floats, Items] = _NO_COVARIANCE,
) -> Hits:
    """Return the pairs of rows low to high - 1 whose gain in float64 reaches the floor.

    `arrays` holds the partner, first, count and start of `candidates.Rows`. Item effects add own_i + own_j - 2 E_ij to
    d_ij; `covariance` is E, and the row of E of each item.
    """
    size = int(arrays[3][high] - arrays[3][low])
    gains, out = np.empty((2, size + 1))
    i, j = np.empty((2, size + 1), dtype=np.int32)
    distances(Z, *arrays, low, high, gains)
    if own is not None:
        kernels.add_effect_variances(gains, own, *covariance, *arrays, low, high)
    if scores is not None:
        kernels.apply_logistic_weights(gains, scores, *arrays, low, high)
    count = kernels.select_above_floor(gains, *arrays, low, high, floor, i, j, out)
    return Hits(i[:count], j[:count], out[:count])
