"""Measuring verbs of the agent: plan and run speed tests and experiments, one at a time per host.

Simultaneous measurements would distort each other, so MeasurementLock admits one.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from advisor.facts import ClientFacts, Facts
from advisor.message import message
from app.errors import AppError
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
from app.text.errors import ErrorCode

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
    from app.speedtest.model import TestEvent, TestPlan, TestPlanArgs, TestResult, TestSpec
    from app.speedtest.mount_session import MountSession


class TestVerbs:
    """Speed test verbs of one host; methods take (args, context) and return the verb's result."""

    def __init__(
        self,
        measurement_lock: MeasurementLock,
        requested: RecordedOptions,
        lab_link: Callable[[], LinkFacts | None],
        remount: Callable[[str, str, str, Context], None],
        session: MountSession,
    ) -> None:
        """Create the speed test verbs of one host.

        Args:
            measurement_lock: allows one measurement at a time on this host.
            requested: mount table with the options requested for each mount.
            lab_link: returns the link that the lab emulates at the moment, None on any other host.
            remount: unmounts and mounts again; takes share, mount point, options and context.
            session: opens the private mounts.
        """
        self._measurement_lock = measurement_lock
        self._requested = requested
        self._lab_link = lab_link
        self._remount = remount
        self._session = session

    def handlers(self) -> dict[str, Handler]:
        """Return this part of the agent's verb table."""
        return {"test.plan": self.plan_test, "test.run": self.run_test}

    def plan_test(self, args: TestPlanArgs, context: Context) -> TestPlan:
        """Return the files a test will copy and its expected duration; a preset chooses the file sizes."""
        if args.spec.share:
            # Even a short test mount needs the lock: a mount made at the same time shares its connections.
            planned = self._measurement_lock.acquire(Measurement.TEST_PLAN, context.token)
            with planned, self._private_mount(args.spec, context) as mount:
                target = mount.look_at(args.spec, context.token)
        else:
            target = inspect_target(args.spec, context.token)
        link = self._lab_link()
        if link is None and target.where is not None and target.where.nfs:
            address, port = target.where.server
            link = link_facts_of(address, port) if address else None
        return plan_test(args, target.free, link, target.own)

    def run_test(self, args: TestSpec, context: Context) -> TestResult:
        """Run a copy test in a worker process."""
        with self._measurement_lock.acquire(Measurement.TEST, context.token):
            return self._run_test(args, context)

    def run_mounted_test(
        self, spec: TestSpec, token: CancelToken, emit: Callable[[TestEvent], None]
    ) -> TestResult:
        """Run a copy test on a mount; the caller holds the measurement lock."""
        table = self._requested.table
        result = run_test(spec, token, emit, link=self._lab_link(), table=table)
        return with_environment(result, readahead_of_result(result, table()))

    def _run_test(self, args: TestSpec, context: Context) -> TestResult:
        link = self._lab_link()
        if args.share:
            with self._private_mount(args, context) as mount:
                result = mount.run_test(args, context.token, context.emit, link)
            return with_environment(result, mount.read_ahead_kb)
        if args.cache == "fresh-mount" and link is None:
            raise AppError(ErrorCode.FRESH_MOUNT_IN_USE)

        table = self._requested.table
        result = run_test(
            args,
            context.token,
            context.emit,
            link=link,
            table=table,
            remount=lambda mount: self._remount_for_test(mount, context),
        )
        return with_environment(result, readahead_of_result(result, table()))

    def _private_mount(self, spec: TestSpec, context: Context) -> PrivateMount:
        """Mount the share of a test as a private mount."""
        return PrivateMount.open(spec.share, spec.options, token=context.token, session=self._session)

    def _remount_for_test(self, mount: MountOfPath | None, context: Context) -> None:
        """Unmount and mount again, with its requested options, a mount that Mountwright made."""
        options = self._requested.options(mount.mount_id) if mount is not None else None
        if mount is None or options is None:
            raise AppError(ErrorCode.FRESH_MOUNT_NOT_OURS)
        self._remount(mount.share, mount.mount_point, options, context)


