"""Prerequisites of Kerberos, TLS, RDMA and new mount options, as far as a user of this computer can know.

Nothing of a server and nothing on NFS is touched: /proc, /sys, /etc/krb5.keytab and modules.dep(5) are read.
A ticket cache may lie on a file system that hangs, so klist(1) looks at it, a child with a deadline. Which
options the running kernel knows, it says itself (:mod:`app.kernel.fsconfig`): a release says less, for
distributors bring options to older kernels of theirs.
"""

from __future__ import annotations

import os
import platform
import re
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from advisor.catalogue import Option, catalogue
from advisor.facts import PrerequisiteFacts
from app.kernel import mountinfo
from app.kernel.netlink import has_generic_family
from app.process import find_program, run
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYTAB = "etc/krb5.keytab"
_CONFIGURATIONS = ("etc/nfs.conf", "etc/nfs.conf.d/*.conf", "etc/krb5.conf", "etc/krb5.conf.d/*")
_NAMES_KEYTAB = re.compile(r"^\s*(keytab-file|default_keytab_name)\s*=", re.MULTILINE)
_MAX_KEYTAB = 1 << 20
#: Version 2 of the file format (MIT krb5, doc/formats/keytab_file_format.rst).
_KEYTAB_MARK = b"\x05\x02"
#: First parts of the principals that rpc.gssd(8) looks for; beside them HOST$.
_SERVICES = frozenset({"root", "nfs", "host"})
_KLIST_S = 1.0
#: Where a kernel's modules are; the second one is the lab's.
_MODULES = ("lib/modules/{release}", "usr/lib/uml/modules/{release}")
_LISTS = ("modules.dep", "modules.builtin")


def prerequisite_facts(root: str = "/") -> PrerequisiteFacts:
    """Return what is known; takes a second at most, the first time five on a very busy machine.

    Args:
        root: where proc, sys, etc and lib are.
    """
    release = platform.release()
    running = running_services(root)
    keytab, usable, keytab_source = read_keytab(root)
    ticket, ticket_source = _ticket()
    modules = {name: has_module(name, release, root) for name in ("rpcsec_gss_krb5", "tls", "rpcrdma")}
    handshake = has_generic_family("handshake")
    installed = {name: find_program(name) for name in ("rpc.gssd", "tlshd", "cachefilesd")}
    process_source = "names of the processes in /proc" if running is not None else "/proc hides other users"
    module_source = f"/sys/module, and modules.dep of {release}"
    return PrerequisiteFacts(
        kernel_options=newer_options(release),
        gss_module=modules["rpcsec_gss_krb5"],
        gssd_installed=installed["rpc.gssd"] is not None,
        gssd_running=None if running is None else "rpc.gssd" in running,
        pipefs=any(row.fstype == "rpc_pipefs" for row in mountinfo.read(root).rows),
        keytab=keytab,
        keytab_usable=usable,
        ticket=ticket,
        tls_kernel=_all_of([handshake, modules["tls"]]),
        tlshd_installed=installed["tlshd"] is not None,
        tlshd_running=None if running is None else "tlshd" in running,
        rdma_module=modules["rpcrdma"],
        rdma_device=_has_entries(Path(root, "sys/class/infiniband")),
        cachefilesd_installed=installed["cachefilesd"] is not None,
        cachefilesd_running=None if running is None else "cachefilesd" in running,
        sources={
            "kernel_options": "the kernel, by fsopen and fsconfig, for options newer than its release",
            "gss_module": module_source,
            "gssd_installed": installed["rpc.gssd"] or "not on the system path",
            "gssd_running": process_source,
            "pipefs": "mountinfo",
            "keytab": keytab_source,
            "keytab_usable": keytab_source,
            "ticket": ticket_source,
            "tls_kernel": f"generic netlink family “handshake”; {module_source}",
            "tlshd_installed": installed["tlshd"] or "not on the system path",
            "tlshd_running": process_source,
            "rdma_module": module_source,
            "rdma_device": "/sys/class/infiniband",
            "cachefilesd_installed": installed["cachefilesd"] or "not on the system path",
            "cachefilesd_running": process_source,
        },
    )


def _all_of(known: list[bool | None]) -> bool | None:
    """Return whether all are there; one that is not decides, one that is not known leaves it open."""
    return False if False in known else None if None in known else True


def _has_entries(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except OSError:
        return False


def running_services(root: str = "/") -> set[str] | None:
    """Return the names of the processes, None where those of others are hidden (hidepid of proc(5))."""
    names: set[str] = set()
    try:
        Path(root, "proc/1/comm").read_bytes()
        folders = [folder for folder in Path(root, "proc").iterdir() if folder.name.isdecimal()]
    except OSError:
        return None
    for folder in folders:
        with suppress(OSError):  # it has ended
            names.add((folder / "comm").read_text(errors="replace").strip())
    return names


def has_module(name: str, release: str, root: str = "/") -> bool | None:
    """Return whether the kernel has a module, loaded, built in or at hand; None if nothing tells."""
    if Path(root, "sys/module", name).is_dir():
        return True
    answer: bool | None = None
    for place in _MODULES:
        for listed in _LISTS:
            with suppress(OSError):
                text = Path(root, place.format(release=release), listed).read_text(errors="replace")
                if any(_module_of(line) == name for line in text.splitlines()):
                    return True
                answer = False
    return answer


def _module_of(line: str) -> str:
    """Return the module that a line of modules.dep or modules.builtin is about."""
    return line.partition(":")[0].rpartition("/")[2].partition(".ko")[0].replace("-", "_")


def read_keytab(root: str = "/") -> tuple[bool | None, bool | None, str]:
    """Return whether there is a keytab, whether rpc.gssd would take a key of it, and how that is known."""
    path = Path(root, KEYTAB)
    try:
        if path.stat().st_size <= len(_KEYTAB_MARK):
            return False, None, f"/{KEYTAB} is empty"
    except FileNotFoundError:
        other = _other_keytab(root)
        return (
            (None, None, f"{other} names another one") if other else (False, None, f"/{KEYTAB} is not there")
        )
    except OSError as error:
        return None, None, f"/{KEYTAB}: {error.strerror}"
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_KEYTAB)
    except OSError:
        return True, None, f"/{KEYTAB}; only root can read it"
    if not data.startswith(_KEYTAB_MARK):
        return True, None, f"/{KEYTAB} has a format that is not known here"
    usable = any(_is_usable(principal) for principal in principals(data))
    return True, usable, f"the principals in /{KEYTAB}"


