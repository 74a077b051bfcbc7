"""The verbs of the agent that measure: tests and experiments, planned and run, one at a time on a host.

Two at once would measure each other: MeasurementLock admits one.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.facts import ClientFacts, Facts
from app.errors import AppError, ErrorKind
from app.experiment.context import ExperimentContext
from app.experiment.plan import plan_experiment
from app.experiment.runner import run_experiment
from app.experiment.search import resume_search, run_search
from app.facts.gather import gather_facts, link_facts_of
from app.mounts.table import read_table
from app.speedtest.environment import environment_of, readahead_of_result, with_environment
from app.speedtest.planning import plan_test
from app.speedtest.private_mount import PrivateMount
from app.speedtest.runner import inspect_target, run_test
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from advisor.facts import LinkFacts
    from app.experiment.model import (
        BestSettings,
        ExperimentArgs,
        ExperimentEvent,
        ExperimentPlan,
        ExperimentResult,
        ExperimentRunArgs,
        SearchArgs,
    )
    from app.kernel.mount_of_path import MountOfPath
    from app.mounts.model import MountTable
    from app.mounts.table import RecordedOptions
    from app.service.server import Context, Handler
    from app.speedtest.model import TestPlan, TestPlanArgs, TestResult, TestSpec
    from app.speedtest.mount_session import MountSession


class TestVerbs:
    """The measuring verbs of one host; methods take (args, context) and return the verb's result."""

    def __init__(
        self,
        alone: MeasurementLock,
        requested: RecordedOptions,
        lab_link: Callable[[], LinkFacts | None],
        mount_again: Callable[[str, str, str, Context], None],
        session: MountSession,
    ) -> None:
        """Create it.

        Args:
            alone: lets one measure at a time, of all that measure on this host.
            requested: the mounts with the options that were asked for.
            lab_link: returns the link that the lab emulates now, None on any other host.
            mount_again: unmounts and mounts (share, mount point, options, context).
            session: opens the private mounts.
        """
        self._alone = alone
        self._requested = requested
        self._lab_link = lab_link
        self._mount_again = mount_again
        self._bench = session

    def handlers(self) -> dict[str, Handler]:
        """Return this part of the agent's verb table."""
        return {"test.plan": self.plan_test, "test.run": self.run_test}

    def plan_test(self, args: TestPlanArgs, context: Context) -> TestPlan:
        """Say what a test will copy and how long it will take; with a preset, choose it."""
        if args.spec.share:
            # A test mount, however short, gives its connections to those that are made meanwhile.
            planned = self._alone.acquire("A test is being planned", context.token)
            with planned, self._mounted(args.spec, context) as mount:
                looked = mount.look_at(args.spec, context.token)
        else:
            looked = inspect_target(args.spec, context.token)
        link = self._lab_link()
        if link is None and looked.where is not None and looked.where.nfs:
            address, port = looked.where.server
            link = link_facts_of(address, port) if address else None
        return plan_test(args, looked.free, link, looked.own)

    def run_test(self, args: TestSpec, context: Context) -> TestResult:
        """Run a copy test in a worker process."""
        with self._alone.acquire("A test is running", context.token):
            return self._run_test(args, context)

    def _run_test(self, args: TestSpec, context: Context) -> TestResult:
        link = self._lab_link()
        if args.share:
            with self._mounted(args, context) as mount:
                result = mount.run_test(args, context.token, context.emit, link)
            return with_environment(result, mount.read_ahead_kb)
        if args.cache == "fresh-mount" and link is None:
            raise AppError(
                ErrorKind.UNAVAILABLE,
                "A mount of this computer is not mounted afresh for a test: it may be in use.",
                hint="Choose another way to keep the cache out of the read.",
            )

        def remount(where: MountOfPath | None) -> None:
            self._mount_afresh(where, context)

        table = self._requested.table
        result = run_test(args, context.token, context.emit, link=link, table=table, remount=remount)
        return with_environment(result, readahead_of_result(result, table()))

    def _mounted(self, spec: TestSpec, context: Context) -> PrivateMount:
        """Mount the share of a test where only the test sees it."""
        return PrivateMount.open(spec.share, spec.options, token=context.token, session=self._bench)

    def _mount_afresh(self, where: MountOfPath | None, context: Context) -> None:
        """Unmount and mount again what was mounted here with the options asked for."""
        asked = self._requested.options(where.mount_id) if where is not None else None
        if where is None or asked is None:
            raise AppError(
                ErrorKind.UNAVAILABLE,
                "Only an NFS mount that was made here can be mounted afresh for the read.",
                hint="Choose another way to keep the cache out of the read.",
            )
        self._mount_again(where.share, where.mount_point, asked, context)


