"""Context of an experiment: how it mounts, the facts, the clock; replaceable in tests."""

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
    """An open private mount; app.speedtest.private_mount.PrivateMount is one."""

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
        """Tell what is free there."""
        ...

    def close(self) -> UnmountTiming:
        """Unmount."""
        ...

    def abandon(self) -> None:
        """Unmount in the background."""
        ...


@dataclass(frozen=True, slots=True)
class ExperimentContext:
    """What an experiment works with.

    Attributes:
        open: mounts (options, readahead in KiB or None, token) privately.
        facts: of link, server and client.
        link: the emulated link, None on any other host.
        now: a monotonic clock, seconds.
        read_ahead_kb: of the share's mount in use, KiB; None if there is none.
    """

    open: Callable[[str, int | None, CancelToken], OpenMount]
    facts: Facts
    link: LinkFacts | None = None
    now: Callable[[], float] = time.monotonic
    read_ahead_kb: int | None = None
