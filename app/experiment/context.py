"""Context of an experiment: access to mounts, facts and clock; replaceable in tests."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import Facts, LinkFacts
    from app.speedtest.messages import WorkerResult
    from app.speedtest.model import TestEvent, TestResult, TestSpec
    from app.speedtest.private_mount import UnmountTiming
    from app.tasks import CancelToken


class OpenMount(Protocol):
    """Interface of an open private mount, implemented by app.speedtest.private_mount.PrivateMount."""

    effective: dict[str, str]
    connections: int
    shared: bool
    mount_s: float
    read_ahead_kb: int | None

    def run_test(
        self,
        spec: TestSpec,
        token: CancelToken,
        emit: Callable[[TestEvent], None],
        link: LinkFacts | None = None,
        *,
        round_trip: bool = True,
    ) -> TestResult:
        """Run a test below the mount's root."""
        ...

    def look_at(self, spec: TestSpec, token: CancelToken) -> WorkerResult:
        """Return the mount and the free space of a test's directory."""
        ...

    def close(self) -> UnmountTiming:
        """Unmount."""
        ...

    def abandon(self) -> None:
        """Unmount in the background."""
        ...


@dataclass(frozen=True, slots=True)
class ExperimentContext:
    """Access of an experiment to mounts, facts and clock.

    Attributes:
        open: mounts privately; arguments are options, readahead in KiB or None, and token.
        facts: facts on link, server and client.
        link: the emulated link, None on a host with a real link.
        now: monotonic clock, s.
        read_ahead_kb: readahead of the share's present mount, KiB; None if it is not mounted.
    """

    open: Callable[[str, int | None, CancelToken], OpenMount]
    facts: Facts
    link: LinkFacts | None = None
    now: Callable[[], float] = time.monotonic
    read_ahead_kb: int | None = None
