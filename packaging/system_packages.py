"""System packages: the Debian packages of the program and its tests, by purpose, and their installation.

Standard library only, because it runs on the system's Python before the environments exist. The names are
those of Debian 13, Debian 12 and Ubuntu 24.04. ``a|b`` means either package: Ubuntu renamed some libraries
for 64-bit time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).absolute().parents[1]
#: Directory of packages that are unpacked instead of installed: installing nfs-kernel-server would start an
#: NFS server, autofs an automounter, and udev a daemon that containers do not need.
LAB_TOOLS = ROOT / ".cache" / "lab"
_SBIN = ":/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Purpose:
    """Group of packages that are needed for the same purpose.

    Attributes:
        why: purpose, as the end of the sentence "needed for …".
        packages: names of packages, ``a|b`` for alternatives.
        essential: whether the program cannot run without them.
        programs: programs to search for on a system without dpkg.
    """

    why: str
    packages: tuple[str, ...]
    essential: bool = True
    programs: tuple[str, ...] = ()


SETUP = Purpose("setting up the program's own Python environment", ("python3-venv", "ca-certificates"))
WINDOW = Purpose(
    "the window (the libraries of Qt, and a font)",
    tuple(
        """libegl1 libgl1 libopengl0 libglib2.0-0|libglib2.0-0t64 libfontconfig1 libdbus-1-3 libgssapi-krb5-2
        libxkbcommon0 libxkbcommon-x11-0 libx11-xcb1 libxcb-cursor0 libxcb-icccm4 libxcb-image0
        libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0 libxcb-xkb1 libwayland-client0
        libwayland-cursor0 libwayland-egl1 fonts-dejavu-core""".split()  # noqa: SIM905 - reads better
    ),
)


def _has_amx() -> bool:
    """Whether the processor has AMX; User-Mode Linux then needs a compiled library (app/lab/xstate.py)."""
    try:
        return " amx_tile " in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


NFS = Purpose("mounting NFS shares", ("nfs-common",), programs=("mount.nfs",))
RIGHTS = Purpose(
    "mounting as an ordinary user", ("pkexec|policykit-1",), essential=False, programs=("pkexec",)
)
_COMPILER = ("gcc",) if _has_amx() else ()
LAB = Purpose(
    "the lab (--lab)",
    ("user-mode-linux", "iproute2", "kmod", "rpcbind", "netbase", "libsqlite3-0", *_COMPILER),
    essential=False,
    programs=("linux.uml", "ip", "modprobe", "rpcbind", *(["cc"] if _COMPILER else [])),
)
TESTS = Purpose(
    "the tests",
    # polkitd, pkexec and dbus-daemon: the helper's tests run a polkit of their own.
    (
        "xvfb",
        "xauth",
        "fio",
        "iperf3",
        "dmsetup",
        "e2fsprogs",
        "desktop-file-utils",
        "appstream",
        "libxml2-utils",
        "mandoc",
        "polkitd|policykit-1",
        "pkexec|policykit-1",
        "dbus-daemon|dbus",
    ),
    programs=(
        "Xvfb",
        "fio",
        "iperf3",
        "dmsetup",
        "mke2fs",
        "desktop-file-validate",
        "appstreamcli",
        "xmllint",
        "mandoc",
    ),
)
TO_BUILD_DEB = Purpose("building a package", ("build-essential", "debhelper"))
TO_BUILD_RPM = Purpose("building a package for Fedora", ("rpm", "binutils"), programs=("rpmbuild", "readelf"))
TO_RUN = (SETUP, WINDOW, NFS, RIGHTS, LAB)
TO_TEST = (*TO_RUN, TESTS)


class SetupError(Exception):
    """Set-up error; its text is shown to the user."""


def say(text: str) -> None:
    """Print a message to standard error; standard output belongs to the program."""
    print(text, file=sys.stderr, flush=True)


def find(program: str) -> str | None:
    """Search for a program on PATH and in the sbin directories, which an ordinary user's PATH lacks."""
    return shutil.which(program, path=os.environ.get("PATH", os.defpath) + _SBIN)


def is_debian() -> bool:
    """Whether the system has dpkg and apt."""
    return find("dpkg-query") is not None and find("apt-get") is not None


def installed(names: list[str]) -> set[str]:
    """Return those of the packages that are installed, by dpkg-query."""
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n", *names],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[1] for line in lines if len(line) > 1 and line[0] == "ii"}


def missing(purposes: tuple[Purpose, ...]) -> dict[Purpose, list[str]]:
    """Return the packages that are not installed, by purpose; complete purposes are left out."""
    every = [name for purpose in purposes for entry in purpose.packages for name in entry.split("|")]
    there = installed(every)
    lacking = {
        purpose: [entry for entry in purpose.packages if not there.intersection(entry.split("|"))]
        for purpose in purposes
    }
    return {purpose: entries for purpose, entries in lacking.items() if entries}


def ensure(purposes: tuple[Purpose, ...]) -> bool:
    """Install missing packages; return whether all are installed afterwards.

    On a system without dpkg, missing programs are only reported.

    Raises:
        SetupError: if an essential package is missing and cannot be installed.
    """
    if not is_debian():
        return _look_for_programs(purposes)
    lacking = missing(purposes)
    if lacking:
        for purpose, entries in lacking.items():
            say(f"needed for {purpose.why}: {' '.join(map(_available, entries))}")
        _install_each(lacking)
        lacking = missing(purposes)
    complete = not lacking
    if LAB in purposes and LAB not in lacking:
        complete = _ensure_unpacked("nfs-kernel-server", "nfsdcld") and complete
        if TESTS in purposes:
            complete = _ensure_unpacked("autofs", "automount") and complete
            complete = _ensure_unpacked("udev", "udevadm") and complete
    return complete


