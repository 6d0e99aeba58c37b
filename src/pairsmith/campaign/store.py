"""A campaign: pairs handed out, answers taken, undone and counted.

Each method that changes something is one transaction, on disk when it returns. A pair is leased to a person; an answer
belongs to a lease, so that an answer sent twice counts once, and an answer to what was not shown has no place to go.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import secrets
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import sqlalchemy as sa

from pairsmith.campaign import database, is_url, seals
from pairsmith.campaign import statements as sql
from pairsmith.campaign.database import CampaignError, answers, campaign, items, leases, pairs, people, reports, undos
from pairsmith.campaign.media import parts_with_files

Ints = npt.NDArray[np.int64]

LOCAL = "local"  # the person who labels on this machine without an invite
EMPTY_REPORT: dict[str, Any] = {"answers": 0, "ranking": [], "curve": [], "people": [], "advice": None}
AT_ONCE = 4  # pairs one person may hold: the one on the screen, the next, and some for other tabs
SECOND = 1_000_000  # in the unit of time of the tables
SKIPS = 3  # for each answer: who skips more, beyond a round, is not waited for with new rounds


class Refused(CampaignError):
    """An answer that cannot be taken; `status` is the HTTP status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Gone(CampaignError):
    """The files of a campaign were taken away while it was open."""


@dataclass(frozen=True)
class Lease:
    """A pair as it is shown to a person."""

    token: str
    left: int
    right: int


@dataclass(frozen=True)
class Known:
    """All that the design and the model look at."""

    features: pd.DataFrame  # indexed by the items' ids
    groups: npt.NDArray[np.object_] | None
    labeled: Ints
    labels: npt.NDArray[Any]
    planned: Ints  # (m, 2) pairs asked or to be asked, in order
    last_pair: int  # the id of the last of them
    answers: pd.DataFrame  # first, second (row numbers), outcome, left, labeller, seconds, at; those taken back are out


