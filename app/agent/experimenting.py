"""The agent's verbs of experiments: what one would do here, and its trials."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from advisor.facts import ClientFacts, Facts
from app.experiment.context import Hands
from app.experiment.plan import plan_experiment
from app.experiment.runner import run_experiment
from app.experiment.search import find_best, go_on
from app.facts.gather import gather_facts
from app.mounts.table import read_table
from app.speedtest.environment import environment_of
from app.speedtest.private_mount import PrivateMount

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import LinkFacts
    from app.agent.alone import Alone
    from app.experiment.model import (
        BestArgs,
        BestResult,
        ExperimentArgs,
        ExperimentEvent,
        ExperimentPlan,
        ExperimentResult,
        ExperimentRunArgs,
    )
    from app.mounts.model import MountTable
    from app.service.server import Context, Handler
    from app.speedtest.mount_session import BenchSession
    from app.tasks import CancelToken


class Experimenting:
    """The experiments of one host; methods take (args, context) and return the verb's result."""

    def __init__(
        self,
        alone: Alone,
        lab_link: Callable[[], LinkFacts | None],
        session: BenchSession,
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
        with self._alone.while_it("The option sets of an experiment are being tried", context.token):
            hands = self._hands(args.experiment.share, facts=True)
            plan = plan_experiment(args, hands, context.token, context.emit)
            environment = environment_of(args.experiment.share, hands.facts.link, plan.sets[0].effective)
            return msgspec.structs.replace(plan, environment=environment)

    def run(self, args: ExperimentRunArgs, context: Context) -> ExperimentResult:
        """Run the trials of a plan that are not done; each outcome is an event."""
        with self._alone.while_it("An experiment is running", context.token):
            hands = self._hands(args.plan.experiment.share, facts=False)
            return run_experiment(args, hands, context.token, context.emit)

    def best(self, args: BestArgs, context: Context) -> BestResult:
        """Find the best setting within a time; the candidates, and each outcome, are events."""
        with self._alone.while_it("An experiment is running", context.token):
            hands = replace(
                self._hands(args.share, facts=True), read_ahead_kb=_read_ahead_kb(self._table(), args.share)
            )

            def tell(event: ExperimentEvent) -> None:
                if event.plan is not None:
                    environment = environment_of(args.share, hands.facts.link, {})
                    plan = msgspec.structs.replace(event.plan, environment=environment)
                    event = msgspec.structs.replace(event, plan=plan)
                context.emit(event)

            return find_best(args, hands, context.token, tell)

    def search(self, args: ExperimentRunArgs, context: Context) -> BestResult:
        """Go on with a search that was begun; each outcome is an event."""
        with self._alone.while_it("An experiment is running", context.token):
            hands = self._hands(args.plan.experiment.share, facts=False)
            return go_on(args, hands, context.token, context.emit)

    def _hands(self, share: str, *, facts: bool) -> Hands:
        """Return what an experiment works with; the facts, which take seconds, only if they are asked for."""
        link = self._lab_link()
        known = gather_facts(share, link_override=link) if facts else Facts(client=ClientFacts(), link=link)

        def open_mount(options: str, read_ahead_kb: int | None, token: CancelToken) -> PrivateMount:
            return PrivateMount.open(
                share, options, read_ahead_kb=read_ahead_kb, token=token, session=self._bench
            )

        return Hands(open=open_mount, facts=known, link=link)


def _read_ahead_kb(table: MountTable, share: str) -> int | None:
    """Return the readahead of a share's mount in use, KiB; None if it is not mounted, or nobody knows."""
    return next(
        (row.active.read_ahead_kb for row in table.mounts if row.share == share and row.active is not None),
        None,
    )
