"""Argument parser of the command line, its help texts, and checks of argument combinations."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, cast

from advisor.transfer_sizes import CP_CALL_SIZE
from app.cli.advise import add_arguments as add_advise
from app.cli.apply import add_arguments as add_apply
from app.cli.convert import add_arguments as add_convert
from app.cli.convert import take_trailing
from app.cli.discover import add_arguments as add_discover
from app.cli.experiment import add_arguments as add_experiment
from app.cli.history import add_arguments as add_history
from app.cli.import_mount import add_import_mount
from app.cli.lint import add_arguments as add_lint
from app.cli.list_mounts import add_arguments as add_list
from app.cli.log import add_arguments as add_log
from app.cli.mounts_file import add_export, add_import
from app.cli.persist import add_persist, add_remove
from app.cli.prompts import add_yes
from app.cli.shell import add_arguments as add_shell
from app.cli.test import is_share
from app.cli.tunables import add_arguments as add_tunables
from app.cli.watch import add_arguments as add_watch
from app.speedtest.model import ACCESS_PATTERNS, DEFAULT_SIZE, DEFAULT_SMALL_SIZE
from app.text.translate import gettext, mark
from app.text.units import format_size, parse_size
from app.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

_DESCRIPTION = mark("""Mount NFS shares, see which options are in use, and measure their speed.
Without a command it opens the window.""")

_EPILOG = """exit codes: 0 success, 1 failed or lint found an error, 2 wrong usage, 70 a bug,
            77 not authorized, 130 cancelled; of shell that of its command

