"""Command "test": its specification, the text of its plan, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from advisor.speeds import format_speed
from advisor.transfer_sizes import SMALL_READ_SIZE
from app.speedtest.analysis import bottleneck_text
from app.speedtest.model import (
    DEFAULT_SIZE,
    DEFAULT_SMALL_SIZE,
    SMALL_READS,
    SPEED_FIGURES,
    Grid,
    TestPlanArgs,
    TestSpec,
)
from app.text.message import message_text
from app.text.sentences import VALUE_WORDS
from app.text.translate import gettext
from app.text.units import format_duration, format_size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from advisor.bottleneck import Bottleneck
    from app.speedtest.model import Figure, GridCell, TestPlan, TestResult, WorkloadKind

#: Default number of small files.
_SMALL_COUNT = 1000
_TITLES = {
    "write": "Write", "read": "Read", "create": "Create", "stat": "Stat", "delete": "Delete",
    SMALL_READS: f"Small reads ({SMALL_READ_SIZE // 1024} KiB a call)",
}  # fmt: skip


def is_share(target: str) -> bool:
    """Return whether a text is server:/export, and not the path of a directory."""
    return ":/" in target and not target.startswith(("/", "."))


def test_spec(args: argparse.Namespace, target: str) -> TestSpec:
    """Return the specification of the test of a directory, or of a share that is not mounted."""
    share = is_share(target)
    small = args.files is not None or args.small_files
    workload: WorkloadKind = "files" if small else "file"
    return TestSpec(
        path=args.below if share else target,
        share=target if share else "",
        options=args.options if share else "",
        direction=args.direction,
        size=args.size or (DEFAULT_SMALL_SIZE if small else DEFAULT_SIZE),
        block_size=args.block_size,
        cache=args.cache,
        sync=args.sync,
        workload="own" if args.own else "grid" if args.grid else workload,
        count=(args.files or _SMALL_COUNT) if small else 1,
        repeats=args.repeats or 1,
        # absolute() does not access the file, which could hang.
        source=str(Path(args.own).absolute()) if args.own else "",
        grid=_grid(args) if args.grid else None,
        network_alone=args.network_alone,
        server_memory=args.server_memory or 0,
        small_reads=not (small or args.own or args.grid),
    )


def _grid(args: argparse.Namespace) -> Grid:
    """Return the grid of the command line, with default values for options not given."""
    default = Grid()
    return Grid(
        patterns=args.patterns or default.patterns,
        records=args.records or default.records,
        depths=args.depths or default.depths,
        jobs=args.jobs or default.jobs,
        cell_s=args.cell_seconds or default.cell_s,
    )


def plan_query(
    args: argparse.Namespace, target: str, ask: Callable[[TestPlanArgs], TestPlan]
) -> TestPlan | None:
    """Return the plan of a preset, a grid or the user's own files; None for any other test."""
    if not args.preset and not args.own and not args.grid:
        return None
    return ask(TestPlanArgs(spec=test_spec(args, target), preset=args.preset))


def plan_text(plan: TestPlan) -> str:
    """Return the files, repeats, duration and bytes of a planned test, in two sentences."""
    spec = plan.spec
    files = f"one file of {format_size(spec.size)}"
    if spec.workload == "own":
        files = f"your own {spec.count} files, {format_size(spec.total)} together,"
    elif spec.workload == "files":
        files = f"{spec.count} files of {format_size(spec.size)}"
    duration = f"about {format_duration(plan.seconds)}" if plan.seconds is not None else "an unknown time"
    if spec.workload == "grid":
        times = f"{spec.repeats} times" if spec.repeats > 1 else "Once"
        return f"{plan.note} {times}: {duration}, at most {format_size(plan.bytes)} over the network."
    times = f"{spec.rounds} times (the first is a warm-up)" if spec.repeats > 1 else "once"
    if spec.reads_again:
        times += f", read once more in calls of {SMALL_READ_SIZE // 1024} KiB"
    if spec.passes > 1:
        times += f", read {spec.passes} times over each time"
    amount = format_size(plan.bytes)
    return f"Copying {files} {times}: {duration}, {amount} over the network. {plan.note}".rstrip()


def figures_lines(result: TestResult) -> list[str]:
    """Return a line for each repeated figure and each rate of small files, and warnings about them."""
    lines: list[str] = []
    for name, figure in result.figures.items():
        speed = name in SPEED_FIGURES
        if speed and len(figure.values) == 1:
            continue  # in the table already
        lines.append(f"{_TITLES[name]}: {_figure_text(figure, _as_speed if speed else _as_rate)}")
        if len(figure.values) > 1 and (figure.timeouts or figure.retransmissions):
            lines.append(
                f"  All repeats together: timeouts {figure.timeouts}, "
                f"retransmissions by this computer {figure.retransmissions}."
            )
    wide = [name for name, figure in result.figures.items() if figure.wide]
    if wide:
        lines.append(
            f"The spread is too wide for a conclusion ({', '.join(wide)}): repeat it on a quiet network, or "
            "more often."
        )
    return lines


def grid_rows(cells: list[GridCell]) -> list[list[str]]:
    """Return a heading row, and a row for each cell of a grid with its repeat of median rate."""
    rows = [
        [
            "PATTERN",
            "RECORD",
            "JOBS",
            "DEPTH",
            "REQUESTS/S",
            "SPEED",
            "MEAN",
            "95%",
            "99%",
            "REPEATS",
            "BOTTLENECK",
        ]
    ]
    for cell in cells:
        run = cell.median_run
        if run is not None:
            latencies = (run.latency_s, run.p95_s, run.p99_s)
            times = [format_duration(value) if value else "—" for value in latencies]
            iops = [item.iops for item in cell.runs]
            repeats = f"{len(iops)}: {min(iops):.0f} to {max(iops):.0f}/s" if len(iops) > 1 else "1"
            rows.append([
                cell.pattern, format_size(cell.record), str(cell.jobs), str(cell.depth), f"{run.iops:.0f}",
                format_speed(run.bytes_per_s), *times, repeats, _bottleneck_label(cell.bottleneck),
            ])  # fmt: skip
    return rows


def _bottleneck_label(found: Bottleneck | None) -> str:
    return (
        "—"
        if found is None
        else "not clear"
        if found.kind == "unclear"
        else gettext(VALUE_WORDS["bottleneck"][found.kind])
    )


def bottleneck_lines(found: Bottleneck) -> list[str]:
    """Return the bottleneck of a test, and a line for each piece of evidence."""
    return [bottleneck_text(found), *(f"  {message_text(one)}" for one in found.evidence)]


def _figure_text(figure: Figure, form: Callable[[float], str]) -> str:
    count = len(figure.values)
    if count == 1:
        return form(figure.median)
    interval = f"{form(figure.low)} to {form(figure.high)}"
    if figure.confidence < 0.95:
        spread = f"range {interval}; a 95% confidence interval needs six repeats"
    else:
        spread = f"95% confidence interval {interval}"
    return f"median {form(figure.median)} of {count} repeats, {spread}"


def _as_speed(value: float) -> str:
    return format_speed(value)


def _as_rate(value: float) -> str:
    return f"{value:.3g} files/s" if value < 999.5 else f"{value:.0f} files/s"
