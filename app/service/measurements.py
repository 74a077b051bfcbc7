"""The agent's verbs that measure: what a test would do, and the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.facts.gather import link_to
from app.speedtest.environment import read_ahead_of, with_environment
from app.speedtest.planning import plan_test
from app.speedtest.private_mount import PrivateMount
from app.speedtest.runner import look_at, run_test

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import LinkFacts
    from app.agent.alone import Alone
    from app.kernel.mount_of_path import Where
    from app.mounts.requested import Requested
    from app.service.server import Context, Handler
    from app.speedtest.model import TestPlan, TestPlanArgs, TestResult, TestSpec
    from app.speedtest.mount_session import BenchSession


class Measuring:
    """The measuring verbs of one host; methods take (args, context) and return the verb's result."""

    def __init__(
        self,
        alone: Alone,
        requested: Requested,
        lab_link: Callable[[], LinkFacts | None],
        mount_again: Callable[[str, str, str, Context], None],
        session: BenchSession,
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
            planned = self._alone.while_it("A test is being planned", context.token)
            with planned, self._mounted(args.spec, context) as mount:
                looked = mount.look_at(args.spec, context.token)
        else:
            looked = look_at(args.spec, context.token)
        link = self._lab_link()
        if link is None and looked.where is not None and looked.where.nfs:
            address, port = looked.where.server
            link = link_to(address, port) if address else None
        return plan_test(args, looked.free, link, looked.own)

    def run_test(self, args: TestSpec, context: Context) -> TestResult:
        """Run a copy test in a worker process."""
        with self._alone.while_it("A test is running", context.token):
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

        def remount(where: Where | None) -> None:
            self._mount_afresh(where, context)

        table = self._requested.table
        result = run_test(args, context.token, context.emit, link=link, table=table, remount=remount)
        return with_environment(result, read_ahead_of(result, table()))

    def _mounted(self, spec: TestSpec, context: Context) -> PrivateMount:
        """Mount the share of a test where only the test sees it."""
        return PrivateMount.open(spec.share, spec.options, token=context.token, session=self._bench)

    def _mount_afresh(self, where: Where | None, context: Context) -> None:
        """Unmount and mount again what was mounted here with the options asked for."""
        asked = self._requested.options(where.mount_id) if where is not None else None
        if where is None or asked is None:
            raise AppError(
                ErrorKind.UNAVAILABLE,
                "Only an NFS mount that was made here can be mounted afresh for the read.",
                hint="Choose another way to keep the cache out of the read.",
            )
        self._mount_again(where.share, where.mount_point, asked, context)