examples:
  mountwright list
  mountwright mount -o vers=4.2,nconnect=4 nas01:/export/home /mnt/home
  mountwright test /mnt/home --size 256M
  mountwright --lab gigabit
  mountwright --lab rate=37mbit,delay=7ms,loss=0.2% test --size 16M --json
  mountwright --lab wan shell"""


def _size(text: str) -> int:
    try:
        value = parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if value < 1:
        raise argparse.ArgumentTypeError("the size must be at least one byte")
    return value


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(_size(word) for word in text.split(",")))


def _counts(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(_count(word) for word in text.split(",")))


def _patterns(text: str) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(text.split(",")))
    if not set(words) <= set(ACCESS_PATTERNS):
        raise argparse.ArgumentTypeError(f"“{text}” is not a list of {', '.join(ACCESS_PATTERNS)}")
    return words


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"“{text}” is not a number of seconds") from None


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"“{text}” is not a number of at least one")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; its namespace has ``command`` (None for the window), ``lab`` and ``json``."""
    parser = argparse.ArgumentParser(
        prog="mountwright",
        description=gettext(_DESCRIPTION),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mountwright {VERSION}")
    _add_lab(parser, default=None)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        text = gettext(text)
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        # --lab is also accepted after the command; SUPPRESS keeps a value given before it.
        _add_lab(command, default=argparse.SUPPRESS)
        if name != "shell":  # its output is that of the command in the guest
            command.add_argument("--json", action="store_true", help="print JSON")
        return command

    add_list(add("list", "list the NFS mounts, configured and active"))

    add_discover(add("discover", "find servers, or show what one exports and offers"))

    facts = add("facts", "show facts about the client, and about a share's link and server")
    facts.add_argument("where", nargs="?", default="", metavar="SHARE|MOUNTPOINT")

    add_advise(add("advise", "recommend options for a mount, with reasons"))

    add_tunables(add("tunables", "show kernel settings that affect NFS mounts (readahead, slot tables)"))

    add_watch(add("watch", "show live statistics of a mount, once a second"))

    add_log(add("log", "show the system log's lines about a mount and its server"))

    mount = add("mount", "mount a share and compare requested options with those in use")
    mount.add_argument("-o", dest="options", default="", metavar="OPTIONS", help="as for mount(8)")
    mount.add_argument("share", nargs="?", default="", metavar="SHARE", help="server:/export")
    mount.add_argument("mount_point", nargs="?", default="", metavar="MOUNTPOINT", help="absolute path")

    add_yes(mount)
    umount = add("umount", "unmount")
    umount.add_argument("mount_point", nargs="?", default="", metavar="MOUNTPOINT")
    umount.add_argument(
        "-f", "--force", action="store_true", help="abort requests that wait for the server (force)"
    )
    umount.add_argument("-l", "--lazy", action="store_true", help="detach now, finish when not in use (lazy)")

    add_yes(umount)
    add_apply(add("apply", "change a mount and where it is saved, with rollback on failure"))

    add_lint(add("lint", "look for mistakes and risks in an fstab or an option string"))

    add_persist(add("persist", "write a mount to /etc/fstab, or change its entry, after confirmation"))
    add_remove(
        add(
            "forget",
            "remove a mount and its saved readahead from /etc/fstab or systemd units, after confirmation",
        )
    )

    add_import_mount(
        add("import", "save a mount from another program's systemd unit or an autofs map, after confirmation")
    )

    _add_test(add("test", "copy to and from a directory and measure the speed"))

    add_experiment(
        add("experiment", "compare option sets: the five studies as recipes, or your own"),
        lambda action: _add_lab(action, default=argparse.SUPPRESS),
    )

    add_history(add("history", "list, compare, export and import saved tests"))

    add_export(add("export-mounts", "write all mounts to a file, to import them elsewhere"))
    add_import(add("import-mounts", "save the mounts of an exported file here, after confirmation"))

    add_convert(add("convert", "convert a mount command or configuration to other formats"))

    add_shell(add("shell", "run a command, or a shell, as root in the lab, with mountwright on its PATH"))
    return parser


def _add_test(test: argparse.ArgumentParser) -> None:
    test.add_argument(
        "path",
        nargs="?",
        default="",
        metavar="PATH|SHARE",
        help="a directory (NFS or local), or server:/export, which the test mounts privately",
    )
    test.add_argument("-o", dest="options", default="", metavar="OPTIONS", help="mount options of the share")
    test.add_argument(
        "--below",
        default="",
        metavar="DIRECTORY",
        help="directory of the share to test (default: its root)",
    )
    preset = test.add_mutually_exclusive_group()
    for name, text in (("quick", "about 15 seconds"), ("normal", "about a minute"),
                       ("thorough", "about four minutes")):  # fmt: skip
        preset.add_argument(
            f"--{name}",
            dest="preset",
            action="store_const",
            const=name,
            help=f"{text}: the size (or the number of small files) is chosen for the link and the free "
            "space, with enough repeats for a 95%% confidence interval (with --grid: cells and time)",
        )
    test.add_argument(
        "--repeats",
        type=_count,
        default=None,
        help="number of repeats (more than one start with a warm-up)",
    )
    test.add_argument(
        "--files",
        type=_count,
        default=None,
        metavar="N",
        help=f"copy N small files instead of one (of {format_size(DEFAULT_SMALL_SIZE)} each, or --size); "
        "also measures how fast files are created, looked up and removed",
    )
    test.add_argument(
        "--small-files",
        action="store_true",
        help="copy many small files (default: 1000, or as the preset)",
    )
    test.add_argument(
        "--own",
        default=None,
        metavar="FILE|FOLDER",
        help="copy this file or directory to the share and back, and compare every byte",
    )
    _add_grid(test)
    test.add_argument(
        "--size", type=_size, default=None, help=f"file size (default: {format_size(DEFAULT_SIZE)})"
    )
    test.add_argument(
        "--block-size",
        type=_size,
        default=CP_CALL_SIZE,
        help="bytes per read or write call (default: as cp on this mount)",
    )
    test.add_argument("--direction", choices=("both", "write", "read"), default="both")
    test.add_argument(
        "--cache",
        choices=("fadvise", "direct", "fresh-mount"),
        default="fadvise",
        help="how the read bypasses the client's cache (fresh-mount: only for a share)",
    )
    test.add_argument("--sync", action="store_true", help="write with O_SYNC")
    test.add_argument(
        "--network-alone",
        action="store_true",
        help="afterwards measure one TCP stream to the server and one from it, which tells the network from "
        "the server; needs iperf3 here, and “iperf3 -s” running on the server",
    )
    test.add_argument(
        "--server-memory",
        type=_size,
        default=None,
        metavar="SIZE",
        help="how much memory the server has: --quick, --normal and --thorough copy a file half as large "
        "again, so that a third or more of it comes from the server's disk",
    )
    test.add_argument("--no-history", action="store_true", help="do not save the result in the history")


def _add_grid(test: argparse.ArgumentParser) -> None:
    test.add_argument(
        "--grid",
        action="store_true",
        help="measure sequential and random reads and writes in a file of --size through fio: one grid "
        "cell for each pattern, record size, queue depth and number of jobs; --repeats measures it as often",
    )
    for name, read, text in (
        ("records", _sizes, "bytes per request (default: 4k,64k,1M)"),
        ("patterns", _patterns, f"access patterns of {', '.join(ACCESS_PATTERNS)} (default: all)"),
        ("depths", _counts, "queue depths: requests in flight (default: 1,16)"),
        ("jobs", _counts, "numbers of parallel jobs (default: 1)"),
    ):
        test.add_argument(f"--{name}", type=read, default=None, metavar="LIST", help=f"with --grid: {text}")
    test.add_argument(
        "--cell-seconds",
        type=_seconds,
        default=None,
        metavar="S",
        help="seconds per grid cell (default: 2, after a warm-up of a quarter of it)",
    )


def _add_lab(parser: argparse.ArgumentParser, *, default: str | None) -> None:
    parser.add_argument(
        "--lab",
        metavar="LINK",
        default=default,
        help="work in the lab, a real NFS client and server with this emulated link: "
        "a profile such as gigabit or wan, or rate=37mbit,delay=7ms,loss=0.2%%",
    )


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse and check the command line; exit with code 2 and a usage line if it is wrong."""
    parser = build_parser()
    translate_help(parser)
    args = parser.parse_args(argv)
    if args.command is not None:
        _check(parser, args)
    return args


def translate_help(parser: argparse.ArgumentParser) -> None:
    """Translate the help of all options and commands of a parser."""
    for action in parser._actions:
        if action.help and action.help != argparse.SUPPRESS:
            action.help = gettext(action.help)
        commands: Any = action.choices
        if isinstance(commands, dict):  # those of a subparser, by name
            for command in cast("dict[str, argparse.ArgumentParser]", commands).values():
                translate_help(command)


def _check(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    if args.command == "convert":
        take_trailing(args)
        if args.lab is not None:
            parser.error("convert works on text only: remove --lab")
    lab = args.lab is not None
    if args.command == "mount" and not lab and not (args.share and args.mount_point):
        parser.error("mount needs SHARE and MOUNTPOINT")
    if args.command == "history" and lab:
        parser.error("history reads saved tests: remove --lab")
    if args.command == "lint" and lab:
        parser.error("lint checks options without mounting anything: remove --lab")
    if args.command == "shell" and not lab:
        parser.error("shell needs --lab LINK before it: it runs commands in the lab's guest alone")
    if args.command == "umount" and not lab and not args.mount_point:
        parser.error("umount needs MOUNTPOINT")
    if args.command == "watch" and not args.mount_point and args.lab is None:
        parser.error("watch needs MOUNTPOINT (or --lab LINK)")
    if args.command == "test":
        _check_test(parser, args, lab=lab)


def _check_grid(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    names = ("records", "patterns", "depths", "jobs", "cell_seconds")
    given = [name for name in names if getattr(args, name)]
    if not args.grid:
        if given:
            parser.error(f"--{given[0].replace('_', '-')} is for --grid")
        return
    if args.own or args.files or args.small_files or args.sync:
        parser.error("--grid chooses what is measured: remove --own, --files and --sync")
    chosen = [name.replace("_", "-") for name in given if name != "patterns"]
    if args.preset and chosen:
        parser.error(f"--{args.preset} chooses the cells and their time: remove --{chosen[0]}")
    if args.direction != "both" or args.cache != "fadvise":
        parser.error("--grid takes the direction from --patterns and bypasses the cache")


def _check_test(parser: argparse.ArgumentParser, args: argparse.Namespace, *, lab: bool) -> None:
    small = args.files is not None or args.small_files
    if args.preset and (args.repeats or args.files or (args.size and not small)):
        parser.error(f"--{args.preset} chooses size and repeats: remove --size, --files and --repeats")
    if args.own and (small or args.size):
        parser.error("--own chooses what is copied: remove --size, --files and --small-files")
    if args.server_memory and not (args.preset and not (small or args.own or args.grid)):
        parser.error("--server-memory is for one file with --quick, --normal or --thorough; else give --size")
    _check_grid(parser, args)
    if not lab and not args.path:
        parser.error("test needs PATH or SHARE (or --lab LINK)")
    if args.path and not is_share(args.path):
        if args.options or args.below:
            parser.error("-o and --below are for a SHARE; test measures a path as it is mounted")
        if args.cache == "fresh-mount" and not lab:
            parser.error("--cache fresh-mount needs a SHARE: your own mounts are left as they are")
