"""Factors: options and test parameters that an experiment can vary, and the effect of their levels.

A factor is an option of the catalog, or one of the names below. The level "default" omits the option, so that
the kernel and the server decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.catalogue import YES
from advisor.options import ATTRIBUTE_TIMES, MountOptions, catalogue, check_options
from app.speedtest.model import TestSpec
from app.text.experiment import FactorNames
from app.text.units import format_size, parse_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.experiment.model import Experiment, WorkloadSpec

DEFAULT = "default"
#: Level of a flag that is set; the other level is "no".
YES_LEVEL = "yes"
TRANSFER_SIZE = "transfer_size"
READ_AHEAD = "read_ahead_kb"
CACHE_MODE = "cache_mode"
FILE_SIZE, BLOCK_SIZE, RECORD_SIZE = "file_size", "block_size", "record_size"
STREAMS, PATTERN = "streams", "pattern"

#: Factors of the test, as opposed to the mount.
TEST_FACTORS = frozenset({FILE_SIZE, BLOCK_SIZE, RECORD_SIZE, STREAMS, PATTERN})
_SIZE_FACTORS = frozenset({TRANSFER_SIZE, FILE_SIZE, BLOCK_SIZE, RECORD_SIZE})
_NUMBER_FACTORS = frozenset({READ_AHEAD, STREAMS})
_PATTERNS = ("sequential", "random")
#: Factors of published studies that a Linux client cannot vary, with the reason.
UNSUPPORTED_FACTORS = {
    "client_threads": "The Linux client has no threads of its own to set; its requests are asynchronous. The "
    "number of connections (nconnect) comes nearest.",
    "server_threads": "This is a setting of the server. Change it there (on Linux: rpc.nfsd, or threads= in "
    "/etc/nfs.conf), repeat the experiment, and compare the two in the history.",
}
#: Levels of published studies that Linux no longer supports, with the reason.
OBSOLETE_LEVELS = {
    ("vers", "2"): "NFS version 2 is gone: neither mount.nfs nor the Linux server speaks it any more.",
}
#: Unit symbols by kind of a time option.
_TIME_UNITS = {"sec": "s", "minutes": "min"}
LABELS = {
    TRANSFER_SIZE: "Read and write size", READ_AHEAD: "Readahead (KiB)", CACHE_MODE: "Attribute caching",
    FILE_SIZE: "File size", BLOCK_SIZE: "Block size", RECORD_SIZE: "Record size", STREAMS: "Files at once",
    PATTERN: "Order of the records", "client_threads": "Client threads", "server_threads": "Server threads",
}  # fmt: skip


class TrialMountSettings(NamedTuple):
    """Mount settings of one option set.

    Attributes:
        options: mount option string.
        read_ahead_kb: readahead to set after mounting, KiB; None for the kernel's default.
    """

    options: str
    read_ahead_kb: int | None


def factor_label(name: str) -> str:
    """Return a factor's name for display."""
    option = catalogue().find(name)
    return LABELS.get(name) or (option.label if option is not None else name)


def level_label(name: str, level: str) -> str:
    """Return a level for display: sizes and times with their units, others unchanged."""
    option = catalogue().find(name)
    kind = "size" if name in _SIZE_FACTORS else option.kind if option is not None else ""
    if not (level.isascii() and level.isdigit()):
        return level
    if kind == "size":
        return format_size(int(level))
    if kind == "decisec":
        return f"{int(level) / 10:g} s"
    return f"{level} {_TIME_UNITS[kind]}" if kind in _TIME_UNITS else level


#: Names for sentences next to tables with the same names.
DISPLAY_NAMES = FactorNames(factor=factor_label, level=level_label, between=": ")


def normalized_level(name: str, level: str) -> str:
    """Return a level in its normal form: sizes (such as 64k or 1M) in bytes.

    Raises:
        ValueError: if it is not a level of this factor; the message is for display.
    """
    if name in UNSUPPORTED_FACTORS or (name, level) in OBSOLETE_LEVELS:
        return level
    if name in _SIZE_FACTORS:
        return level if name == TRANSFER_SIZE and level == DEFAULT else _size_level(level)
    if name in _NUMBER_FACTORS:
        if not level.isascii() or not level.isdigit() or (name == STREAMS and not int(level)):
            raise ValueError(f"“{level}” is not a number.")
        return str(int(level))
    if name == PATTERN:
        if level not in _PATTERNS:
            raise ValueError(f"“{level}” is neither sequential nor random.")
        return level
    if name == CACHE_MODE:
        return _cache_mode_level(level)
    return _option_level(name, level)


