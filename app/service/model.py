"""Arguments and results of advice, and of a before-and-after test."""

from __future__ import annotations

from typing import Literal

import msgspec

from advisor.facts import Facts  # noqa: TC001 - msgspec reads the annotations at run time
from advisor.prediction import PredictedCurve, Prediction  # noqa: TC001
from advisor.recommendation import (  # noqa: TC001
    MeasuredOption,
    NotRecommended,
    Recommendation,
    SystemWarning,
    Workload,
)
from advisor.use_conditions import UseConditions
from app.mounts.change_model import ApplyArgs, ApplyEvent, ApplyPlan, MountSettings  # noqa: TC001
from app.mounts.model import ReadAheadState  # noqa: TC001
from app.speedtest.model import TestEvent, TestResult, TestSpec  # noqa: TC001
from app.speedtest.result_comparison import ChangeVerdict, FigureComparison  # noqa: TC001

ExpectedFigure = Literal["write", "read", "small-read"]


class AdviceArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``advice.get``: get recommendations for a share, a mount point, or another computer.

    Attributes:
        share: server:/export whose link and server are examined.
        mount_point: mount point of a mount, which supplies share, options and readahead.
        options: option string that replaces the mount's own; None to use the mount's.
        workload: intended use of the mount, one of advisor.rules.WORKLOADS.
        adapter: name of the client's network adapter, instead of the detected one.
        server_adapter: name of the server's network adapter.
        server: kind of server, an id of resources/servers.toml, instead of the detected one.
        transport: "tcp" or "udp", which the other computer speaks; "" to take it from the options.
        link: link profile or link description in the lab's notation, instead of the detected link.
        read_ahead_kb: readahead in KiB that replaces the mount's own; None to use the mount's.
        measured: option values that tests on the mount have compared.
        without: options and tunables whose recommendations are left out.
        conditions: answers of the user about the mount.
        kernel: kernel release of the other computer, "" for the detected one.
        mtu: MTU of the link in bytes, None for the detected one.
        path_mtu: path MTU to the server in bytes, None for the detected one.
    """

    share: str = ""
    mount_point: str = ""
    options: str | None = None
    workload: str = "general"
    adapter: str = ""
    server_adapter: str = ""
    server: str = ""
    transport: str = ""
    link: str = ""
    read_ahead_kb: int | None = None
    measured: tuple[MeasuredOption, ...] = ()
    without: tuple[str, ...] = ()
    conditions: UseConditions = UseConditions()
    kernel: str = ""
    mtu: int | None = None
    path_mtu: int | None = None


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """Speed predicted by the throughput model, bytes per second; None where the link is not known.

    Attributes:
        figure: predicted operation: copy to the server, copy from it, or small reads.
        call_size: bytes per read or write call with the recommended options.
        now: prediction for the present options.
        advised: prediction for the recommended options.
    """

    figure: ExpectedFigure
    call_size: int
    now: Prediction | None
    advised: Prediction | None


class AdviceResult(msgspec.Struct, frozen=True, kw_only=True):
    """Recommendations for one mount, with the facts they are based on.

    Attributes:
        facts: observed and user-supplied facts.
        options: requested options at present.
        advised_options: options with the included recommendations applied.
        workload: intended use of the mount.
        recommendations: recommended changes, in the order of the option catalogue.
        agreed: settings that are right already, by name, with the reason.
        not_recommended: plausible values that are not recommended, with the reason.
        unknown: reasons why facts are unknown, by group and field, for example link.rtt_s.
        expected: predicted speeds, before and after the recommendations.
        attention: problems that no mount option fixes.
        curve: predicted speed over the limiting quantity, None where the link is not known.
        read_ahead_state: what happens to the mount's readahead at the next mount; "" if not mounted.
        lacking: unknown facts that may hide further recommendations, by group and field.
        gains: predicted speeds of single groups of recommendations (advisor.recommend.group_recommendations),
            each applied alone, by the first option of the group: the figure that gains most.
        tried: options whose recommended value a test of one's own compared without a proven difference.
    """

    facts: Facts
    options: str
    advised_options: str
    workload: Workload
    recommendations: tuple[Recommendation, ...]
    agreed: dict[str, str]
    not_recommended: tuple[NotRecommended, ...]
    unknown: dict[str, str]
    expected: list[Expected]
    attention: tuple[SystemWarning, ...] = ()
    curve: PredictedCurve | None = None
    read_ahead_state: ReadAheadState = ""
    lacking: tuple[str, ...] = ()
    gains: dict[str, Expected] = {}
    tried: tuple[str, ...] = ()


#: Stage of a before-and-after test.
BeforeAfterStage = Literal["before", "change", "after"]


class BeforeAfterPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of a before-and-after test.

    Attributes:
        change: the change in the middle, for the run.
        plan: the plan of that change.
        spec: the test, run ``tests`` times on each side.
        recommendations: the recommendations that the change carries out.
        tests: number of tests on each side.
        seconds: predicted duration, s; None if the link is unknown.
        bytes: bytes written to the share in all tests together.
    """

    change: ApplyArgs
    plan: ApplyPlan
    spec: TestSpec
    recommendations: tuple[Recommendation, ...]
    tests: int
    seconds: float | None
    bytes: int


class BeforeAfterArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``before-after.run``: the change, the test and the recommendations of a plan."""

    change: ApplyArgs
    spec: TestSpec
    recommendations: tuple[Recommendation, ...] = ()
    seconds: float | None = None


class BeforeAfterEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a before-and-after test.

    Attributes:
        stage: the present stage.
        number: number of the present test in its stage, from 1; 0 is the short test that chooses the file
            size, and the change.
        left_s: estimated time left, s; None if unknown.
        test: event of the running test.
        result: result of a finished test, which the history saves.
        step: event of the change.
    """

    stage: BeforeAfterStage
    number: int = 0
    left_s: float | None = None
    test: TestEvent | None = None
    result: TestResult | None = None
    step: ApplyEvent | None = None


class BeforeAfterReport(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a before-and-after test.

    Attributes:
        verdict: verdict on the change; it stays only for "faster".
        comparisons: comparison of each figure.
        measured: what the tests say about the recommendations.
        share: server:/export.
        link: name of the lab's emulated link, "" for a real link.
        before: settings of the mount before the change.
        keep: change that saves the new settings; None if the change did not stay.
    """

    verdict: ChangeVerdict
    comparisons: list[FigureComparison]
    measured: tuple[MeasuredOption, ...]
    share: str
    link: str
    before: MountSettings
    keep: ApplyArgs | None = None
