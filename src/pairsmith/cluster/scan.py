"""The engine's passes over the pairs, cut into tasks of a cluster."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pairsmith.cluster import tasks
from pairsmith.cluster.features import NUMBERS_IN_A_TASK
from pairsmith.cluster.submit import Broadcast, Submitter
from pairsmith.data.arrays import Floats, Ints
from pairsmith.data.candidates import Remaining, Rows
from pairsmith.design.information import Design
from pairsmith.engine.backend import ProgressCallback
from pairsmith.engine.screening import ItemBlock, ScreenPlan
from pairsmith.engine.threads import ThreadTeam
from pairsmith.engine.top_pairs import Items, TopPairs
from pairsmith.engine.whitening import WhitenedItems

_TASKS_PER_THREAD = 24  # in a pass, if they are neither too small nor too large
_LEAST_WORK, _MOST_WORK = 1e9, 2e11  # multiplications in a task: some 50 ms to 5 s
_ROWS_IN_FLOAT64 = 4096  # items on each side of a tile in float64
_COST_READ = 2000  # multiplications that it costs to read an item, besides whitening it
_ITEMS_SENT_AT_ONCE = 1 << 18
_UNBOUNDED = 1 << 62  # pairs that a task may keep, if it has the memory
_PARTS = 256  # into which the items of a pass are cut, if those are not too large


class InTasks:
    """Passes by tasks of a cluster. They need the whitener, which is sent to each worker once a scan, and no more."""

    second_look = True  # workers keep Z where it is needed

    def __init__(
        self,
        submitter: Submitter,
        design: Design,
        remaining: Remaining,
        _team: ThreadTeam,
        diagnostics: dict[str, Any],
        tell: ProgressCallback,
        _memory: int,
    ) -> None:
        self.submitter, self.design, self.features, self.remaining = submitter, design, design.features, remaining
        self.diagnostics, self.tell = diagnostics, tell
        self.n, self.d = design.features.shape
        diagnostics.setdefault("tasks", 0)
        self.label = "scan-0"
        self.whitener = Broadcast("none", tuple)  # the one of the last `measure`, in use until the next

    def measure(self, factors: tuple[Floats, ...]) -> tuple[Floats, Floats, None]:
        submitter = self.submitter
        submitter.scans += 1
        self.label = f"scan-{submitter.scans}"
        name, center = f"pairsmith-{submitter.name}-{self.label}", self.features.center
        touched, shift = np.zeros(0, dtype=np.int64), np.zeros((0, self.d))
        if self.design.effects is not None:
            touched = np.sort(self.design.effects.touched)
            shift = self.design.effects.shifts(touched)
        self.whitener = Broadcast(f"whitener-{self.label}", tasks.Whitener, name, factors, center, touched, shift)
        step = int(np.clip(self.n / (2 * submitter.threads()), 1, NUMBERS_IN_A_TASK // self.d + 1))
        assert submitter.stored is not None
        step = min(step, submitter.stored.most_rows_in_a_task)
        spans = [(low, min(low + step, self.n)) for low in range(0, self.n, step)]
        calls = (submitter.on_features(tasks.measure, self.whitener, *span) for span in spans)
        norms, energy = np.empty(self.n), np.zeros((len(spans), self.d))
        for at, (own_norms, own_energy) in submitter.each(f"norms-{self.label}", calls):
            norms[slice(*spans[at])] = own_norms
            energy[at] = own_energy
        return norms, energy.sum(axis=0), None

    def screen(self, whitened: WhitenedItems, plan: ScreenPlan, top: TopPairs) -> None:
        screening, order, strips = plan.screening, plan.order, plan.strips
        if len(strips) == 0:
            return
        width, an_item = screening.row_width, self.d**2 + _COST_READ
        total = float(plan.pairs[-1]) * width + len(order) * an_item
        work = self._work_in_a_task(total)
        side = max(np.sqrt(work / width), len(order) / _PARTS)
        cuts = _cuts(strips, len(order), int(np.clip(side, 1, max(1, NUMBERS_IN_A_TASK // max(self.d, 8)))))
        wanted = list(_tasks(strips, cuts, work / width, an_item / width))
        groups, together = self._broadcast_items(whitened, order, cuts)
        calls = (
            self.submitter.on_features(
                tasks.screen,
                self.whitener,
                screening,
                [groups[at] for at in sorted({right // together for right in (left, *rights)})],
                int(cuts[left]),
                {int(cuts[right]): own for right, own in rights.items()},
                whitened.product(top.floor),  # as it is when the task is submitted
                top.capacity - len(whitened.taken),
                len(whitened.taken),
            )
            for left, rights in wanted
        )
        for hits, floor in self._results("tile", calls, len(wanted)):
            top.floor = max(top.floor, whitened.gain(floor))
            top.add(whitened.with_true_gains(hits, top.floor))

    def _work_in_a_task(self, total: float) -> float:
        """Multiplications, so that each thread gets its share of tasks."""
        return float(np.clip(total / (_TASKS_PER_THREAD * self.submitter.threads()), _LEAST_WORK, _MOST_WORK))

    def _broadcast_items(self, whitened: WhitenedItems, order: Items, cuts: Ints) -> tuple[list[Broadcast], int]:
        """The items between one cut and the next, in groups that are sent at once; how many make a group."""
        bounds = list(itertools.pairwise(cuts.tolist()))
        together = max(1, _ITEMS_SENT_AT_ONCE * len(bounds) // len(order))

        def placed(low: int, high: int) -> ItemBlock:
            return ItemBlock.of(whitened, low, order[low:high])

        groups = [
            Broadcast(f"items-{self.label}-{at}", list, [placed(*own) for own in bounds[at : at + together]])
            for at in range(0, len(bounds), together)
        ]
        return groups, together

    def exact(self, whitened: WhitenedItems, top: TopPairs) -> None:
        scores, effects, taken = whitened.design.scores, whitened.own, len(whitened.taken)
        averaged = whitened.design.averaged is not None
        wanted = list(self._rectangles())
        calls = (
            self.submitter.on_features(
                tasks.exact,
                self.whitener,
                own.astype(np.int32),
                None if scores is None else scores[own],
                None if effects is None else effects[own],
                [self._partners(whitened, own, *window) for window in windows],
                whitened.product(top.floor),
                (self.n, self.n) if averaged else top.last,
                _UNBOUNDED if averaged else top.capacity,
                taken,
            )
            for own, windows in wanted
        )
        crowded = -np.inf
        for hits, floor, last in self._results("exact", calls, len(wanted)):
            if averaged:  # by weights that are too large: what a worker had no room for may not count
                crowded = max(crowded, whitened.gain(floor))
            elif floor > top.floor:
                top.floor, top.last = floor, last
            hits = whitened.with_true_gains(hits, top.floor)
            top.add(hits.only(~whitened.gone(hits.i, hits.j)))
        if crowded > max((float(hits.gain.max(initial=-np.inf)) for hits in top.hits), default=-np.inf):
            raise OSError("workers have no room for the pairs that may be the best; give them more memory")

    def _rectangles(self) -> Iterator[tuple[Ints, list[tuple[int, int]]]]:
        """Items whose rows lie together, and the ranges of partners that they meet."""
        rows = self.remaining.rows
        target = self._work_in_a_task(len(rows) * self.d) / self.d
        width = max(_ROWS_IN_FLOAT64, NUMBERS_IN_A_TASK // self.d) if rows.is_list else _ROWS_IN_FLOAT64
        by_partner = np.argsort(rows.first, kind="stable")
        by_partner = by_partner[rows.count[by_partner] > 0]
        for low in range(0, len(by_partner), _ROWS_IN_FLOAT64):
            own = by_partner[low : low + _ROWS_IN_FLOAT64]
            first, end = rows.first[own], rows.first[own] + rows.count[own]
            windows: list[tuple[int, int]] = []
            pairs = 0
            for at in range(int(first.min()), int(end.max()), width):
                windows.append((at, min(at + width, int(end.max()))))
                pairs += int(np.sum(np.clip(end, *windows[-1]) - np.clip(first, *windows[-1])))
                if pairs >= target:
                    yield own, windows
                    windows, pairs = [], 0
            if windows:
                yield own, windows

    def _partners(self, whitened: WhitenedItems, own: Ints, begin: int, end: int) -> tasks.Partners:
        """Those between two places of `Rows.partner`, and which of them each of `own` meets."""
        scores, effects = whitened.design.scores, whitened.own
        rows, full = self.remaining.rows, self.remaining.full
        first = np.clip(rows.first[own], begin, end)
        count = np.clip(rows.first[own] + rows.count[own], begin, end) - first
        count[full[own]] = 0
        items, partner = rows.partner[begin:end], np.arange(end - begin)
        if rows.is_list:  # in a list, items come again and again
            items, partner = np.unique(items, return_inverse=True)
        meetings = Rows(partner.astype(np.int32), first - begin, count)
        return tasks.Partners(
            items,
            None if scores is None else scores[items],
            None if effects is None else effects[items],
            meetings,
            full[items],
        )

    def _results(self, kind: str, calls: Iterable[tuple[Any, ...]], count: int) -> Iterator[Any]:
        """Of these calls, as they come."""
        self.diagnostics["tasks"] += count

        def tell(done: int) -> None:
            number, threads = self.label.removeprefix("scan-"), self.submitter.threads()
            self.tell(f"scan {number}: {done} of {count} tasks, {threads} threads")

        for _, result in self.submitter.each(f"{kind}-{self.label}", calls, tell):
            yield result


def _cuts(strips: Ints, n: int, side: int) -> Ints:
    """Where to cut n places into blocks of about this many, and no strip's rows in two."""
    cuts = [0]
    while cuts[-1] < n:
        cut = min(cuts[-1] + side, n)
        at = int(np.searchsorted(strips[:, 0], cut, side="right")) - 1
        if at >= 0 and strips[at, 0] < cut < strips[at, 1]:
            cut = int(strips[at, 1])
        cuts.append(cut)
    return np.array(cuts)


def _tasks(strips: Ints, cuts: Ints, pairs: float, an_item: float) -> Iterator[tuple[int, dict[int, Ints]]]:
    """Blocks of rows, each with blocks of columns that it meets and the strips in them, some `pairs` together.

    An item of a block of columns counts for as much as `an_item` pairs.
    """
    for left in range(len(cuts) - 1):
        own = strips[slice(*np.searchsorted(strips[:, 0], cuts[left : left + 2]))]
        if len(own) == 0:
            continue
        rights: dict[int, Ints] = {}
        size = 0.0
        for right in range(left, len(cuts) - 1):
            if cuts[right] >= own[:, 3].max():
                break
            inside = own.copy()
            inside[:, 2] = np.maximum(own[:, 2], cuts[right])
            inside[:, 3] = np.minimum(own[:, 3], cuts[right + 1])
            inside = inside[inside[:, 3] > inside[:, 2]]
            if len(inside) == 0:
                continue
            rights[right] = inside
            size += float(np.sum((inside[:, 1] - inside[:, 0]) * (inside[:, 3] - inside[:, 2])))
            size += an_item * (cuts[right + 1] - cuts[right])
            if size >= pairs:
                yield left, rights
                rights, size = {}, 0.0
        if rights:
            yield left, rights
