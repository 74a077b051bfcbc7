"""Command lines as people paste them: prompts, sudo, quoted words, a second command behind them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from getopt import GetoptError, gnu_getopt

from advisor.dialects.entry import DialectError, OtherFormError

LINUX_PROGRAMS = frozenset({"mount", "mount.nfs", "mount.nfs4"})
BSD_PROGRAM = "mount_nfs"
PREFIXES = frozenset({"sudo", "doas"})

_PROMPT = re.compile(r"\s*(?:[\w.@:~/-]*[$#%>]\s+)?(?=(?:/\S*/)?(?:sudo|doas|mount[\w.]*)(?:\s|$))")
_OPERATORS = ";&|<>()"


@dataclass(frozen=True, slots=True)
class Command:
    """One command: the program's name without its directory, its words, and what stood behind it."""

    program: str
    words: list[str]
    behind: str


def parse_command(text: str) -> Command:
    """Return the first command of the text.

    Raises:
        OtherFormError: if it does not begin with a mount program.
        DialectError: if a quotation mark is not closed.
    """
    line, rest = _first_line(text)
    try:
        words = _words(line)
    except ValueError as error:
        raise DialectError("A quotation mark is not closed, or a backslash ends the line.") from error
    end = next((place for place, word in enumerate(words) if _ends(word)), len(words))
    behind = " ".join([*words[end:], rest]).strip()
    words = _without_prefix(words[:end])
    program = words[0].rpartition("/")[2] if words else ""
    if program not in LINUX_PROGRAMS | {BSD_PROGRAM}:
        raise OtherFormError("It does not begin with mount, mount.nfs or mount_nfs.")
    return Command(program, words[1:], behind)


def parse_flags(
    command: Command, short: str, long: tuple[str, ...] = ()
) -> tuple[list[tuple[str, str]], str, str]:
    """Return the flags with their values, the share and the mount point.

    A remount may name the mount point alone; its share is "".

    Raises:
        DialectError: if a flag is not known, or if it is not exactly one share and one mount point.
    """
    try:
        flags, operands = gnu_getopt(command.words, short, list(long))
    except GetoptError as error:
        raise DialectError(f"{command.program}: {error.msg}.") from error
    sources = [value for flag, value in flags if flag == "--source"]
    targets = [value for flag, value in flags if flag == "--target"]
    places = [*sources, *operands, *targets]
    options = [value for flag, value in flags if flag in {"-o", "--options"}]
    if len(places) == 1 and any("remount" in value.split(",") for value in options):
        return flags, "", places[0]
    if len(places) != 2:
        split = next((value for value in options if value.endswith(",")), "")
        rest = f" “{places[0]}” is not read as one." if split and places else ""
        why = f" The options end with “{split}”: no blank can stand among them.{rest}" if split else ""
        raise DialectError(
            f"{command.program} needs one share and one mount point, not {len(places)} words.{why}"
        )
    return flags, places[0], places[1]


def _first_line(text: str) -> tuple[str, str]:
    lines = text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines()
    for place, line in enumerate(lines):
        prompt = _PROMPT.match(line)
        if prompt:
            return line[prompt.end() :], " ".join(part.strip() for part in lines[place + 1 :]).strip()
        if line.strip() and not line.lstrip().startswith("#"):
            break
    raise OtherFormError("It does not begin with mount, mount.nfs or mount_nfs.")


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _ends(word: str) -> bool:
    return word.startswith("#") or (word != "" and all(character in _OPERATORS for character in word))


def _without_prefix(words: list[str]) -> list[str]:
    """Leave out sudo or doas with its flags."""
    place = 0
    if words and words[0].rpartition("/")[2] in PREFIXES:
        place = 1
        while place < len(words) and words[place].startswith("-"):
            # -u USER and -g GROUP take a word.
            place += 2 if words[place] in {"-u", "-g"} else 1
    return words[place:]
