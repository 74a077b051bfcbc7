"""Command "history": lists, compares, changes, exports and imports saved tests; it needs no host."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.cli.input_file import read_input
from app.cli.prompts import ask_consent
from app.cli.table import table
from app.cli.text import terminal_safe, test_text
from app.errors import AppError
from app.files.safe_write import save_file
from app.history.compare_runs import compare_runs, environment_facts, speed_text
from app.history.import_export import MAX_BYTES, history_from_json, import_history
from app.history.model import Run, RunFilter, option_string
from app.history.record_test import record_test
from app.history.store import HistoryStore
from app.report.export import EXPORT_FORMATS, experiment_file, read_valid, runs_file
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.history.compare_runs import RunComparison
    from app.history.model import RunSummary, StoredExperimentSummary
    from app.report.export import ExportFormat
    from app.speedtest.model import TestResult

#: Age such as 7d.
_AGO = re.compile(r"(\d{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}
#: Limit of a query that returns all runs.
_NO_LIMIT = 2**31
#: Greatest value accepted for the number of a run and for --limit.
_MAX_COUNT = 999_999_999


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of the command and their arguments to the parser."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions (default: list)")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        action = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name != "export":  # its --json names a file; SUPPRESS keeps a --json before the action
            action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
        return action

    def add_numbers(action: argparse.ArgumentParser) -> None:
        action.add_argument("numbers", type=_number, nargs="+", metavar="ID", help="ID of a test")

    listing = add("list", "list tests, newest first")
    _add_filter(listing)
    listing.add_argument("--limit", type=_number, default=50, help="maximum number of tests (default: 50)")
    add("experiments", "list the experiments, newest first")
    show = add("show", "show one test with all its results")
    show.add_argument("number", type=_number, metavar="ID")
    compare = add("compare", "compare two tests, or two sets of tests")
    compare.add_argument("before", type=_numbers, metavar="A[,A…]", help="IDs of tests")
    compare.add_argument("after", type=_numbers, metavar="B[,B…]")
    tag = add("tag", "add or remove tags of tests")
    tag.add_argument("--add", action="append", default=[], metavar="TAG")
    tag.add_argument("--remove", action="append", default=[], metavar="TAG")
    add_numbers(tag)
    note = add("note", "set the note of a test")
    note.add_argument("number", type=_number, metavar="ID")
    note.add_argument("text", metavar="TEXT", help="text of the note (“” removes it)")
    baseline = add("baseline", "compare later tests of the same kind with a test")
    baseline.add_argument("--clear", action="store_true", help="remove the baseline mark")
    baseline.add_argument("number", type=_number, metavar="ID")
    delete = add("delete", "delete tests, after confirmation")
    delete.add_argument("--yes", action="store_true", help="delete without asking")
    add_numbers(delete)
    export = add("export", "export tests to a new file")
    kind = export.add_mutually_exclusive_group(required=True)
    kind.add_argument(
        "--csv", dest="csv_file", metavar="FILE", help="one row per test: results, options, environment"
    )
    kind.add_argument("--json", dest="json_file", metavar="FILE",
                      help="all results, experiments included, for import")  # fmt: skip
    kind.add_argument("--html", dest="html_file", metavar="FILE", help="report with plots (HTML)")
    kind.add_argument(
        "--xlsx", dest="xlsx_file", metavar="FILE", help="the rows of --csv as an Excel workbook"
    )
    export.add_argument("--experiment", type=_number, default=0, metavar="ID",
                        help="export an experiment: its trials, all its data, or its report")  # fmt: skip
    export.add_argument("--id", dest="numbers", type=_numbers, default=[], metavar="ID[,ID…]",
                        help="only these tests")  # fmt: skip
    _add_filter(export)
    importing = add("import", "add the tests of an exported file, except those already saved")
    importing.add_argument(
        "file", metavar="FILE", help="JSON file of “history export” or “test --json” (- reads standard input)"
    )


def _add_filter(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--share", default="", help="only tests of this share (server:/export, or a path outside NFS)"
    )
    action.add_argument("--server", default="", help="only tests of this server")
    action.add_argument("--host", default="", help="only tests that ran on this computer")
    action.add_argument("--tag", default="")
    action.add_argument("--kind", default="", help="only tests of this kind: file, files, …")
    action.add_argument(
        "--since",
        type=_moment,
        default=None,
        metavar="WHEN",
        help="2026-03-01, 2026-03-01T10:00, 24h, 7d or 4w",
    )
    action.add_argument("--baselines", action="store_true", help="only baselines")
    action.add_argument(
        "text",
        nargs="*",
        metavar="WORD",
        help="only tests with this text in any field",
    )


def run_history(args: argparse.Namespace) -> int:
    """Run the action and print its result; return the exit code.

    Raises:
        AppError: raised by the store, or if a file cannot be read or written.
    """
    with HistoryStore.open() as store:
        try:
            result = store.retry_after_recovery(lambda: _ACTIONS[args.action or "list"](store, args))
        finally:
            for message in store.messages:
                print(f"mountwright: {message}", file=sys.stderr)
    if not isinstance(result, str):
        result = msgspec.json.format(msgspec.json.encode(result), indent=2).decode()
    if result:
        print(result if args.json else terminal_safe(result), flush=True)
    return 0


def save_test(result: TestResult, *, quiet: bool) -> str:
    """Save a finished test; return lines with its number and the comparison with the baseline.

    Errors are printed on standard error. With ``quiet`` a warning is too, and the result is "".
    """
    try:
        recorded = record_test(result)
    except AppError as error:
        print(f"mountwright: {error.message}\n  {error.hint}", file=sys.stderr)
        return ""
    for message in recorded.messages:
        print(f"mountwright: {message}", file=sys.stderr)
    if quiet:
        if recorded.warning:
            print(f"mountwright: {terminal_safe(recorded.warning)}", file=sys.stderr)
        return ""
    saved = f"Saved in the history as test {recorded.id}."
    comparison = recorded.warning or recorded.comparison
    return terminal_safe("\n".join(["", *filter(None, [comparison]), saved]))


def _filter(args: argparse.Namespace, limit: int) -> RunFilter:
    return RunFilter(
        text=" ".join(args.text), share=args.share, server=args.server, host=args.host, tag=args.tag,
        kind=args.kind, since=args.since, baseline=args.baselines, limit=limit,
    )  # fmt: skip


def _list(store: HistoryStore, args: argparse.Namespace) -> str | list[RunSummary]:
    run_filter = _filter(args, args.limit) if args.action else RunFilter(limit=50)
    rows = store.find(run_filter)
    if args.json:
        return rows
    if not rows:
        return "No saved test matches." if args.action else "No tests saved yet. “test” saves each one."
    more = store.count(run_filter) - len(rows)
    return rows_text(rows) + (f"\n… and {more} older ones (--limit)." if more > 0 else "")


def rows_text(rows: Sequence[RunSummary]) -> str:
    """Return runs as a table; an asterisk marks a baseline."""
    cells = [["ID", "STARTED", "SHARE", "LINK", "KIND", "WRITE", "READ", "REQUESTED", "TAGS AND NOTE"]]
    for row in rows:
        labels = " ".join([*(f"#{tag}" for tag in row.tags), row.note]).strip()
        cells.append(
            [
                f"{row.id}{'*' if row.baseline else ''}",
                _local(row.started_at),
                row.share,
                row.link or "—",
                row.kind,
                speed_text(row.write),
                speed_text(row.read, cached=row.read_cached),
                row.requested or "—",
                labels.splitlines()[0] if labels else "",
            ]
        )
    return table(cells)


def _local(moment: str) -> str:
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def _show(store: HistoryStore, args: argparse.Namespace) -> str | Run:
    run = store.get(args.number)
    return run if args.json else run_text(run)


def run_text(run: Run) -> str:
    """Return the figures, options, environment, tags and note of a run as text, without its samples."""
    head = [f"Test {run.id}, started {run.result.started_at}{', a baseline of its share' * run.baseline}"]
    head += [f"Imported from {run.origin}"] if run.origin else []
    head += [f"Tags: {', '.join(run.tags)}"] if run.tags else []
    head += [f"Note: {run.note}"] if run.note else []
    result = run.result
    options = [
        f"{name}: {option_string(values)}"
        for name, values in (("Requested", result.requested), ("In use", result.effective))
        if values
    ]
    facts = [
        ["ENVIRONMENT", ""],
        *([name, value] for name, value in environment_facts(result.environment).items()),
    ]
    return "\n".join([*head, "", test_text(result), "", *options, "", table(facts)])


def _compare(store: HistoryStore, args: argparse.Namespace) -> str | RunComparison:
    on_both_sides = sorted(set(args.before) & set(args.after))
    if on_both_sides:
        raise AppError(ErrorCode.RUN_ON_BOTH_SIDES, number=on_both_sides[0])
    before, after = ([store.get(number) for number in side] for side in (args.before, args.after))
    found = compare_runs(before, after)
    return found if args.json else compared_text(found)


def compared_text(found: RunComparison) -> str:
    """Return a comparison as text: figures, notes, then differing options and environment."""
    lines = [f"{item.text()[:1].upper()}{item.text()[1:]}." for item in found.comparisons]
    if not lines:
        lines.append("These tests have no metric in common.")
    lines += found.notes
    rows = [["DIFFERENT", "A", "B"], *([item.name, item.before, item.after] for item in found.differing)]
    return "\n".join(
        [*lines, "", table(rows) if found.differing else "Options and environment are the same."]
    )


def _tag(store: HistoryStore, args: argparse.Namespace) -> str:
    if not args.add and not args.remove:
        raise AppError(ErrorCode.TAG_MISSING)
    store.tag(args.numbers, args.add, args.remove)
    return ""


def _note(store: HistoryStore, args: argparse.Namespace) -> str:
    store.note(args.number, args.text)
    return ""


def _baseline(store: HistoryStore, args: argparse.Namespace) -> str:
    if args.clear:
        store.clear_baseline(args.number)
        return ""
    replaced = store.set_baseline(args.number)
    (row,) = store.rows([args.number])
    text = f"Test {row.id} is now the baseline for later tests of {row.share} of the same kind."
    no_longer = [f"It replaces test {number} as the baseline." for number in replaced]
    return " ".join([text, *no_longer])


def _delete(store: HistoryStore, args: argparse.Namespace) -> str:
    if not args.yes:
        rows = store.rows(args.numbers)
        ask_consent(
            terminal_safe(rows_text(rows)) + "\n",
            "Delete this test?" if len(rows) == 1 else "Delete these tests?",
            hint="Give --yes.",
            refused="Nothing was deleted.",
        )
    deleted = store.delete(args.numbers)
    return f"Deleted {len(deleted)} test{'s' * (len(deleted) != 1)}."


def _export(store: HistoryStore, args: argparse.Namespace) -> str:
    kind: ExportFormat = next(kind for kind in EXPORT_FORMATS if getattr(args, f"{kind}_file"))
    path: str = getattr(args, f"{kind}_file")
    if args.experiment:
        data = experiment_file(store.experiment(args.experiment), kind)
        subject = f"experiment {args.experiment}"
    else:
        rows = store.rows(args.numbers) if args.numbers else store.find(_filter(args, _NO_LIMIT))
        is_full_export = kind == "json" and not args.numbers and _filter(args, 0) == RunFilter(limit=0)
        unreadable_experiments: list[AppError] = []
        unreadable_runs: list[AppError] = []
        experiments = read_valid(
            store.experiment,
            [row.id for row in store.experiments() if is_full_export],
            unreadable_experiments,
        )
        data = runs_file(store, rows, kind, experiments, unreadable=None if args.numbers else unreadable_runs)
        written = len(rows) - len(unreadable_runs)
        subject = f"{written} test{'s' * (written != 1)}"
        for error in unreadable_experiments + unreadable_runs:
            print(f"mountwright: Left out: {error.message} {error.hint}", file=sys.stderr)
    save_file(str(Path.cwd() / path), data)
    return f"Wrote {subject} to {path}."


def _experiments(store: HistoryStore, args: argparse.Namespace) -> str | list[StoredExperimentSummary]:
    rows = store.experiments()
    if args.json:
        return rows
    if not rows:
        return "No experiments saved yet."
    cells = [["ID", "STARTED", "RECIPE", "SHARE", "HOST", "TRIALS DONE", "NOTE"]]
    cells += [
        [str(row.id), _local(row.started_at), row.name, row.share, row.host, str(row.done), row.note]
        for row in rows
    ]
    return table(cells)


def _import(store: HistoryStore, args: argparse.Namespace) -> str:
    raw = read_input(args.file, MAX_BYTES, expected="an exported history")
    result = import_history(store, history_from_json(raw), Path(args.file).name)
    text = f"Added {len(result.added)} test{'s' * (len(result.added) != 1)}. {result.known} already saved."
    if result.experiments or result.known_experiments:
        text += f" Experiments: {len(result.experiments)} added, {result.known_experiments} already saved."
    if result.trials:
        text += f" Added {result.trials} trial{'s' * (result.trials != 1)} to experiments imported before."
    return text


def _number(text: str) -> int:
    with contextlib.suppress(ValueError):
        number = int(text)
        if 1 <= number <= _MAX_COUNT:
            return number
    raise argparse.ArgumentTypeError(f"“{text}” is not a number from 1 to {_MAX_COUNT}")


def _numbers(text: str) -> list[int]:
    try:
        return list(dict.fromkeys(_number(word) for word in text.split(",")))
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"“{text}” is not a list of numbers such as 3 or 3,4,5") from None


def _moment(text: str) -> datetime:
    """Parse a date, time or age; a time without zone is local."""
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return datetime.now(UTC) - timedelta(hours=int(ago[1]) * _HOURS[ago[2]])
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"“{text}” is not a date such as 2026-03-01 or an age such as 7d"
        ) from None


_ACTIONS: dict[str, Callable[[HistoryStore, argparse.Namespace], object]] = {
    "list": _list,
    "experiments": _experiments,
    "show": _show,
    "compare": _compare,
    "tag": _tag,
    "note": _note,
    "baseline": _baseline,
    "delete": _delete,
    "export": _export,
    "import": _import,
}
