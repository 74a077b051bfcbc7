"""Mount commands, fstab lines and nfsmount.conf sections of Linux: parsing and printing.

The reader accepts pasted commands with a prompt, sudo, quoted words or a second command after them (mount(8),
and mount.nfs(8), whose options follow share and mount point). The grammar of fstab(5) is that of libmount
(libmount/src/tab_parse.c): blanks between fields, octal escapes within them. A section of nfsmount.conf(5)
has the options for one mount point.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from getopt import GetoptError, gnu_getopt

from advisor.dialects.entry import (
    DialectError,
    DialectText,
    MountSpec,
    ParseResult,
    WrongDialectError,
    control_character_problem,
    set_version_4,
    split_fstab_items,
)
from advisor.options import NO, YES, MountOptions, catalogue

COMMAND_FORM = "a mount command"

_SHORT_FLAGS = "t:o:rwvnsfimlFO:hV"
_LONG_FLAGS = (
    "types=", "options=", "read-only", "ro", "rw", "read-write", "verbose", "no-mtab", "fake", "mkdir",
    "source=", "target=", "internal-only", "onlyonce", "make-private", "make-shared", "test-opts=",
)  # fmt: skip
#: Flags of mount(8) to the equivalent options.
_FLAG_OPTIONS = {
    "-r": "ro", "--read-only": "ro", "--ro": "ro", "-w": "rw", "--rw": "rw", "--read-write": "rw",
    "-s": "sloppy", "-m": "X-mount.mkdir", "--mkdir": "X-mount.mkdir",
}  # fmt: skip
#: Flags that have no effect on the mount, only on output or on mtab; or that parse_flags handles.
_IGNORED_FLAGS = frozenset({"-v", "--verbose", "-n", "--no-mtab", "--source", "--target"})


def mount_command(share: str, mount_point: str, options: MountOptions) -> str:
    """Return the command line, quoted for a shell; mount(8) ignores options for fstab."""
    words = ["mount", "-t", "nfs"]
    if str(options):
        words += ["-o", str(options)]
    return shlex.join([*words, share, mount_point])


def write_command(entry: MountSpec) -> DialectText:
    """Return the entry as a mount command."""
    return DialectText(mount_command(str(entry.share), entry.mount_point, entry.options) + "\n")


def read_command(text: str) -> ParseResult:
    """Return the entry of a mount command, whose words may be in any order.

    Raises:
        DialectError: if the text is not a mount command, or is incomplete.
    """
    command = parse_command(text)
    if command.program not in LINUX_PROGRAMS:
        raise WrongDialectError("It begins with mount_nfs, not with mount.")
    items, fstype, untranslated, share, mount_point = read_mount_flags(command)
    options = MountOptions.parse(",".join(items))
    if fstype == "nfs4" or command.program == "mount.nfs4":
        set_version_4(options)
    return ParseResult(MountSpec.make(share, mount_point, options), COMMAND_FORM, untranslated)


def read_mount_flags(command: ShellCommand) -> tuple[list[str], str, list[str], str, str]:
    """Return option strings, file system type, sentences about ignored parts, share and mount point.

    Raises:
        DialectError: if the command is not a complete mount command for NFS.
    """
    flags, share, mount_point = parse_flags(command, _SHORT_FLAGS, _LONG_FLAGS)
    items: list[str] = []
    untranslated: list[str] = []
    fstype = "nfs"
    for flag, value in flags:
        if flag in {"-t", "--types"}:
            fstype = value
        elif flag in {"-o", "--options"}:
            items += [value] if value else []
        elif flag in _FLAG_OPTIONS:
            items.append(_FLAG_OPTIONS[flag])
        elif flag not in _IGNORED_FLAGS:
            untranslated.append(f"The flag {flag} {value}".rstrip() + " of mount is not an option.")
    if fstype not in {"nfs", "nfs4"}:
        raise DialectError(f"The file system type is “{fstype}”, not nfs.")
    if command.behind:
        untranslated.append(f"What stands behind the command was left out: {command.behind}")
    return items, fstype, untranslated, share, mount_point


LINUX_PROGRAMS = frozenset({"mount", "mount.nfs", "mount.nfs4"})
BSD_PROGRAM = "mount_nfs"
SUDO_PROGRAMS = frozenset({"sudo", "doas"})

_SHELL_PROMPT = re.compile(r"\s*(?:[\w.@:~/-]*[$#%>]\s+)?(?=(?:/\S*/)?(?:sudo|doas|mount[\w.]*)(?:\s|$))")
_SHELL_OPERATORS = ";&|<>()"


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One shell command.

    Attributes:
        program: name of the program without its directory.
        words: arguments of the program.
        behind: text after the command, for example a second command.
    """

    program: str
    words: list[str]
    behind: str


