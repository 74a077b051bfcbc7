"""Entry point of the command line: runs a command on this computer, or in the lab by the guest's agent."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from advisor.options import MountOptions, check_options
from app.cli.advise import advice_query as advise_query
from app.cli.advise import advice_text, check_left_out
from app.cli.apply import apply_text, run_apply
from app.cli.convert import run_convert
from app.cli.discover import exports_text, probe_text, run_discover, servers_text
from app.cli.experiment import HOSTLESS_ACTIONS, run_hostless
from app.cli.experiment_run import run_experiments
from app.cli.findings import print_findings, print_missing_prerequisites
from app.cli.history import run_history, save_test
from app.cli.import_mount import import_mount_text, run_import_mount
from app.cli.lint import run_lint
from app.cli.list_mounts import run_list
from app.cli.log import log_lines, log_query
from app.cli.mounts_file import run_export_mounts, run_import_mounts
from app.cli.parser import parse_args
from app.cli.persist import report_text as fstab_text
from app.cli.persist import run_persist
from app.cli.prompts import mount_or_unmount
from app.cli.shell import run_shell
from app.cli.test import plan_query, plan_text, test_spec
from app.cli.text import facts_text, report_text, test_text
from app.cli.tunables import tunables_query, tunables_text
from app.cli.watch import WatchText, lab_with_load
from app.errors import AppError, CancelledError, ErrorKind, leftover_files_text
from app.links import LAB_MOUNT_POINT
from app.mounts.findings import findings_before_writing, lint_mount
from app.service.protocol import FactsArgs, HelloResult, MountArgs, UnmountArgs
from app.speedtest import leftover_files
from app.speedtest.cleanup import CANCEL_TIMEOUT_S
from app.stats.model import StatsSample, WatchArgs
from app.text.units import format_size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Sequence

    from app.service.client import Call, Host
    from app.speedtest.model import TestEvent

#: After Ctrl-C, longest wait for a request to undo its changes, s.
_CLEANUP_WAIT_S = 15.0
#: Interval of the messages about that wait, s.
_REPEAT_MESSAGE_S = 2.0
#: Commands that copy test files, whose cancellation may take longer.
_MEASURING = frozenset({"test", "experiment"})
_OUTPUT_CLOSED = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and run its command; return the exit code.

    The caller handles a command line without a command, which opens the window.
    """
    return run(parse_args(argv))


def run(args: argparse.Namespace) -> int:
    """Run the parsed command; messages go to standard error, results to standard output."""
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        if args.command in _WITHOUT_HOST:
            return _WITHOUT_HOST[args.command](args)
        if args.command == "experiment" and args.action in HOSTLESS_ACTIONS:
            return run_hostless(args)
        if args.command in _MEASURING and args.lab is None:
            leftover_files.watch_mounts()
        with open_host(args.lab) as host:
            code = 0
            if args.command == "shell":
                code, text = run_shell(host, args), ""
            else:
                text = _COMMANDS[args.command](host, args)
        if text:
            print(text, flush=True)
    except AppError as error:
        if args.lab is not None:
            error.remains = ()  # the test files vanished with the lab
        _print_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        _print_error(CancelledError())
        return CancelledError().exit_code
    except BrokenPipeError:
        # The reader of standard output (head, less) has ended: no flush at exit may fail with a traceback.
        sys.stdout = None
        return _OUTPUT_CLOSED
    finally:
        signal.signal(signal.SIGTERM, previous)
    return code


