"""Data types of the history: saved tests and experiments, their summaries, and the filter of lists."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from advisor.experiment.measurements import TrialOutcome  # noqa: TC001 - msgspec reads the annotations at run time
from advisor.options import catalogue
from app.speedtest.model import Environment, TestResult  # noqa: TC001 - msgspec reads the annotations

#: Years accepted in a start time; they include 1970, the time of a clock that was never set.
_YEARS = range(1900, 3000)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Saved test with all measurements, and the user's tags and note.

    Attributes:
        result: all measurements. Times of samples are stored to the microsecond.
        id: number in this database, 0 if the run is not in a database.
        uid: identifier that stays the same in exports and imports; "" to compute it from the result.
        origin: name of the file that the run was imported from, "" if the test ran on this computer.
        tags: words given by the user, sorted.
        note: free text of the user.
        baseline: whether later runs of the same test on the same share are compared with this one.
    """

    result: TestResult
    id: int = 0
    uid: str = ""
    origin: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    baseline: bool = False


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Saved test as lists show it, without samples and figures.

    Attributes:
        id: number in this database.
        uid: identifier that stays the same in exports and imports.
        started_at: start time, UTC, ISO 8601.
        host: name of the computer that ran the test, "" if unknown.
        origin: name of the file that the run was imported from, "" if the test ran on this computer.
        server: name of the server, "" if the directory was not on NFS.
        share: server:/export, or the path if the directory was not on NFS.
        path: the directory tested.
        nfs: whether the directory was on NFS.
        link: name of the lab's emulated link, "" for a real link.
        kind: workload of the test.
        size: bytes moved in one direction by one repeat.
        count: number of files.
        repeats: number of repeats with a valid result.
        write: median speed to the server, bytes per second, None if it was not measured.
        read: median speed from the server, bytes per second, None if it was not measured.
        read_cached: whether the read came at least partly from the client's cache, so that ``read`` is not
            the speed of the server.
        options: mount options in use, as an option string.
        requested: mount options requested, as an option string.
        tags: words given by the user, sorted.
        note: free text of the user.
        baseline: whether later runs of the same test on the same share are compared with this one.
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
    """Filter of saved tests: a run must match every field that is not empty.

    Attributes:
        text: words that must all occur in share, host, path, link, options, tags, note or origin; upper and
            lower case are equal.
        share: exact server:/export, or path of a directory that is not on NFS.
        server: exact name of the server.
        host: exact name of the computer that ran the test.
        link: exact name of an emulated link of the lab.
        tag: one tag of the run.
        kind: workload of the test.
        since: earliest start time, with a time zone.
        until: end of the range of start times, exclusive, with a time zone.
        baseline: True for baselines alone.
        limit: greatest number of rows returned.
        offset: number of matching rows to skip.
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
    """Saved experiment as lists show it, without plan and outcomes.

    Attributes:
        id: number in this database.
        uid: identifier that stays the same in exports and imports.
        started_at: start time, UTC, ISO 8601.
        name: name of the recipe.
        share: share that the experiment ran on.
        host: name of the computer that ran it, "" if unknown.
        seed: random seed of the order of trials.
        note: free text of the user.
        origin: name of the file that it was imported from, "" if it ran on this computer.
        done: number of finished trials.
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
    """Saved experiment with its plan and all outcomes.

    Attributes:
        started_at: start time, UTC, ISO 8601.
        name: name of the recipe.
        share: share that the experiment ran on.
        seed: random seed of the order of trials.
        spec: plan of the experiment as JSON, enough to run it again.
        id: number in this database, 0 if the experiment is not in a database.
        uid: identifier that stays the same in exports and imports; "" to create one.
        environment: environment of the host that ran the experiment.
        note: free text of the user.
        origin: name of the file that it was imported from, "" if it ran on this computer.
        outcomes: outcomes of the finished trials, in the order of the trials.
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
    """Return the share that was tested, or the path of a directory that is not on NFS."""
    return result.share or result.path


def link_name(result: TestResult) -> str:
    """Return the name of the lab's emulated link, "" for a real link.

    All tests in the lab have the same share; the name of the link distinguishes them.
    """
    return result.link.name if result.link is not None and result.link.emulated else ""


def read_is_cached(result: TestResult) -> bool:
    """Return whether the read came at least partly from the client's cache."""
    cached = result.cache is not None and result.cache.cached
    return cached or (result.read is not None and result.read.cached)


def unix_time(text: str) -> float:
    """Return a time (ISO 8601, UTC if without time zone) as seconds since 1970.

    Raises:
        ValueError: if the text is not a time, or its year is not in 1900..2999.
    """
    moment = datetime.fromisoformat(text)
    if moment.year not in _YEARS:
        raise ValueError(f"the year {moment.year} is out of bounds")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def option_string(values: dict[str, str]) -> str:
    """Return options as an option string for ``mount -o``; flags are bare words, ``rw`` and not ``ro=rw``."""
    return ",".join(_option_word(name, value) for name, value in values.items())


def _option_word(name: str, value: str) -> str:
    if not value:
        return name
    option = catalogue().find(value)
    return value if option is not None and option.name == name else f"{name}={value}"