def _other_keytab(root: str) -> str:
    """Return the file that names a keytab elsewhere, "" for none (nfs.conf(5), krb5.conf(5))."""
    for pattern in _CONFIGURATIONS:
        for path in sorted(Path(root).glob(pattern)):
            with suppress(OSError):
                if _NAMES_KEYTAB.search(path.read_text(errors="replace")):
                    return f"/{path.relative_to(root)}"
    return ""


def _is_usable(principal: list[str]) -> bool:
    if len(principal) == 1:
        return principal[0].endswith("$")
    return len(principal) == 2 and principal[0] in _SERVICES


def principals(data: bytes) -> Iterator[list[str]]:
    """Yield the parts of each principal of a keytab, without the realm; a damaged end is passed over."""
    place = len(_KEYTAB_MARK)
    with suppress(struct.error):
        while True:
            (size,) = struct.unpack_from(">i", data, place)
            place += 4
            if size == 0:
                return
            if size > 0:
                yield _principal(data[place : place + size])
            place += abs(size)  # a negative size is that of a hole


def _principal(entry: bytes) -> list[str]:
    (count,) = struct.unpack_from(">H", entry)
    parts: list[str] = []
    place = 2
    for _ in range(count + 1):  # the realm comes first
        (size,) = struct.unpack_from(">H", entry, place)
        parts.append(entry[place + 2 : place + 2 + size].decode(errors="replace"))
        place += 2 + size
    return parts[1:]


def _ticket() -> tuple[bool | None, str]:
    """Return whether the caller has a valid ticket, and how that is known."""
    if os.geteuid() == 0:
        return None, "root uses the keytab"
    program = find_program("klist")
    if program is None:
        return None, "klist is not installed"
    cache = {name: os.environ[name] for name in ("KRB5CCNAME", "KRB5_CONFIG") if name in os.environ}
    try:
        outcome = run([program, "-s"], timeout=_KLIST_S, env=cache)
    except OSError as error:
        return None, f"klist cannot be started: {error.strerror}"
    if outcome.timed_out:
        return None, "klist -s did not answer"
    return outcome.ok, "klist -s"


#: Python takes this long to start on a busy machine at most; the kernel answers at once, or loads its module.
_DEADLINE_S = 10.0
#: Options that the kernel takes as flags of mount(2), not as options of NFS.
_SCOPES = frozenset({"client", "superblock"})

_answers: dict[tuple[tuple[str, str], ...], dict[str, bool]] = {}


def newer_options(release: str) -> dict[str, bool]:
    """Return the options that came with a later kernel than this release, and whether the kernel has them.

    A value that is younger than its option stands for itself, as its word: softerr, rdirplus=force.

    What it does not tell is left out: where user namespaces are forbidden an ordinary user learns nothing. An
    answer is kept for the life of this process; where there was none, the next call asks again.

    Args:
        release: of the running kernel.
    """
    questions: dict[str, tuple[str, str]] = {}
    for option in catalogue():
        if option.scope not in _SCOPES:
            continue
        if option.newer_than(release):
            questions[option.name] = _query_of(option)
        for value in option.newer_values(release):
            word = option.word_for(value) or f"{option.name}={value}"
            name, _, text = word.partition("=")
            questions[word] = (name, text)
    if not questions:
        return {}
    known = _kernel_options(tuple(questions.values()))
    return {word: known[name] for word, (name, _) in questions.items() if name in known}


def _query_of(option: Option) -> tuple[str, str]:
    """Return the option's name and a value that it takes, "" for a flag."""
    if not option.takes_value:
        return option.name, ""
    return option.name, option.values[0] if option.values else "1"


def _kernel_options(questions: tuple[tuple[str, str], ...]) -> dict[str, bool]:
    if questions not in _answers:
        answer = _ask_kernel(questions)
        if answer is None:
            return {}
        _answers[questions] = answer
    return _answers[questions]


def _ask_kernel(questions: tuple[tuple[str, str], ...]) -> dict[str, bool] | None:
    """Return what a child learns of the kernel, {} if it may not ask; None if it does not end in time."""
    argv = [sys.executable, "-P", "-m", "app.kernel.fsconfig"]
    try:
        outcome = run(argv, timeout=_DEADLINE_S, input_data=msgspec.json.encode(questions))
        if outcome.timed_out:
            return None
        return from_json(outcome.stdout.encode(), dict[str, bool]) if outcome.ok else {}
    except (OSError, msgspec.DecodeError):
        return None