def _interrupt(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


@contextlib.contextmanager
def open_host(lab: str | None) -> Generator[Host]:
    """Yield the host of requests: this process, or the lab's guest, which is powered off at the end."""
    if lab is None:
        from app.service.hosts import InProcessHost
        from app.service.verbs import HostVerbs

        host = InProcessHost(HostVerbs())
        try:
            yield host
        finally:
            host.close()
        return
    from app.lab.guest import Guest
    from app.lab.guest_monitor import SLOW_S, GuestState
    from app.links import parse_link

    def print_state(state: GuestState) -> None:
        if state is GuestState.SLOW:
            _print_message(f"The lab has not answered for {SLOW_S:.0f} s. Waiting for it…")
        elif state is GuestState.ANSWERING:
            _print_message("The lab answers again.")

    link = parse_link(lab)
    _print_message(f"Starting the lab ({link.name})…")
    with Guest.boot(link) as guest:
        guest.listen(print_state)
        try:
            yield guest.client
        except (KeyboardInterrupt, AppError):
            _print_message("Powering off the lab…")
            raise


def ask(host: Host, verb: str, args: Any = None, on_event: Callable[[Any], None] | None = None) -> Any:
    """Send a request to the host and return its result; Ctrl-C cancels it and waits for its cleanup.

    Args:
        host: host to send the request to.
        verb: name of the request.
        args: arguments of the request.
        on_event: called with each event of the request.

    Raises:
        AppError: error of the request; after Ctrl-C, CANCELLED with the test files that remain.
    """
    call = host.submit(verb, args, on_event)
    try:
        return call.result()
    except KeyboardInterrupt:
        _print_message("Cancelling…")
        call.cancel()
        try:
            _wait_for_cleanup(
                call, CANCEL_TIMEOUT_S if verb.partition(".")[0] in _MEASURING else _CLEANUP_WAIT_S
            )
        except TimeoutError:
            pass
        except AppError as error:
            if error.kind is ErrorKind.CANCELLED and error.remains:
                raise
        raise


def _wait_for_cleanup(call: Call, timeout_s: float) -> None:
    """Wait for the end of a cancelled request, and print the waiting time at intervals.

    Raises:
        AppError: error of the request.
        TimeoutError: if the request does not end within ``timeout_s`` seconds.
    """
    waited_s = 0.0
    while waited_s < timeout_s:
        step_s = min(_REPEAT_MESSAGE_S, timeout_s - waited_s)
        with contextlib.suppress(TimeoutError):
            call.result(step_s)
            return
        waited_s += step_s
        _print_message(f"Rolling back the unfinished change ({waited_s:.0f} s)…")
    raise TimeoutError


def _list(host: Host, args: argparse.Namespace) -> str:
    return run_list(lambda verb, query: ask(host, verb, query), host, args)


def _discover(host: Host, args: argparse.Namespace) -> str:
    if args.lab is not None and not args.server and not args.forget and not args.scan:
        args.server = _lab_share(host)
    result = run_discover(lambda verb, query, on_event: ask(host, verb, query, on_event), args)
    if args.json:
        return _json(result)
    if args.forget:
        return "Cleared the list of recently used servers."
    if args.scan:
        return servers_text(result, "No NFS server answers on these networks.")
    if not args.server:
        return servers_text(result)
    return probe_text(result) if args.probe else exports_text(result)


def _facts(host: Host, args: argparse.Namespace) -> str:
    target = args.where
    if not target and args.lab is not None:
        target = _lab_share(host)
    query = FactsArgs(mount_point=target) if target.startswith("/") else FactsArgs(share=target)
    result = ask(host, "facts.get", query)
    return _json(result) if args.json else facts_text(result)


def _advise(host: Host, args: argparse.Namespace) -> str:
    if args.lab is not None and not args.where:
        args.where = _lab_share(host)
    query = advise_query(args)
    result = ask(host, "advice.get", query)
    check_left_out(query, result)
    return _json(result) if args.json else advice_text(result)


def _mount(host: Host, args: argparse.Namespace) -> str:
    share = args.share or _lab_share(host)
    mount_point = args.mount_point or LAB_MOUNT_POINT
    query = MountArgs(share=share, mount_point=mount_point, options=args.options)
    print_missing_prerequisites(lambda verb, check: ask(host, verb, check), query)
    options = MountOptions.parse(args.options)
    if not args.json and all(
        problem.code == "unknown" for problem in check_options(options)
    ):  # other problems are errors that the request returns
        found = findings_before_writing(
            lint_mount(options, saved=False, share=share, mount_point=mount_point)
        )
        print_findings(one for one in found if not one.before_mount)  # the others are printed already
    result = mount_or_unmount(lambda verb, args_: ask(host, verb, args_), "mounts.mount", query, yes=args.yes)
    return _json(result) if args.json else report_text(result)


def _umount(host: Host, args: argparse.Namespace) -> str:
    mount_point = args.mount_point or LAB_MOUNT_POINT
    query = UnmountArgs(mount_point=mount_point, force=args.force, lazy=args.lazy)
    result = mount_or_unmount(
        lambda verb, args_: ask(host, verb, args_), "mounts.unmount", query, yes=args.yes
    )
    return _json(result) if args.json else f"Unmounted {mount_point}."


def _persist(host: Host, args: argparse.Namespace) -> str:
    result = run_persist(lambda verb, query: ask(host, verb, query), args)
    return _json(result) if args.json else fstab_text(result)


def _import_foreign(host: Host, args: argparse.Namespace) -> str:
    entry, result = run_import_mount(host, args)
    return _json(result) if args.json else import_mount_text(entry, result)


def _apply(host: Host, args: argparse.Namespace) -> str:
    result = run_apply(host, args)
    return _json(result) if args.json else apply_text(result)


def _tunables(host: Host, args: argparse.Namespace) -> str:
    result = ask(host, "tunables.get", tunables_query(args))
    return _json(result) if args.json else tunables_text(result)


def _export(host: Host, args: argparse.Namespace) -> str:
    return run_export_mounts(lambda verb, query: ask(host, verb, query), args)


def _log(host: Host, args: argparse.Namespace) -> str:
    result = ask(host, "mounts.log", log_query(args))
    return _json(result) if args.json else log_lines(result, args)


def _watch(host: Host, args: argparse.Namespace) -> str:
    if args.lab is None:
        return _watch_mount(host, args)
    args.mount_point = args.mount_point or LAB_MOUNT_POINT
    with lab_with_load(host, _lab_share(host), args.mount_point):
        return _watch_mount(host, args)


def _watch_mount(host: Host, args: argparse.Namespace) -> str:
    """Print a line for each sample until Ctrl-C, or --count lines; return ""."""
    text = WatchText(operations=args.operations)
    printed = 0
    call: Any = None

    def show(sample: StatsSample) -> None:
        nonlocal printed
        if args.count and printed == args.count:
            return
        printed += 1
        lines = [msgspec.json.encode(sample).decode()] if args.json else text.lines(sample)
        print("\n".join(lines), flush=True)
        if printed == args.count:
            call.cancel()

    call = host.submit("stats.watch", WatchArgs(mount_point=args.mount_point, interval_s=args.interval), show)
    try:
        call.result()
    except AppError as error:
        if error.kind is not ErrorKind.CANCELLED or not args.count:
            raise
    except KeyboardInterrupt:
        call.cancel()
        with contextlib.suppress(AppError, TimeoutError):
            call.result(_CLEANUP_WAIT_S)
    return ""


def _test(host: Host, args: argparse.Namespace) -> str:
    result = _run_test(host, args, args.path or _lab_share(host))
    saved = "" if args.no_history else save_test(result, quiet=args.json)
    return _json(result) if args.json else test_text(result) + saved


def _experiment(host: Host, args: argparse.Namespace) -> str:
    def lab_share() -> str:
        return _lab_share(host) if args.lab is not None else ""

    return run_experiments(lambda verb, query, on_event: ask(host, verb, query, on_event), args, lab_share)


def _run_test(host: Host, args: argparse.Namespace, target: str) -> Any:
    """Test a directory or an unmounted share; print the plan of a preset before."""
    spec = test_spec(args, target)
    plan = plan_query(args, target, lambda query: ask(host, "test.plan", query))
    if plan is not None:
        spec = plan.spec
        print(plan_text(plan), file=sys.stderr, flush=True)
    return ask(host, "test.run", spec, _progress(args))


def _progress(args: argparse.Namespace) -> Callable[[TestEvent], None] | None:
    """Return a handler that shows the progress of a test in one terminal line, None without a terminal."""
    if args.json or not sys.stderr.isatty():
        return None

    def show(event: TestEvent) -> None:
        done = format_size(event.sample.server_bytes) if event.sample else ""
        print(f"\r\x1b[K{event.direction}: {event.phase} {done}", end="", file=sys.stderr, flush=True)

    return show


def _lab_share(host: Host) -> str:
    hello: HelloResult = ask(host, "hello")
    return hello.share


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _print_message(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)


def _print_error(error: AppError) -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(f"mountwright: {error.message}", file=sys.stderr)
    for text in (*error.hint.splitlines(), leftover_files_text(error.remains)):
        if text:
            print(f"  {text}", file=sys.stderr)
    for line in error.detail.splitlines():
        print(f"  | {line}", file=sys.stderr)


_WITHOUT_HOST: dict[str, Callable[[argparse.Namespace], int]] = {
    "convert": run_convert,
    "lint": run_lint,
    "history": run_history,
}
_COMMANDS: dict[str, Callable[[Host, argparse.Namespace], str]] = {
    "list": _list,
    "discover": _discover,
    "facts": _facts,
    "advise": _advise,
    "mount": _mount,
    "umount": _umount,
    "persist": _persist,
    "forget": _persist,
    "apply": _apply,
    "import": _import_foreign,
    "test": _test,
    "experiment": _experiment,
    "watch": _watch,
    "log": _log,
    "export-mounts": _export,
    "import-mounts": run_import_mounts,
    "tunables": _tunables,
}