class ExperimentVerbs:
    """The experiments of one host; methods take (args, context) and return the verb's result."""

    def __init__(
        self,
        alone: MeasurementLock,
        lab_link: Callable[[], LinkFacts | None],
        session: MountSession,
        table: Callable[[], MountTable] = read_table,
    ) -> None:
        """Create it.

        Args:
            alone: lets one measure at a time, of all that measure on this host.
            lab_link: returns the link that the lab emulates now, None on any other host.
            session: opens the private mounts.
            table: returns the mounts of this host.
        """
        self._alone = alone
        self._lab_link = lab_link
        self._table = table
        self._bench = session

    def handlers(self) -> dict[str, Handler]:
        """Return this part of the agent's verb table."""
        return {
            "experiment.plan": self.plan,
            "experiment.run": self.run,
            "experiment.best": self.best,
            "experiment.search": self.search,
        }

    def plan(self, args: ExperimentArgs, context: Context) -> ExperimentPlan:
        """Try every option set, and say what can be measured here and what it will take."""
        with self._alone.acquire("The option sets of an experiment are being tried", context.token):
            hands = self._hands(args.experiment.share, facts=True)
            plan = plan_experiment(args, hands, context.token, context.emit)
            environment = environment_of(args.experiment.share, hands.facts.link, plan.sets[0].effective)
            return msgspec.structs.replace(plan, environment=environment)

    def run(self, args: ExperimentRunArgs, context: Context) -> ExperimentResult:
        """Run the trials of a plan that are not done; each outcome is an event."""
        with self._alone.acquire("An experiment is running", context.token):
            hands = self._hands(args.plan.experiment.share, facts=False)
            return run_experiment(args, hands, context.token, context.emit)

    def best(self, args: SearchArgs, context: Context) -> BestSettings:
        """Find the best setting within a time; the candidates, and each outcome, are events."""
        with self._alone.acquire("An experiment is running", context.token):
            hands = replace(
                self._hands(args.share, facts=True), read_ahead_kb=_read_ahead_kb(self._table(), args.share)
            )

            def tell(event: ExperimentEvent) -> None:
                if event.plan is not None:
                    environment = environment_of(args.share, hands.facts.link, {})
                    plan = msgspec.structs.replace(event.plan, environment=environment)
                    event = msgspec.structs.replace(event, plan=plan)
                context.emit(event)

            return run_search(args, hands, context.token, tell)

    def search(self, args: ExperimentRunArgs, context: Context) -> BestSettings:
        """Go on with a search that was begun; each outcome is an event."""
        with self._alone.acquire("An experiment is running", context.token):
            hands = self._hands(args.plan.experiment.share, facts=False)
            return resume_search(args, hands, context.token, context.emit)

    def _hands(self, share: str, *, facts: bool) -> ExperimentContext:
        """Return what an experiment works with; the facts, which take seconds, only if they are asked for."""
        link = self._lab_link()
        known = gather_facts(share, link_override=link) if facts else Facts(client=ClientFacts(), link=link)

        def open_mount(options: str, read_ahead_kb: int | None, token: CancelToken) -> PrivateMount:
            return PrivateMount.open(
                share, options, read_ahead_kb=read_ahead_kb, token=token, session=self._bench
            )

        return ExperimentContext(open=open_mount, facts=known, link=link)


def _read_ahead_kb(table: MountTable, share: str) -> int | None:
    """Return the readahead of a share's mount in use, KiB; None if it is not mounted, or nobody knows."""
    return next(
        (row.active.read_ahead_kb for row in table.mounts if row.share == share and row.active is not None),
        None,
    )


#: The beginning of the sentence that refuses the next one.
Measurement = Literal[
    "A test is running",
    "A test is being planned",
    "An experiment is running",
    "The option sets of an experiment are being tried",
]


#: How often who waits looks whether it was cancelled itself.
_POLL_INTERVAL_S = 0.1


class MeasurementLock:
    """Lets one verb of a host measure at a time: two at once would measure each other."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._what: Measurement | None = None
        self._token = CancelToken()

    @contextmanager
    def acquire(self, what: Measurement, token: CancelToken) -> Generator[None]:
        """Be the one that measures; wait for another one that is about to end.

        Args:
            what: is done.
            token: of the request.

        Raises:
            AppError: BUSY if another one measures; CANCELLED while it waits.
        """
        with self._changed:
            while self._what is not None:
                if not self._token.cancelled and self._what != "A test is being planned":
                    raise AppError(
                        ErrorKind.BUSY,
                        f"{self._what} here already.",
                        hint="Two at once would measure each other. Wait for it, or cancel it.",
                    )
                token.check()
                self._changed.wait(_POLL_INTERVAL_S)
            self._what, self._token = what, token
        try:
            yield
        finally:
            with self._changed:
                self._what = None
                self._changed.notify()

    def wait(self, timeout: float) -> bool:
        """Wait until nothing measures; return whether that is so after so many seconds at most."""
        with self._changed:
            return self._changed.wait_for(lambda: self._what is None, timeout)