class Store:
    """The campaign in an SQLite file or a PostgreSQL database. Without `changes`, a read-only file will do."""

    def __init__(self, target: str, clock: Callable[[], float] = time.time, changes: bool = True) -> None:
        self.target = str(target)
        self._files = {} if is_url(self.target) else {os.path.abspath(self.target): database.identity(self.target)}
        self.engine = database.open_existing(self.target, changes)
        self._anchor: sa.Connection | None = None
        if self._files and self.engine.url.database:  # and not a copy in memory
            # SQLite's log and its index stay the same files for as long as a connection is open.
            with database.explained(self.target):
                self._anchor = self.engine.connect()
                self._anchor.execute(sa.select(campaign.c.version))
                self._anchor.rollback()
            beside = (os.path.realpath(self.target) + ending for ending in ("-wal", "-shm"))
            self._files |= {name: database.identity(name) for name in beside}
        self._touched: tuple[int, int] | None = None  # when the file itself was last written to, and its size then
        self._kept = 0  # answers that were seen in it, of which none is ever deleted
        self._writer = self.engine.execution_options(write=True)
        self.clock = clock
        self._parts = lru_cache(4096)(self._read_parts)
        # SQLite's own queue for writers is sleep and retry; threads of one process can do better.
        self._turn: Any = nullcontext() if is_url(self.target) else threading.Lock()

    def close(self) -> None:
        if self._anchor is not None:
            self._anchor.close()
            self._anchor = None
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with database.explained(self.target), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        with (
            database.explained(self.target),
            self._turn,
            self._writer.begin() as connection,
        ):
            yield connection
        self.check()

    def check(self) -> None:
        """Raise where what was written is not in the file of this name, or not sure to stay there.

        SQLite goes on with files that were removed or replaced, and what it writes to them is gone when it ends.
        """
        lost = next((name for name, known in self._files.items() if database.identity(name) != known), None)
        if lost is None:
            self._check_contents()
            return
        # Into the file itself, wherever it is now: another file of this name would take the log for its own.
        kept = self._checkpoint()
        if lost == next(iter(self._files)):
            raise Gone(
                f"{self.target} was removed, renamed or replaced while in use, so it takes no more answers; stop"
                " pairsmith, put the right file back and start again"
            )
        raise Gone(
            f"{os.path.basename(lost)} was removed while in use, so {self.target} takes no more answers;"
            f" {'all so far are in it' if kept else 'some may be lost'}; stop pairsmith and start again"
        )

    def _check_contents(self) -> None:
        """Raise where somebody has copied another file over the campaign's, which stays the same file by its inode.

        Connections that are open go by what they have read before. Only when the file itself was written to, as SQLite
        does now and then too, a new one looks whether the answers are there.
        """
        if self._anchor is None:
            return
        found = os.stat(self.target)
        touched = found.st_mtime_ns, found.st_size
        if touched == self._touched:
            return
        try:
            if found.st_size == 0:  # beside which SQLite would take the log for garbage, and delete it
                raise sqlite3.DatabaseError
            with closing(sqlite3.connect(self.target, timeout=10)) as fresh:
                (kept,) = fresh.execute(
                    "SELECT count(*) FROM answers JOIN leases ON leases.id = answers.lease"
                    " JOIN pairs ON pairs.id = leases.pair JOIN people ON people.id = leases.person"
                ).fetchone()
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                return  # somebody is at work on it: the next look will tell
            kept = -1
        if kept < self._kept:
            raise Gone(
                f"{self.target} was overwritten while in use and does not hold all answers any more, so it takes no"
                " others; stop pairsmith, put the right file back and start again"
            )
        self._touched, self._kept = touched, kept

    def _checkpoint(self) -> bool:
        """Move all that SQLite's log holds into the file itself, where that can be done."""
        connection = self.engine.raw_connection()  # no transaction
        try:
            busy, *_ = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy
        except sqlite3.Error:
            return False
        finally:
            connection.close()

    def _now(self) -> int:
        return round(self.clock() * SECOND)

    @cached_property
    def settings(self) -> dict[str, Any]:
        with self._reading() as connection:
            found: dict[str, Any] = connection.execute(sa.select(campaign.c.settings)).scalar_one()
        return found

    # People

    def invite(self, name: str, role: str = "labeller") -> str:
        """A new token for this person; it is told once and kept only as a hash."""
        token = secrets.token_urlsafe(32)
        with self._writing() as connection:
            found = connection.execute(
                sa.select(people.c.id, people.c.hash).where(people.c.name == name, people.c.role == role)
            ).first()
            if found is not None and found.hash is not None:
                raise CampaignError(f"{name!r} has an invite already; revoke that first to make a new one")
            own = _hash(token)
            values = {"hash": own, "seal": seals.seal("invite", self.settings["id"], name, role, own)}
            if found is None:
                connection.execute(people.insert().values(name=name, role=role, **values))
            else:
                connection.execute(people.update().where(people.c.id == found.id).values(**values))
        return token

    def revoke(self, name: str) -> int:
        """Make the links of this person worthless; how many there were. Pairs they hold return to the queue."""
        with self._writing() as connection:
            held = sa.select(people.c.id).where(people.c.name == name, people.c.hash.is_not(None))
            found = connection.execute(held).scalars().all()
            connection.execute(
                leases.update().where(leases.c.state == "open", leases.c.person.in_(found)).values(expires=0)
            )
            connection.execute(people.update().where(people.c.id.in_(found)).values(hash=None, seal=None))
        return len(found)

    def person(self, token: str, role: str) -> int | None:
        """Whose token this is, None where it is nobody's, or of an invite that came from elsewhere unconfirmed."""
        own = _hash(token)
        with self._reading() as connection:
            found = connection.execute(sql.PERSON, {"hash": own, "role": role}).first()
        if found is None or not hmac.compare_digest(found.hash, own) or not self._sealed(found):
            return None
        return int(found.id)

    def _sealed(self, invite: Any) -> bool:
        return seals.holds(invite.seal, "invite", self.settings.get("id"), invite.name, invite.role, invite.hash)

    @cached_property
    def local(self) -> int:
        """Whoever labels on this machine."""
        with self._writing() as connection:
            return _named(connection, LOCAL)

    def invited(self, confirmed: bool = True) -> list[tuple[str, str]]:
        """(name, role) of those whose links are good, or of those whose links are void until confirmed."""
        with self._reading() as connection:
            found = connection.execute(sa.select(people).where(people.c.hash.is_not(None)).order_by(people.c.id)).all()
        return [(row.name, row.role) for row in found if self._sealed(row) == confirmed]

    # Where it comes from

    @property
    def folder(self) -> str | None:
        """The folder that holds the files shown; None where there are none."""
        found = self.settings.get("media")
        return found if isinstance(found, str) else None

    def files(self) -> list[tuple[str, str]]:
        """(kind, path in the folder) of each file shown."""
        with self._reading() as connection:
            found = connection.execute(sa.select(items.c.parts).order_by(items.c.row)).scalars().all()
        return sorted({(kind, path) for parts in found for _, kind, path in parts_with_files(parts)})

    @property
    def confirmed(self) -> bool:
        """Whether this user made the campaign, or confirmed it with this folder."""
        return seals.holds(self.settings.get("seal"), "campaign", self.settings.get("id"), self.folder or "")

    def confirm(self, folder: str | None, invites: bool = True) -> None:
        """Make the campaign this user's own, with its files in this folder and with its invites, or without them."""
        settings = {**self.settings, "id": str(self.settings.get("id") or secrets.token_hex(16)), "media": folder}
        settings["seal"] = seals.seal("campaign", settings["id"], folder or "")
        with self._writing() as connection:
            connection.execute(campaign.update().values(settings=settings))
            for row in connection.execute(sa.select(people).where(people.c.hash.is_not(None))).all():
                sealed = seals.seal("invite", settings["id"], row.name, row.role, row.hash)
                values = {"seal": sealed} if invites else {"seal": None, "hash": None}
                connection.execute(people.update().where(people.c.id == row.id).values(**values))
        self.settings = settings

    # Labelling

    def next(self, person: int, holding: Sequence[str] = ()) -> Lease | None:
        """A pair for this person besides those they hold, or None where there is none now.

        One that is theirs already comes first, so that a page that is loaded again shows the same pair.
        """
        now = self._now()
        expires = now + round(self.settings["lease"] * SECOND)
        with self._writing() as connection:
            mine = connection.execute(sql.HELD, {"now": now, "person": person}).all()
            for row in mine:
                if row.token not in holding:
                    connection.execute(sql.RENEW, {"lease": row.id, "until": expires})
                    return Lease(row.token, row.left, row.first + row.second - row.left)
            if len(mine) >= AT_ONCE:
                return None
            free = sql.FREE[self.settings["repeats"]]
            pair = connection.execute(free, {"now": now, "person": person}).first()
            if pair is None:
                return None
            # An abandoned lease of theirs on this pair is taken up again: two would let them answer twice.
            before = connection.execute(sql.ABANDONED, {"pair": pair.id, "person": person}).first()
            if before is not None:
                connection.execute(sql.RENEW, {"lease": before.id, "until": expires})
                return Lease(before.token, before.left, pair.first + pair.second - before.left)
            left = _left(connection, pair.first, pair.second)
            token = _show(connection, pair.id, person, left, expires)
        return Lease(token, left, pair.first + pair.second - left)

    def answer(self, person: int, token: str, choice: str, seconds: float | None = None) -> bool:
        """Take an answer: left, right, tie or skip. False where this lease was answered before: it counts once."""
        now = self._now()
        with self._writing() as connection:
            lease = self._own(connection, person, token)
            if lease.state in ("answered", "skipped"):
                return False
            if lease.state == "undone":
                raise Refused(409, "this answer was taken back; answer the pair as it is shown now")
            if choice == "tie" and not self.settings["ties"]:
                raise Refused(422, "this campaign has no ties; choose left, right or skip")
            if lease.expires <= now and choice != "skip":
                others = connection.execute(sql.BEING_ANSWERED, {"pair": lease.pair, "now": now}).scalar_one()
                if lease.wanted <= others:
                    raise Refused(409, "this pair waited too long and went to somebody else; here is another")
            outcome = None
            if choice != "skip":
                preferred = {"left": lease.left, "right": lease.first + lease.second - lease.left}.get(choice)
                outcome = 0 if preferred is None else 1 if preferred == lease.first else -1
            _record(connection, lease.id, lease.pair, outcome, seconds, now)
        return True

    def undo(self, person: int, token: str) -> Lease:
        """Take back the last answer of this person, which belongs to this lease, and show its pair again."""
        now = self._now()
        with self._writing() as connection:
            lease = self._own(connection, person, token)
            if lease.state == "undone":  # asked twice
                again = connection.execute(sql.SHOWN_AGAIN, {"pair": lease.pair, "person": person}).first()
                if again is None or again.state != "open":  # set aside by repair, or answered since
                    raise Refused(409, "only the last answer can be taken back")
                return Lease(again.token, again.left, lease.first + lease.second - again.left)
            last = connection.execute(sql.LAST, {"person": person}).first()
            if last is None or last.token != token or lease.first == lease.second:
                raise Refused(409, "only the last answer can be taken back")
            connection.execute(undos.insert().values(answer=last.id, at=now))
            connection.execute(sql.CLOSE, {"lease": lease.id, "how": "undone"})
            if last.outcome is not None:
                connection.execute(sql.WANT, {"pair": lease.pair, "step": 1})
            expires = now + round(self.settings["lease"] * SECOND)
            again_token = _show(connection, lease.pair, person, lease.left, expires, again=True)
        return Lease(again_token, lease.left, lease.first + lease.second - lease.left)

    def _own(self, connection: sa.Connection, person: int, token: str) -> Any:
        found = connection.execute(sql.OWN, {"token": token, "person": person}).first()
        if found is None:
            raise Refused(404, "this pair was not shown to you")
        return found

    def progress(self, person: int) -> dict[str, Any]:
        """Answers of all and of this person, answers still wanted, and the lease whose answer they may take back."""
        with self._reading() as connection:
            found = connection.execute(sql.PROGRESS, {"person": person}).one()
            last = connection.execute(sql.LAST, {"person": person}).first()
        undo = None if last is None else last.token
        return {"answers": found.total, "yours": found.own, "wanted": found.wanted, "undo": undo}

    def parts(self, row: int) -> list[tuple[str, str]]:
        """What is shown of an item, which never changes: kind (text, markdown, image, audio), and the text or the path
        in the folder."""
        return self._parts(row)

    def _read_parts(self, row: int) -> list[tuple[str, str]]:
        with self._reading() as connection:
            found = connection.execute(sql.PARTS, {"row": row}).scalar()
        return [(str(kind), str(value)) for kind, value in found or ()]

    def was_shown(self, person: int, row: int) -> bool:
        """Whether this person was ever asked about this item."""
        with self._reading() as connection:
            return bool(connection.execute(sql.SHOWN, {"person": person, "row": row}).scalar())

    # Planning and reporting

    def free(self) -> tuple[int, int]:
        """How many answers are wanted and not being given, and how many pairs there are.

        For each time a pair was skipped one answer fewer is counted on: it may be that nobody can answer it. Skips of
        those who hardly answer say nothing of the kind.
        """
        skips = (
            sa.select(leases.c.pair, sa.func.count().label("times"))
            .where(leases.c.state == "skipped", leases.c.person.in_(self._answering()))
            .group_by(leases.c.pair)
            .subquery()
        )
        likely = pairs.c.wanted - sa.func.coalesce(skips.c.times, 0)
        with self._reading() as connection:
            wanted = connection.execute(
                sa.select(sa.func.sum(likely))
                .select_from(pairs.outerjoin(skips))
                .where(sa.text("wanted > 0"), likely > 0)
            ).scalar()
            held = connection.execute(
                sa.select(sa.func.count()).where(leases.c.state == "open", leases.c.expires > self._now())
            ).scalar_one()
            total = connection.execute(sa.select(sa.func.count()).select_from(pairs)).scalar_one()
        return int(wanted or 0) - held, total

    def _answering(self) -> sa.Select[tuple[int]]:
        """People who do not only skip: beyond a round, they skip no more than SKIPS pairs for each one they answer."""
        skipped, answered = (sa.func.sum(sa.case((leases.c.state == state, 1), else_=0))
                             for state in ("skipped", "answered"))  # fmt: skip
        return (
            sa.select(leases.c.person)
            .where(leases.c.state.in_(("skipped", "answered")))
            .group_by(leases.c.person)
            .having(skipped <= self.settings["k"] * self.settings["answers"] + SKIPS * answered)
        )

    def rate(self) -> float:
        """Answers and skips a second, of the last hundred within the last minute; imported ones do not count.

        By the median time between two, so that waiting for pairs does not make people look slow: of independent
        arrivals it is ln 2 over their rate.
        """
        with self._reading() as connection:
            times = connection.execute(
                sa.select(answers.c.at)
                .select_from(answers.join(leases))
                .where(
                    answers.c.at > self._now() - 60 * SECOND,
                    leases.c.expires > 0,
                    leases.c.person.in_(self._answering()),
                )
                .order_by(answers.c.id.desc())
                .limit(100)
            )
            between = -np.diff(times.scalars().all())
        return math.log(2) * SECOND / max(float(np.median(between)), 1.0) if len(between) else 0.0

    def changes(self) -> tuple[int, ...]:
        """Numbers that differ whenever something has been asked, answered or taken back."""
        with self._reading() as connection:
            counts = (sa.select(sa.func.count()).select_from(table).scalar_subquery() for table in (answers, undos))
            newest = sa.select(sa.func.max(pairs.c.id)).scalar_subquery()
            return tuple(connection.execute(sa.select(*counts, newest)).one())

    def add_round(self, planned: Ints, after: int) -> bool:
        """Append these pairs unless others were planned meanwhile (`after` is the last pair that was known)."""
        with self._writing() as connection:
            last, number = connection.execute(sa.select(sa.func.max(pairs.c.id), sa.func.max(pairs.c.round))).one()
            if (last or 0) != after:
                return False
            connection.execute(pairs.insert(), planned_rows(planned, (number or 0) + 1, self.settings["answers"]))
        return True

    @cached_property
    def _items(self) -> tuple[pd.DataFrame, npt.NDArray[np.object_] | None, Ints, npt.NDArray[Any]]:
        with self._reading() as connection:
            rows = connection.execute(
                sa.select(items.c.name, items.c.features, items.c.grouped, items.c.label).order_by(items.c.row)
            ).all()
        X = np.frombuffer(b"".join(row.features for row in rows), dtype="<f8").reshape(len(rows), -1)
        features = pd.DataFrame(X, index=[row.name for row in rows], columns=self.settings["features"])
        groups = np.array([row.grouped for row in rows], dtype=object) if self.settings["grouped"] else None
        labeled = np.array([at for at, row in enumerate(rows) if row.label is not None], dtype=np.int64)
        return features, groups, labeled, np.array([rows[at].label for at in labeled])

    @property
    def names(self) -> list[str]:
        return list(self._items[0].index)

    def known(self) -> Known:
        features, groups, labeled, labels = self._items
        with self._reading() as connection:
            planned = connection.execute(
                sa.select(pairs.c.id, pairs.c.first, pairs.c.second).order_by(pairs.c.id)
            ).all()
            taken = self._answers(connection)
        chosen = np.array([(row.first, row.second) for row in planned], dtype=np.int64).reshape(-1, 2)
        chosen = chosen[chosen[:, 0] != chosen[:, 1]]  # see repair
        return Known(features, groups, labeled, labels, chosen, planned[-1].id if planned else 0, taken)

    def _answers(self, connection: sa.Connection) -> pd.DataFrame:
        taken = connection.execute(
            sa.select(
                pairs.c.first,
                pairs.c.second,
                answers.c.outcome,
                leases.c.left,
                people.c.name.label("labeller"),
                answers.c.milliseconds,
                answers.c.at,
            )
            .select_from(answers.join(leases).join(pairs, leases.c.pair == pairs.c.id).join(people))
            .where(leases.c.state == "answered")
            .order_by(answers.c.at, pairs.c.first, pairs.c.second, people.c.name)
        ).all()
        frame = pd.DataFrame(
            taken, columns=["first", "second", "outcome", "left", "labeller", "milliseconds", "at"]
        ).astype({"first": np.int64, "second": np.int64, "outcome": np.int64, "left": np.int64, "at": np.int64})
        frame["seconds"] = pd.to_numeric(frame.pop("milliseconds")).astype(np.float64) / 1000
        broken = int((frame["first"] == frame["second"]).sum())
        if broken:
            name = database.shown(self.target)
            raise CampaignError(
                f"{name} holds {broken} answers that compare an item with itself, as an earlier pairsmith stored some"
                f" imports; mend them with: pairsmith campaign repair {name}"
            )
        return frame

    def repair(self) -> tuple[int, int]:
        """Mend what imports of version 1 could do to answers: how many were restored, and how many set aside.

        An answer to z and y, where z comes after y, was stored as y against y, its outcome as seen from y. The item
        shown left tells what z was, unless y was shown left; then the answer is taken back, as an undo does.
        """
        now, restored = self._now(), 0
        broken = (
            sa.select(answers.c.id, answers.c.lease, leases.c.left, pairs.c.first)
            .select_from(answers.join(leases).join(pairs, leases.c.pair == pairs.c.id))
            .where(leases.c.state == "answered", pairs.c.first == pairs.c.second)
        )
        with self._writing() as connection:
            found = connection.execute(broken).all()
            numbers = self._numbers(connection, [(row.first, row.left) for row in found if row.left > row.first])
            for row in found:
                if row.left > row.first:
                    pair = numbers[row.first, row.left]
                    connection.execute(leases.update().where(leases.c.id == row.lease).values(pair=pair))
                    connection.execute(sql.WANT, {"pair": pair, "step": -1})
                    restored += 1
                else:
                    connection.execute(undos.insert().values(answer=row.id, at=now))
                    connection.execute(sql.CLOSE, {"lease": row.lease, "how": "undone"})
        return restored, len(found) - restored

    def relabel(self, better: str) -> int:
        """Turn labels that are words, as version 1 kept them, into 1 for `better` and -1; how many there are."""
        from pairsmith.model.evidence import classes_of  # scikit-learn, which serving does without

        _, _, labeled, labels = self._items
        if labels.dtype.kind != "U":
            raise CampaignError(f"{self.target}: its labels are no words; --better has nothing to say here")
        best = classes_of(labels, better)[1]
        with self._writing() as connection:
            for row, label in zip(labeled.tolist(), labels.tolist(), strict=True):
                value = 1 if label == best else -1
                connection.execute(items.update().where(items.c.row == row).values(label=value))
        del self._items
        return len(labeled)

    def _numbers(self, connection: sa.Connection, wanted: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """The ids of all pairs, among them these, which are added where they are not planned."""
        query = sa.select(pairs.c.id, pairs.c.first, pairs.c.second)
        found = {(row.first, row.second): row.id for row in connection.execute(query)}
        missing = [pair for pair in dict.fromkeys(wanted) if pair not in found]
        if missing:
            connection.execute(pairs.insert(), planned_rows(missing, 0, self.settings["answers"]))
            found = {(row.first, row.second): row.id for row in connection.execute(query)}
        return found

    def tally(self) -> dict[str, Any]:
        """The numbers of the dashboard that are counted, not computed."""
        hour = self._now() - 3600 * SECOND
        with self._reading() as connection:
            answered = answers.join(leases).join(pairs, leases.c.pair == pairs.c.id)
            counted = sa.select(sa.func.count()).where(leases.c.state == "answered")
            total = connection.execute(counted).scalar_one()
            recent = connection.execute(counted.select_from(answered).where(answers.c.at > hour)).scalar_one()
            skipped = connection.execute(sa.select(sa.func.count()).where(leases.c.state == "skipped")).scalar_one()
            undone = connection.execute(sa.select(sa.func.count()).select_from(undos)).scalar_one()
            planned, rounds = connection.execute(sa.select(sa.func.count(), sa.func.max(pairs.c.round))).one()
            done = connection.execute(sa.select(sa.func.count()).where(pairs.c.wanted <= 0)).scalar_one()
        return {"answers": total, "last_hour": recent, "skipped": skipped, "undone": undone, "planned": planned,
                "complete": done, "rounds": rounds or 0}  # fmt: skip

    def report(self, name: str) -> Any:
        """What was last reported under this name, or None."""
        with self._reading() as connection:
            return connection.execute(sa.select(reports.c.content).where(reports.c.name == name)).scalar()

    def save_report(self, name: str, content: Any) -> None:
        with self._writing() as connection:
            changed = connection.execute(reports.update().where(reports.c.name == name).values(content=content))
            if changed.rowcount == 0:
                connection.execute(reports.insert().values(name=name, content=content))

    def take(self, given: pd.DataFrame) -> int:
        """Add answers made elsewhere (columns as in Known.answers; `at` and `seconds` may be NaN); how many are new.

        An answer that is there already is not added again: the same file may be imported twice.
        """
        now = self._now()
        with self._writing() as connection:  # what is there cannot change meanwhile
            there = self._answers(connection)
            timed = _count_keys(there, with_time=True)
            untimed = _count_keys(there, with_time=False)
            new = []
            row: Any  # pandas does not know what its rows hold
            for row in given.itertuples(index=False):
                key = (row.first, row.second, row.outcome, row.labeller)
                seen, full = (untimed, key) if pd.isna(row.at) else (timed, (*key, int(row.at)))
                if seen.get(full, 0) > 0:
                    seen[full] -= 1
                else:
                    new.append(row)
            numbers = self._numbers(connection, ((int(row.first), int(row.second)) for row in new))
            persons = {name: _named(connection, name) for name in dict.fromkeys(row.labeller for row in new)}
            of = [numbers[row.first, row.second] for row in new]
            shown = [
                {"token": secrets.token_urlsafe(16), "pair": pair, "person": persons[row.labeller],
                 "left": int(row.left), "state": "answered", "again": False, "expires": 0}
                for pair, row in zip(of, new, strict=True)
            ]  # fmt: skip
            if new:
                last = connection.execute(sa.select(sa.func.max(leases.c.id))).scalar() or 0
                connection.execute(sql.LEASE, shown)
                added = connection.execute(sa.select(leases.c.token, leases.c.id).where(leases.c.id > last))
                number = {row.token: row.id for row in added}
                taken = [
                    {"lease": number[lease["token"]], "outcome": int(row.outcome),
                     "milliseconds": None if pd.isna(row.seconds) else _milliseconds(row.seconds),
                     "at": now if pd.isna(row.at) else int(row.at)}
                    for lease, row in zip(shown, new, strict=True)
                ]  # fmt: skip
                connection.execute(sql.ANSWER, taken)
                connection.execute(sql.WANT, [{"pair": pair, "step": -times} for pair, times in Counter(of).items()])
        return len(new)


def planned_rows(planned: Iterable[Sequence[int]] | Ints, number: int, wanted: int) -> list[dict[str, int]]:
    return [{"first": int(i), "second": int(j), "round": number, "wanted": wanted} for i, j in planned]


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _named(connection: sa.Connection, name: str) -> int:
    """The labeller of this name, who needs no invite to exist."""
    found = connection.execute(
        sa.select(people.c.id).where(people.c.name == name, people.c.role == "labeller")
    ).scalar()
    return found if found is not None else _inserted(connection, people, name=name, role="labeller")


def _inserted(connection: sa.Connection, table: sa.Table, **values: Any) -> int:
    key = connection.execute(table.insert().values(**values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def _show(connection: sa.Connection, pair: int, person: int, left: int, expires: int, again: bool = False) -> str:
    """Lease this pair to a person; the token."""
    token = secrets.token_urlsafe(16)
    given = {"token": token, "pair": pair, "person": person, "left": left, "state": "open", "again": again}
    connection.execute(sql.LEASE, given | {"expires": expires})
    return token


def _left(connection: sa.Connection, first: int, second: int) -> int:
    """Which of two items goes left: the one that was there less often, or either."""
    two = connection.execute(sql.LEAN, {"first": first, "second": second})
    lean = {found.row: found.lean for found in two}
    side = [first, second]
    left = secrets.choice(side) if lean[first] == lean[second] else min(side, key=lambda row: lean[row])
    for row in side:
        connection.execute(sql.TILT, {"item": row, "step": 1 if row == left else -1})
    return left


def _record(
    connection: sa.Connection, lease: int, pair: int, outcome: int | None, seconds: float | None, at: int
) -> None:
    spent = None if seconds is None else _milliseconds(seconds)
    connection.execute(sql.ANSWER, {"lease": lease, "outcome": outcome, "milliseconds": spent, "at": at})
    connection.execute(sql.CLOSE, {"lease": lease, "how": "skipped" if outcome is None else "answered"})
    if outcome is not None:
        connection.execute(sql.WANT, {"pair": pair, "step": -1})


def _milliseconds(seconds: float) -> int:
    return round(min(max(seconds, 0.0), 86400.0) * 1000)


def _count_keys(frame: pd.DataFrame, with_time: bool) -> dict[tuple[Any, ...], int]:
    names = ["first", "second", "outcome", "labeller", *(["at"] if with_time else [])]
    counts: dict[tuple[Any, ...], int] = {}
    for key in frame[names].itertuples(index=False, name=None):
        counts[key] = counts.get(key, 0) + 1
    return counts