def mount_settings(experiment: Experiment, levels: Mapping[str, str]) -> TrialMountSettings:
    """Return the mount settings of an option set.

    Raises:
        ValueError: if a level cannot be expressed as an option.
    """
    options = MountOptions.parse(experiment.options)
    read_ahead: int | None = None
    for name, level in levels.items():
        if name == READ_AHEAD:
            read_ahead = int(level)
        elif name == CACHE_MODE:
            if level != DEFAULT:
                options = MountOptions([*options, *MountOptions.parse(level)])
        elif name not in TEST_FACTORS:
            for option in ("rsize", "wsize") if name == TRANSFER_SIZE else (name,):
                if level == DEFAULT:
                    options.remove(option)
                else:
                    options.set(option, _option_value(option, level))
    return TrialMountSettings(str(options), read_ahead)


def options_of_factor(name: str, levels: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the mount options that the levels of a factor set; none for a factor of the test.

    Args:
        name: name of the factor.
        levels: levels of the factor; those of the attribute cache may contain any options.
    """
    if name in TEST_FACTORS or name == READ_AHEAD:
        return ()
    if name == TRANSFER_SIZE:
        return ("rsize", "wsize")
    if name == CACHE_MODE:
        written = (MountOptions.parse(level) for level in levels if level != DEFAULT)
        named = (option for options in written for option in options.values())
        return tuple(dict.fromkeys(["ac", "actimeo", *ATTRIBUTE_TIMES, *named]))
    return ("vers", "minorversion") if name == "vers" else (name,)


def trial_spec(work: WorkloadSpec, levels: Mapping[str, str]) -> TestSpec:
    """Return the test of a workload with these levels; its path is filled in after mounting."""
    spec = TestSpec(
        path="",
        direction=work.direction,
        size=work.size,
        block_size=work.block_size,
        workload=work.kind,
        count=work.count,
    )
    changes: dict[str, object] = {}
    if FILE_SIZE in levels:
        changes["size"] = int(levels[FILE_SIZE])
    for name in (BLOCK_SIZE, RECORD_SIZE):
        if name in levels:
            changes["block_size"] = int(levels[name])
    if STREAMS in levels:
        changes |= {"workload": "streams", "count": int(levels[STREAMS])}
    if PATTERN in levels:
        kind = changes.get("workload", work.kind)
        if levels[PATTERN] == "random":
            changes["workload"] = "random"
        elif kind == "random":
            changes["workload"] = "file"
    return msgspec.structs.replace(spec, **changes)


def conflicting_levels(levels: Mapping[str, str]) -> dict[str, str]:
    """Return the pair of levels that exclude each other, {} if there is none."""
    record, size = levels.get(RECORD_SIZE), levels.get(FILE_SIZE)
    if record is not None and size is not None and int(record) > int(size):
        return {RECORD_SIZE: record, FILE_SIZE: size}
    return {}


def _size_level(level: str) -> str:
    size = parse_size(level)
    if size < 512:
        raise ValueError(f"“{level}” is less than 512 bytes.")
    return str(size)


def _cache_mode_level(level: str) -> str:
    if level != DEFAULT:
        problems = check_options(MountOptions.parse(level))
        if problems:
            raise ValueError(problems[0].message)
    return level


def _option_level(name: str, level: str) -> str:
    option = catalogue().find(name)
    if option is None:
        known = ", ".join(sorted(TEST_FACTORS | {TRANSFER_SIZE, READ_AHEAD, CACHE_MODE}))
        raise ValueError(f"There is no factor “{name}”: it is neither a mount option nor one of {known}.")
    if option.scope == "fstab" or not option.helper:
        raise ValueError(f"“{name}” makes no difference to a test mount.")
    if level == DEFAULT:
        return level
    if option.kind == "size" and not level.isdigit():
        level = str(parse_size(level))
    if option.kind == "flag" and level == YES:
        level = YES_LEVEL
    options = MountOptions()
    options.set(name, _option_value(name, level))
    problems = check_options(options)
    if problems:
        raise ValueError(problems[0].message)
    return level


def _option_value(name: str, level: str) -> str:
    """Return the option value of a level; a set flag has an empty value, which the level spells "yes"."""
    option = catalogue().find(name)
    return YES if option is not None and option.kind == "flag" and level == YES_LEVEL else level
