"""Prerequisites of Kerberos, TLS, RDMA and new mount options, as far as an ordinary user can check them.

They are read from /proc, /sys, /etc/krb5.keytab and modules.dep(5), without accessing a server or a mount. A
ticket cache may be on a file system that hangs, so klist(1) reads it in a child process with a deadline. The
running kernel itself reports the options it supports (:mod:`app.kernel.fsconfig`), because distributors
backport options to older releases.
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
#: First bytes of a keytab, format version 2 (MIT krb5, doc/formats/keytab_file_format.rst).
_KEYTAB_MARK = b"\x05\x02"
#: First components of the principals that rpc.gssd(8) searches for, in addition to HOST$.
_SERVICES = frozenset({"root", "nfs", "host"})
#: Timeout of klist, s.
_KLIST_S = 1.0
#: Module directories of a kernel release; the second one is used in the lab.
_MODULES = ("lib/modules/{release}", "usr/lib/uml/modules/{release}")
_LISTS = ("modules.dep", "modules.builtin")


def prerequisite_facts(root: str = "/") -> PrerequisiteFacts:
    """Gather the prerequisites; takes at most 1 s, the first time up to 5 s on a very busy computer.

    Args:
        root: directory that contains proc, sys, etc and lib.
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
    """Return the three-valued conjunction: False if any value is False, else None if any is None."""
    return False if False in known else None if None in known else True


def _has_entries(directory: Path) -> bool:
    try:
        return any(directory.iterdir())
    except OSError:
        return False


def running_services(root: str = "/") -> set[str] | None:
    """Return the names of all processes, None if other users' processes are hidden (hidepid, proc(5))."""
    names: set[str] = set()
    try:
        Path(root, "proc/1/comm").read_bytes()
        directories = [directory for directory in Path(root, "proc").iterdir() if directory.name.isdecimal()]
    except OSError:
        return None
    for directory in directories:
        with suppress(OSError):  # the process has ended
            names.add((directory / "comm").read_text(errors="replace").strip())
    return names


def has_module(name: str, release: str, root: str = "/") -> bool | None:
    """Return whether a kernel module is loaded, built in or installed; None if the lists are missing.

    Args:
        name: module name, with underscores.
        release: kernel release.
        root: directory that contains sys and lib.
    """
    if Path(root, "sys/module", name).is_dir():
        return True
    answer: bool | None = None
    for module_directory in _MODULES:
        for list_name in _LISTS:
            with suppress(OSError):
                path = Path(root, module_directory.format(release=release), list_name)
                text = path.read_text(errors="replace")
                if any(_module_of(line) == name for line in text.splitlines()):
                    return True
                answer = False
    return answer


def _module_of(line: str) -> str:
    """Return the module name in a line of modules.dep or modules.builtin."""
    return line.partition(":")[0].rpartition("/")[2].partition(".ko")[0].replace("-", "_")


def read_keytab(root: str = "/") -> tuple[bool | None, bool | None, str]:
    """Return whether a keytab exists, whether rpc.gssd can use one of its keys, and the source.

    The first two are None if unknown.
    """
    path = Path(root, KEYTAB)
    try:
        if path.stat().st_size <= len(_KEYTAB_MARK):
            return False, None, f"/{KEYTAB} is empty"
    except FileNotFoundError:
        other = _file_naming_keytab(root)
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


def _file_naming_keytab(root: str) -> str:
    """Return the configuration file that sets another keytab, "" if none (nfs.conf(5), krb5.conf(5))."""
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
    """Yield the components of each principal in a keytab, without the realm; ignore a truncated end."""
    offset = len(_KEYTAB_MARK)
    with suppress(struct.error):
        while True:
            (size,) = struct.unpack_from(">i", data, offset)
            offset += 4
            if size == 0:
                return
            if size > 0:
                yield _principal(data[offset : offset + size])
            offset += abs(size)  # a negative size marks a deleted entry


def _principal(entry: bytes) -> list[str]:
    (count,) = struct.unpack_from(">H", entry)
    parts: list[str] = []
    offset = 2
    for _ in range(count + 1):  # the realm comes first
        (size,) = struct.unpack_from(">H", entry, offset)
        parts.append(entry[offset + 2 : offset + 2 + size].decode(errors="replace"))
        offset += 2 + size
    return parts[1:]


def _ticket() -> tuple[bool | None, str]:
    """Return whether the user has a valid Kerberos ticket (None if unknown), and the source."""
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


#: Deadline of the child process, s; Python may start slowly, and the kernel may load a module.
_DEADLINE_S = 10.0
#: Scopes of the options that the kernel's NFS client parses.
_SCOPES = frozenset({"client", "superblock"})

_answers: dict[tuple[tuple[str, str], ...], dict[str, bool]] = {}


def newer_options(release: str) -> dict[str, bool]:
    """Return whether the kernel supports each option that is newer than its release.

    A value that is newer than its option has its own key, as in an option string: softerr, rdirplus=force.
    Options that the kernel does not report are left out; without user namespaces an ordinary user gets no
    report. Results are cached for the life of this process; a timeout is not.

    Args:
        release: release of the running kernel.
    """
    queries: dict[str, tuple[str, str]] = {}
    for option in catalogue():
        if option.scope not in _SCOPES:
            continue
        if option.newer_than(release):
            queries[option.name] = _query_of(option)
        for value in option.newer_values(release):
            key = option.word_for(value) or f"{option.name}={value}"
            name, _, text = key.partition("=")
            queries[key] = (name, text)
    if not queries:
        return {}
    known = _kernel_options(tuple(queries.values()))
    return {key: known[name] for key, (name, _) in queries.items() if name in known}


def _query_of(option: Option) -> tuple[str, str]:
    """Return the option's name and one valid value, "" for a flag."""
    if not option.takes_value:
        return option.name, ""
    return option.name, option.values[0] if option.values else "1"


def _kernel_options(queries: tuple[tuple[str, str], ...]) -> dict[str, bool]:
    if queries not in _answers:
        answer = _query_kernel(queries)
        if answer is None:
            return {}
        _answers[queries] = answer
    return _answers[queries]


def _query_kernel(queries: tuple[tuple[str, str], ...]) -> dict[str, bool] | None:
    """Query the kernel in a child process; return {} if that is not permitted, None after a timeout."""
    argv = [sys.executable, "-P", "-m", "app.kernel.fsconfig"]
    try:
        outcome = run(argv, timeout=_DEADLINE_S, input_data=msgspec.json.encode(queries))
        if outcome.timed_out:
            return None
        return from_json(outcome.stdout.encode(), dict[str, bool]) if outcome.ok else {}
    except (OSError, msgspec.DecodeError):
        return None