def parse_command(text: str) -> ShellCommand:
    """Return the first command of a text.

    Raises:
        WrongDialectError: if the command is not a mount program.
        DialectError: if a quotation mark is not closed.
    """
    line, rest = _first_command_line(text)
    try:
        words = _shell_words(line)
    except ValueError as error:
        raise DialectError("A quotation mark is not closed, or a backslash ends the line.") from error
    end = next((place for place, word in enumerate(words) if _ends_command(word)), len(words))
    behind = " ".join([*words[end:], rest]).strip()
    words = _without_sudo(words[:end])
    program = words[0].rpartition("/")[2] if words else ""
    if program not in LINUX_PROGRAMS | {BSD_PROGRAM}:
        raise WrongDialectError("It does not begin with mount, mount.nfs or mount_nfs.")
    return ShellCommand(program, words[1:], behind)


def parse_flags(
    command: ShellCommand, short: str, long: tuple[str, ...] = ()
) -> tuple[list[tuple[str, str]], str, str]:
    """Return the flags with their values, the share and the mount point.

    A remount may have only a mount point; the share is then "".

    Args:
        command: the command.
        short: one-letter flags for getopt.
        long: long flags for getopt.

    Raises:
        DialectError: if a flag is unknown, or the number of shares and mount points is wrong.
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
        listed = ", ".join(f"“{place}”" for place in places)
        raise DialectError(
            f"{command.program} needs one share and one mount point, not {len(places)} words"
            f"{': ' if places else ''}{listed}.{why}"
        )
    return flags, places[0], places[1]


def _first_command_line(text: str) -> tuple[str, str]:
    lines = text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines()
    for place, line in enumerate(lines):
        prompt = _SHELL_PROMPT.match(line)
        if prompt:
            return line[prompt.end() :], " ".join(part.strip() for part in lines[place + 1 :]).strip()
        if line.strip() and not line.lstrip().startswith("#"):
            break
    raise WrongDialectError("It does not begin with mount, mount.nfs or mount_nfs.")


def _shell_words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_SHELL_OPERATORS)
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _ends_command(word: str) -> bool:
    return word.startswith("#") or (word != "" and all(character in _SHELL_OPERATORS for character in word))


def _without_sudo(words: list[str]) -> list[str]:
    """Return the words after sudo or doas and its flags."""
    place = 0
    if words and words[0].rpartition("/")[2] in SUDO_PROGRAMS:
        place = 1
        while place < len(words) and words[place].startswith("-"):
            # -u and -g have an argument.
            place += 2 if words[place] in {"-u", "-g"} else 1
    return words[place:]


FSTAB_FORM = "an fstab line"
FSTAB_FILE = "/etc/fstab"

_OCTAL_ESCAPE = re.compile(rb"\\([0-7]{3})")
_BLANKS = re.compile(r"[ \t]+")
_FSTAB_ESCAPES = str.maketrans({c: f"\\{ord(c):03o}" for c in " \t\n\r\\#"})


def escape_field(field: str) -> str:
    """Return an fstab field with blanks, newlines, backslashes and number signs as octal escapes."""
    return field.translate(_FSTAB_ESCAPES)


def unescape_field(field: str) -> str:
    """Return an fstab field with octal escapes decoded; bytes that are not UTF-8 become surrogates."""
    raw = field.encode(errors="surrogateescape")
    raw = _OCTAL_ESCAPE.sub(lambda match: bytes([int(match[1], 8) & 0xFF]), raw)
    return raw.decode(errors="surrogateescape")


def write_fstab(entry: MountSpec) -> DialectText:
    """Return the entry as an fstab line."""
    fields = [str(entry.share), entry.mount_point, "nfs", str(entry.options) or "defaults"]
    return DialectText(" ".join([*map(escape_field, fields), "0", "0"]) + "\n", FSTAB_FILE)


def read_fstab(text: str) -> ParseResult:
    """Return the entry of the first NFS line of a text, ignoring comments and blank lines.

    Raises:
        DialectError: if the text has no NFS line, or the line is incomplete.
    """
    fields, untranslated = first_nfs_line(text)
    options = MountOptions.parse("" if fields[3] == "defaults" else fields[3])
    if fields[2] == "nfs4":
        set_version_4(options)
    return ParseResult(MountSpec.make(fields[0], fields[1], options), FSTAB_FORM, untranslated)


def first_nfs_line(text: str) -> tuple[list[str], list[str]]:
    """Return the first four fields of the first NFS line, and a sentence for every ignored part.

    Raises:
        DialectError: if the text has no NFS line, or a number field is invalid.
    """
    lines = [line.strip(" \t\r") for line in text.split("\n")]
    entries = [_BLANKS.split(line) for line in lines if line and not line.startswith("#")]
    found = [fields for fields in entries if len(fields) >= 3 and fields[2] in {"nfs", "nfs4"}]
    if not found:
        raise WrongDialectError("No line has nfs or nfs4 as its third field.")
    first = found[0]
    if any(not re.fullmatch(r"[+-]?[0-9]{1,10}", field) for field in first[4:6]):
        raise DialectError("The fifth or sixth field is not a number.")
    untranslated = [
        f"Another line was left out: {' '.join(fields)}" for fields in entries if fields is not first
    ]
    if any(int(field) for field in first[4:6]):
        untranslated.append(f"The numbers “{' '.join(first[4:6])}” for dump and fsck mean nothing for NFS.")
    if len(first) > 6:
        untranslated.append(f"What stands behind the sixth field was left out: {' '.join(first[6:])}")
    fields = [unescape_field(field) for field in [*first[:3], first[3] if len(first) > 3 else ""]]
    return fields, untranslated


NFSMOUNT_CONF_FILE = "/etc/nfsmount.conf"

_BAD_CONF_VALUE = re.compile(r'[#;"\s]')
_BAD_CONF_SECTION = re.compile(r'["\]#;]')
#: Options with a different name in nfsmount.conf(5).
_CONF_NAMES = {"bg": "Background", "fg": "Foreground", "sloppy": "Sloppy"}


def write_nfsmount_conf(entry: MountSpec) -> DialectText:
    """Return the entry's options as a section of nfsmount.conf for its mount point, without the share.

    Raises:
        DialectError: if the mount point has a character that the file cannot contain.
    """
    if _BAD_CONF_SECTION.search(entry.mount_point):
        raise DialectError('[ MountPoint ] cannot name a path with “"”, “]”, “#” or “;” in it.')
    items, outer = split_fstab_items(entry.options)
    untranslated = [f"“{item}” belongs in fstab, mount.nfs does not read it here." for item in outer]
    untranslated.append("The share and when to mount: the section only adds options to other entries.")
    problems = control_character_problem(",".join(items), "options")
    lines = [f'[ MountPoint "{entry.mount_point}" ]']
    for item in items:
        line = _conf_line(item)
        if _BAD_CONF_VALUE.search(line):
            untranslated.append(f"“{item}”: the file cannot hold a blank, a quote, “#” or “;” in a value.")
        else:
            lines.append(line)
    problems.append("Options on the command line and in fstab come before those of this file.")
    return DialectText("\n".join(lines) + "\n", NFSMOUNT_CONF_FILE, untranslated, problems)


def _conf_line(item: str) -> str:
    option, name, value = catalogue().read_item(item)
    if option is None or (item in option.all_words() and (option.words or value in {YES, NO})):
        key, equals, given = item.partition("=")
        if equals:
            return f"{key}={given}"
        if item.startswith("no"):
            return f"{item[2:]}=False"
        return f"{_CONF_NAMES.get(item, item)}=True"
    return f"{'nfsvers' if name == 'vers' else name}={value}"
