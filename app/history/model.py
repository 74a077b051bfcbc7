"""What the history keeps of a test, and how it is asked for."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from advisor.experiment.measurements import TrialOutcome  # noqa: TC001 - msgspec reads the annotations at run time
from advisor.options import catalogue
from app.speedtest.model import Environment, TestResult  # noqa: TC001 - likewise

#: Of a clock that was never set, too.
_YEARS = range(1900, 3000)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One test with everything measured, and what the person says of it.

    Attributes:
        result: what was measured. Its times are kept to the microsecond.
        id: number in this database, 0 if it is not in one.
        uid: the same everywhere it is exported to; "" to have it made from the result.
        origin: "" if it was stored by this computer's program, else the file that it was imported from.
        tags: words, sorted.
        note: free text.
        baseline: later tests like it of the same share are compared with it.
    """

    result: TestResult
    id: int = 0
    uid: str = ""
    origin: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    baseline: bool = False


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One run as lists show it.

    Attributes:
        id: number in this database.
        uid: the same everywhere.
        started_at: UTC, ISO 8601.
        host: that ran it, "" if it is not known.
        origin: as in Run.
        server: its name, "" if it was not NFS.
        share: server:/export, or the path if it was not NFS.
        path: the directory tested.
        nfs: whether it was on NFS.
        link: name of the lab's link, "" on a real one.
        kind: what was copied (the test's workload).
        size: bytes moved in one direction by one repeat.
        count: number of files.
        repeats: that counted.
        write: median speed to the server, bytes per second, None if it was not measured.
        read: likewise from the server.
        read_cached: the read came at least partly from the client's cache: it is not the server's speed.
        options: in use, as an option string.
        requested: asked for, likewise.
        tags: words, sorted.
        note: free text.
        baseline: later tests like it of the same share are compared with it.
    """

    id: int
    uid: str
    started_at: str
    host: str
    origin: str
    server: str
    share: str
    path: str
    nfs: bool
    link: str
    kind: str
    size: int
    count: int
    repeats: int
    write: float | None
    read: float | None
    read_cached: bool
    options: str
    requested: str
    tags: tuple[str, ...]
    note: str
    baseline: bool


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs; what is empty does not restrict.

    Attributes:
        text: words that must all occur in share, server, host, path, link, options, tags or note; capital
            letters do not matter.
        share: exactly this one.
        server: likewise.
        host: likewise.
        link: likewise, the name of a link of the lab.
        tag: one of its tags.
        kind: what was copied.
        since: started at this moment or later; a zone must be given.
        until: started before.
        baseline: only baselines.
        limit: greatest number of rows.
        offset: of the first one.
    """

    text: str = ""
    share: str = ""
    server: str = ""
    host: str = ""
    link: str = ""
    tag: str = ""
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None
    baseline: bool = False
    limit: int = 200
    offset: int = 0


class FilterValues(msgspec.Struct, frozen=True, kw_only=True):
    """The distinct values that lists can be filtered by, each sorted."""

    shares: list[str]
    servers: list[str]
    hosts: list[str]
    tags: list[str]
    kinds: list[str]


class StoredExperimentSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment as lists show it.

    Attributes:
        id: number in this database.
        uid: the same everywhere.
        started_at: UTC, ISO 8601.
        name: of its recipe.
        share: that it ran on.
        host: that ran it, "" if it is not known.
        seed: of its order.
        note: free text.
        origin: "" if it ran from this computer, else the file that it was imported from.
        done: trials that are finished.
    """

    id: int
    uid: str
    started_at: str
    name: str
    share: str
    host: str
    seed: int
    note: str
    origin: str
    done: int


class ExperimentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment with all that it measured.

    Attributes:
        started_at: UTC, ISO 8601.
        name: of its recipe.
        share: that it ran on.
        seed: of its order.
        spec: all that it takes to run it again, as JSON.
        id: number in this database, 0 if it is not in one.
        uid: the same everywhere; "" to have one made.
        environment: of the host that ran it.
        note: free text.
        origin: as in ExperimentRow.
        outcomes: of the trials that are finished, in their order.
    """

    started_at: str
    name: str
    share: str
    seed: int
    spec: msgspec.Raw
    id: int = 0
    uid: str = ""
    environment: Environment | None = None
    note: str = ""
    origin: str = ""
    outcomes: list[TrialOutcome] = []


def tested_share(result: TestResult) -> str:
    """Return what a test is a test of: the share, or the path of another file system."""
    return result.share or result.path


def link_name(result: TestResult) -> str:
    """Return the name of the lab's link, "" on a real one: the lab's share is the same over every link."""
    return result.link.name if result.link is not None and result.link.emulated else ""


def read_is_cached(result: TestResult) -> bool:
    """Return whether the read came at least partly from the client's cache."""
    cached = result.cache is not None and result.cache.cached
    return cached or (result.read is not None and result.read.cached)


def unix_time(text: str) -> float:
    """Return a time (ISO 8601; without a zone it is UTC) as seconds since 1970.

    Raises:
        ValueError: if it is none, or so far off that it cannot be shown in every zone.
    """
    moment = datetime.fromisoformat(text)
    if moment.year not in _YEARS:
        raise ValueError(f"the year {moment.year} is out of bounds")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def option_string(values: dict[str, str]) -> str:
    """Return options as after ``mount -o``: ``rw`` rather than ``ro=rw``, where a word stands for it."""
    return ",".join(_option_word(name, value) for name, value in values.items())


def _option_word(name: str, value: str) -> str:
    if not value:
        return name
    named = catalogue().find(value)
    return value if named is not None and named.name == name else f"{name}={value}"
