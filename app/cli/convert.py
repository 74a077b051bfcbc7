"""Command "convert": parses a mount in any known dialect, and writes it in one or all dialects."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.dialects import (
    DIALECTS,
    Dialect,
    DialectError,
    DialectText,
    MountSpec,
    ParseResult,
    UnreadableMountError,
    read_any,
)
from advisor.dialects.linux import BSD_PROGRAM, LINUX_PROGRAMS, SUDO_PROGRAMS

if TYPE_CHECKING:
    import argparse

#: Longest text read from standard input, bytes.
_MAX_INPUT = 1 << 20
_FAILED = 1


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of convert; its text may contain dashes, so it includes all following words."""
    command.add_argument(
        "--to", choices=(*DIALECTS, "list"), metavar="DIALECT", help="only this format (“list” shows all)"
    )
    command.add_argument(
        "text",
        nargs="...",
        metavar="TEXT|-",
        help="a mount command, fstab line, systemd unit, autofs map, or a command of a BSD or macOS; "
        "- or nothing reads standard input",
    )


def take_trailing(args: argparse.Namespace) -> None:
    """Move --json and --to from the end of the text to the options: no mount ends with these words."""
    words: list[str] = args.text
    while words:
        if words[-1] == "--json":
            args.json = True
            words.pop()
        elif len(words) > 1 and words[-2] == "--to" and words[-1] in {*DIALECTS, "list"}:
            args.to = words.pop()
            words.pop()
        else:
            return


def run_convert(args: argparse.Namespace) -> int:
    """Print the mount in one dialect or in all, and lost options on standard error; return the exit code."""
    if args.to == "list":
        print("\n".join(f"{dialect.name:<18} {dialect.label}" for dialect in DIALECTS.values()))
        return 0
    try:
        reading = read_any(_text(args.text))
    except UnreadableMountError as error:
        _print_messages(str(error), [f"not {form}: {reason}" for form, reason in error.tried])
        return _FAILED
    chosen = [DIALECTS[args.to]] if args.to else list(DIALECTS.values())
    written: dict[str, DialectText] = {}
    refused: dict[str, str] = {}
    for dialect in chosen:
        try:
            written[dialect.name] = dialect.write(reading.entry)
        except DialectError as error:
            refused[dialect.name] = str(error)
    if args.json:
        print(_json(reading, written, refused))
    else:
        _print(reading, chosen, written, refused)
    return _FAILED if refused and not written else 0


def _text(words: list[str]) -> str:
    if not words or words == ["-"]:
        raw = sys.stdin.buffer.read(_MAX_INPUT)
        return raw.decode(errors="surrogateescape")
    if len(words) == 1:
        return words[0]
    # The shell has removed the quotes of a command; fields of fstab have none.
    program = words[0].rpartition("/")[2]
    is_command = program in LINUX_PROGRAMS | SUDO_PROGRAMS | {BSD_PROGRAM}
    return shlex.join(words) if is_command else " ".join(words)


def _print(
    reading: ParseResult, chosen: list[Dialect], written: dict[str, DialectText], refused: dict[str, str]
) -> None:
    _print_messages(f"Read as {reading.form}.", reading.untranslated)
    for dialect in chosen:
        output = written.get(dialect.name)
        if output is not None:
            heading = f"# {dialect.label}" + (f", {output.file_name}" if output.file_name else "")
            print(output.text.rstrip("\n") if len(chosen) == 1 else f"{heading}\n{output.text}")
        notes = [*output.untranslated, *output.problems] if output else [refused[dialect.name]]
        if notes:
            _print_messages(f"{dialect.label}:", notes)


def _print_messages(title: str, lines: list[str]) -> None:
    sys.stdout.flush()
    print(_printable(f"mountwright: {title}"), file=sys.stderr)
    for line in lines:
        print(_printable(f"  {line}"), file=sys.stderr)


def _printable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _json(reading: ParseResult, written: dict[str, DialectText], refused: dict[str, str]) -> str:
    value: dict[str, Any] = {
        "form": reading.form,
        **_entry(reading.entry),
        "untranslated": reading.untranslated,
        "written": written,
        "refused": refused,
    }
    return _printable(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def _entry(entry: MountSpec) -> dict[str, str]:
    return {
        "share": str(entry.share),
        "mount_point": entry.mount_point,
        "options": str(entry.options),
        "when": entry.when,
    }