class ExperimentVerbs:
    """Experiment verbs of one host; methods take (args, context) and return the verb's result."""

    def __init__(
        self,
        measurement_lock: MeasurementLock,
        lab_link: Callable[[], LinkFacts | None],
        session: MountSession,
        table: Callable[[], MountTable] = read_table,
    ) -> None:
        """Create the experiment verbs of one host.

        Args:
            measurement_lock: allows one measurement at a time on this host.
            lab_link: returns the link that the lab emulates at the moment, None on any other host.
            session: opens the private mounts.
            table: returns the mounts of this host.
        """
        self._measurement_lock = measurement_lock
        self._lab_link = lab_link
        self._table = table
        self._session = session

    def handlers(self) -> dict[str, Handler]:
        """Return this part of the agent's verb table."""
        return {
            "experiment.plan": self.plan,
            "experiment.run": self.run,
            "experiment.best": self.best,
            "experiment.search": self.search,
        }

    def plan(self, args: ExperimentArgs, context: Context) -> ExperimentPlan:
        """Mount every option set once; return those that can be measured and the expected duration."""
        with self._measurement_lock.acquire(Measurement.SET_PROBES, context.token):
            experiment = self._experiment_context(args.experiment.share, facts=True)
            plan = plan_experiment(args, experiment, context.token, context.emit)
            environment = environment_of(args.experiment.share, experiment.facts.link, plan.sets[0].effective)
            return msgspec.structs.replace(plan, environment=environment)

    def run(self, args: ExperimentRunArgs, context: Context) -> ExperimentResult:
        """Run the trials of a plan that have no outcome yet; send each outcome as an event."""
        with self._measurement_lock.acquire(Measurement.EXPERIMENT, context.token):
            experiment = self._experiment_context(args.plan.experiment.share, facts=False)
            return run_experiment(args, experiment, context.token, context.emit)

    def best(self, args: SearchArgs, context: Context) -> BestSettings:
        """Search for the best settings within a time limit; send candidates and outcomes as events."""
        with self._measurement_lock.acquire(Measurement.EXPERIMENT, context.token):
            experiment = replace(
                self._experiment_context(args.share, facts=True),
                read_ahead_kb=_read_ahead_kb(self._table(), args.share),
            )

            def send(event: ExperimentEvent) -> None:
                if event.plan is not None:
                    environment = environment_of(args.share, experiment.facts.link, {})
                    plan = msgspec.structs.replace(event.plan, environment=environment)
                    event = msgspec.structs.replace(event, plan=plan)
                context.emit(event)

            return run_search(args, experiment, context.token, send)

    def search(self, args: ExperimentRunArgs, context: Context) -> BestSettings:
        """Resume an interrupted search; send each outcome as an event."""
        with self._measurement_lock.acquire(Measurement.EXPERIMENT, context.token):
            experiment = self._experiment_context(args.plan.experiment.share, facts=False)
            return resume_search(args, experiment, context.token, context.emit)

    def _experiment_context(self, share: str, *, facts: bool) -> ExperimentContext:
        """Return the dependencies of an experiment.

        Args:
            share: the share that is measured.
            facts: whether to gather the facts of client, link and server, which takes seconds.
        """
        link = self._lab_link()
        known = gather_facts(share, link_override=link) if facts else Facts(client=ClientFacts(), link=link)

        def open_mount(options: str, read_ahead_kb: int | None, token: CancelToken) -> PrivateMount:
            return PrivateMount.open(
                share, options, read_ahead_kb=read_ahead_kb, token=token, session=self._session
            )

        return ExperimentContext(open=open_mount, facts=known, link=link)


def _read_ahead_kb(table: MountTable, share: str) -> int | None:
    """Return the readahead of a share's active mount, KiB; None if it is not mounted or not known."""
    return next(
        (row.active.read_ahead_kb for row in table.mounts if row.share == share and row.active is not None),
        None,
    )


class Measurement(StrEnum):
    """Running measurement; a second one is refused."""

    TEST = "measurement.test"
    TEST_PLAN = "measurement.test-plan"
    GAIN_TRIAL = "measurement.gain-trial"
    EXPERIMENT = "measurement.experiment"
    SET_PROBES = "measurement.set-probes"


#: Interval at which a waiting request checks its own cancellation, s.
_POLL_INTERVAL_S = 0.1


class MeasurementLock:
    """Lock that allows one measurement at a time on a host, because two would distort each other."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: Measurement | None = None
        self._token = CancelToken()

    @contextmanager
    def acquire(self, measurement: Measurement, token: CancelToken) -> Generator[None]:
        """Hold the lock for a measurement; wait for a cancelled measurement or a test plan to end.

        Args:
            measurement: the measurement that begins.
            token: cancels the request and the wait.

        Raises:
            AppError: BUSY if another measurement runs, CANCELLED while waiting.
        """
        with self._changed:
            while self._running is not None:
                if not self._token.cancelled and self._running is not Measurement.TEST_PLAN:
                    raise AppError(ErrorCode.MEASUREMENT_RUNS, running=message(self._running))
                token.check()
                self._changed.wait(_POLL_INTERVAL_S)
            self._running, self._token = measurement, token
        try:
            yield
        finally:
            with self._changed:
                self._running = None
                self._changed.notify()

    def wait(self, timeout: float) -> bool:
        """Wait until no measurement runs, at most ``timeout`` seconds; return whether none runs."""
        with self._changed:
            return self._changed.wait_for(lambda: self._running is None, timeout)
