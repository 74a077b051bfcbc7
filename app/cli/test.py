"""The test command: what it copies, said before it starts, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from advisor.bottleneck import KINDS
from app.bench.result import DEFAULT_SIZE, DEFAULT_SMALL_SIZE, TestPlanArgs, TestSpec
from app.units import format_duration, format_size, format_speed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from advisor.bottleneck import Bottleneck
    from app.bench.result import Figure, TestPlan, TestResult, Workload

_SMALL_COUNT = 1000
_TITLES = {"write": "Write", "read": "Read", "create": "Create", "stat": "Stat", "delete": "Delete"}


def test_spec(args: argparse.Namespace, path: str) -> TestSpec:
    """Return the test that the command line asks for, of this directory."""
    small = args.files is not None or args.small_files
    workload: Workload = "files" if small else "file"
    return TestSpec(
        path=path,
        direction=args.direction,
        size=args.size or (DEFAULT_SMALL_SIZE if small else DEFAULT_SIZE),
        block_size=args.block_size,
        cache=args.cache,
        sync=args.sync,
        workload="own" if args.own else workload,
        count=(args.files or _SMALL_COUNT) if small else 1,
        repeats=args.repeats or 1,
        source=str(Path(args.own).absolute()) if args.own else "",  # asks for no file, which may hang
    )


def planned(args: argparse.Namespace, path: str, ask: Callable[[TestPlanArgs], TestPlan]) -> TestPlan | None:
    """Return the plan of a preset, or of the person's own files; None where the command line says it all."""
    if not args.preset and not args.own:
        return None
    return ask(TestPlanArgs(spec=test_spec(args, path), preset=args.preset))


def plan_text(plan: TestPlan) -> str:
    """Return what a test will do, in two sentences."""
    spec = plan.spec
    what = f"one file of {format_size(spec.size)}"
    if spec.workload == "own":
        what = f"your own {spec.count} files, {format_size(spec.total)} together,"
    elif spec.workload == "files":
        what = f"{spec.count} files of {format_size(spec.size)}"
    times = f"{spec.rounds} times (the first is a warm-up)" if spec.repeats > 1 else "once"
    took = f"about {format_duration(plan.seconds)}" if plan.seconds is not None else "an unknown time"
    return f"Copying {what} {times}: {took}, {format_size(plan.bytes)} over the network. {plan.note}".rstrip()


def figures_lines(result: TestResult) -> list[str]:
    """Return a line for each figure that repeats, or that only small files have, and what spoils it."""
    lines: list[str] = []
    for name, figure in result.figures.items():
        speed = name in {"write", "read"}
        if speed and len(figure.values) == 1:
            continue  # the table has it
        lines.append(f"{_TITLES[name]}: {_figure_text(figure, _as_speed if speed else _as_rate)}")
        if len(figure.values) > 1 and (figure.timeouts or figure.retransmissions):
            lines.append(
                f"  In all repeats together: time-outs {figure.timeouts}, "
                f"retransmissions {figure.retransmissions}."
            )
    wide = [name for name, figure in result.figures.items() if figure.wide]
    if wide:
        lines.append(
            f"The spread is too wide to conclude from ({', '.join(wide)}): repeat it on a quiet network, or "
            "more often."
        )
    return lines


def bottleneck_lines(found: Bottleneck) -> list[str]:
    """Return what held the test back, and why that is known."""
    what = f"{KINDS[found.kind]} ({found.confidence} confidence)" if found.kind != "unclear" else "not clear"
    return [f"Held back by: {what}", *(f"  {line}" for line in found.evidence)]


def _figure_text(figure: Figure, form: Callable[[float], str]) -> str:
    count = len(figure.values)
    if count == 1:
        return form(figure.median)
    ends = f"{form(figure.low)} to {form(figure.high)}"
    if figure.confidence < 0.95:
        spread = f"range {ends}; six repeats or more make a 95 % interval"
    else:
        spread = f"95 % interval {ends}"
    return f"median {form(figure.median)} of {count} repeats, {spread}"


def _as_speed(value: float) -> str:
    return format_speed(value)


def _as_rate(value: float) -> str:
    return f"{value:.3g} files/s" if value < 999.5 else f"{value:.0f} files/s"