def _install_each(lacking: dict[Purpose, list[str]]) -> None:
    """Install all packages at once; if that fails, the essential ones, then each other purpose separately."""
    become_root = _become_root(lacking)
    if become_root is None:
        return
    if not _known(lacking):
        say("reading the package lists (apt-get update)")
        _apt(become_root, "update")
    names: dict[Purpose, list[str]] = {}
    for purpose, entries in lacking.items():
        unknown = [entry for entry in entries if not any(map(_candidate, entry.split("|")))]
        if unknown and not purpose.essential:
            say(f"going on without {purpose.why}: this system has no package {' '.join(unknown)}")
        else:
            names[purpose] = [_available(entry) for entry in entries]
    if not names or _apt_install(become_root, [name for group in names.values() for name in group]):
        return
    essential = [name for purpose, group in names.items() if purpose.essential for name in group]
    if essential and not _apt_install(become_root, essential):
        raise SetupError("These packages could not be installed: " + " ".join(essential))
    for purpose, group in names.items():
        if not purpose.essential and not _apt_install(become_root, group):
            say(f"going on without {purpose.why}: {' '.join(group)} could not be installed")


def _become_root(lacking: dict[Purpose, list[str]]) -> list[str] | None:
    """Return the prefix of a command that is to run as root: empty for root, else sudo.

    Returns:
        the prefix; None if root's rights are not available and only optional packages are missing.

    Raises:
        SetupError: if root's rights are not available and an essential package is missing.
    """
    if os.geteuid() == 0:
        return []
    sudo = find("sudo")
    if sudo is not None:
        command = [sudo] if sys.stdin.isatty() else [sudo, "-n"]
        if (
            subprocess.run([*command, "-v"], check=False, capture_output=not sys.stdin.isatty()).returncode
            == 0
        ):
            return command
    names = " ".join(_available(entry) for entries in lacking.values() for entry in entries)
    line = f"  apt-get install --no-install-recommends {names}"
    if any(purpose.essential for purpose in lacking):
        raise SetupError(f"Packages are missing. Ask an administrator to run:\n{line}")
    say(f"going on without. An administrator can add them with:\n{line}")
    return None


def _known(lacking: dict[Purpose, list[str]]) -> bool:
    """Whether apt's package lists contain every package, or one of its alternatives."""
    return all(any(_candidate(name) for name in entry.split("|")) for es in lacking.values() for entry in es)


def _candidate(name: str) -> bool:
    done = subprocess.run(["apt-cache", "show", "--no-all-versions", name], check=False, capture_output=True)
    return done.returncode == 0 and bool(done.stdout)


def _available(entry: str) -> str:
    """Return the first alternative that apt's package lists contain, else the first."""
    names = entry.split("|")
    return next((name for name in names if len(names) > 1 and _candidate(name)), names[0])


def _apt(become_root: list[str], *arguments: str) -> bool:
    quiet = ["-q", "-o", "Dpkg::Use-Pty=0"]
    # apt's output goes to standard error. sudo drops environment variables, so env sets this one again.
    command = [*become_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *quiet, *arguments]
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode == 0


def _apt_install(become_root: list[str], names: list[str]) -> bool:
    say("installing: apt-get install --no-install-recommends " + " ".join(names))
    return _apt(become_root, "install", "--yes", "--no-install-recommends", *names)


def _look_for_programs(purposes: tuple[Purpose, ...]) -> bool:
    """On a system without dpkg, report missing programs; return whether all were found."""
    complete = True
    for purpose in purposes:
        lacking = [program for program in purpose.programs if find(program) is None]
        if lacking:
            complete = False
            say(
                f"not found, needed for {purpose.why}: {' '.join(lacking)} (your system's tools install them)"
            )
    return complete


def _ensure_unpacked(name: str, program: str) -> bool:
    """Download and unpack a package for the lab's guests, without installing it; return whether that worked.

    Args:
        name: name of the package.
        program: program of the package; nothing is done if it is found.
    """
    folder = LAB_TOOLS / name
    if find(program) or any((folder / place / program).exists() for place in ("usr/sbin", "usr/bin", "bin")):
        return True
    say(f"fetching {name} for the lab (unpacked into .cache/lab; it is not installed)")
    staging = LAB_TOOLS / "staging"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    try:
        # When root runs apt, the user _apt downloads, who needs access to the directory.
        staging.chmod(0o755)
        subprocess.run(
            ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", name],
            check=True, cwd=staging, stdout=sys.stderr, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        package = next(staging.glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", str(package), str(staging / "tree")], check=True)
        complete = _ensure_libraries(package)
        shutil.rmtree(folder, ignore_errors=True)
        (staging / "tree").rename(folder)
    except (subprocess.CalledProcessError, StopIteration) as error:
        say(f"going on without it in the lab: {name} could not be fetched ({error})")
        return False
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return complete


def _ensure_libraries(package: Path) -> bool:
    """Install the libraries that an unpacked package depends on."""
    depends = subprocess.run(
        ["dpkg-deb", "-f", str(package), "Depends"], check=True, capture_output=True, text=True
    ).stdout
    names = [entry.split("|")[0].split("(")[0].strip() for entry in depends.split(",")]
    libraries = tuple(name for name in names if name.startswith("lib"))
    lacking = missing((Purpose("the programs of the lab", libraries, essential=False),))
    if lacking:
        _install_each(lacking)
    return not missing(tuple(lacking))
