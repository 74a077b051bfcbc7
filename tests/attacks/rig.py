"""Test rig of the attacks: the installed helper with a real bus, polkitd and pkexec, in its own namespaces.

The rig has its own mount and process namespaces. In it /etc is a copy; /run, /var/lib, /dev and the
directories for mounts are new and empty; the rest of the root file system is read-only. An attack changes
nothing outside, and all its processes and mounts end with the rig. The callers are ordinary users. A polkit
rule answers in place of the administrator.

Some kernels have no NFS client. A rig with ``nfs`` replaces two parts: NFS_PROGRAM is a mount.nfs that
mounts a tmpfs, and NFS_TABLE patches the helper's mount table, so that a tmpfs with a source
“server:/export” counts as NFS. Nothing else of the helper is changed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import secrets
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helper_line import receive_lines

from app.helper.verbs import ACTIONS, role_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).absolute().parents[2]
HELPER = "/usr/libexec/mountwright/mountwright-helper"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
POLKITD = next((p for p in ("/usr/lib/polkit-1/polkitd", "/usr/libexec/polkitd") if Path(p).exists()), None)
_PROGRAMS = ("pkexec", "pkaction", "pkttyagent", "dbus-daemon", "setpriv", "unshare", "nsenter", "mount.nfs")
MISSING = [name for name in _PROGRAMS if shutil.which(name, path=PATH) is None]
MISSING += [] if POLKITD else ["polkitd"]

#: User id of the attacker.
NOBODY = 65534
#: User id of another ordinary user, with the same authorizations.
ANN = 60011
HOMES = {NOBODY: "/home/nobody", ANN: "/home/ann"}
#: Answer of the polkit rule by action: ordinary users may use the ordinary actions.
ORDINARY = {"mount": "YES", "persist": "YES", "bench": "YES", "tune": "YES", "apply": "YES"}
#: Answers of a polkit rule that permits all actions.
EVERYTHING = {**ORDINARY, "mount-system": "YES", "persist-system": "YES", "apply-system": "YES"}
#: Timeout of every wait, s; far longer than any expected event takes.
DEADLINE_S = 60.0

_RULES = """
polkit.addAdminRule(function(action, subject) { return ["unix-user:root"]; });
polkit.addRule(function(action, subject) {
    var answers = %s;
    return polkit.Result[answers[action.id] || "NO"];
});
"""

#: Name of a server that never answers: mount.nfs for it sleeps until it is killed.
SILENT = "silent.example"
NFS_PROGRAM = f"""#!/bin/sh
share=$1 point=$2 words=""
case $share in {SILENT}:*) exec sleep 600 ;; esac
for word in $(printf '%s' "$4" | tr , ' '); do
    case $word in
        ro|rw|exec|noexec|suid|nosuid|dev|nodev|symfollow|nosymfollow|noatime|relatime) words=$words,$word ;;
    esac
done
exec mount -n -t tmpfs -o "size=1m,mode=777$words" "$share" "$point"
"""
NFS_TABLE = """

# In place of NFS, which this kernel may not have.
_parse_as_it_is = parse


def parse(raw):
    return [
        row._replace(fstype="nfs4") if row.fstype == "tmpfs" and ":/" in row.source else row
        for row in _parse_as_it_is(raw)
    ]
"""

#: Shell script of PID 1 of the rig. It ends at the end of its input, and so do all processes of the rig.
_SETUP = """
set -eu
umask 022
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/dbus /run/rig/etc /run/rig/dev/pts /run/rig/dev/shm
cp -a /etc/. /run/rig/etc
printf '%s' "$USERS" >> /run/rig/etc/passwd
: > /run/rig/etc/fstab
rm -rf /run/rig/etc/systemd /run/rig/etc/polkit-1/rules.d /run/rig/etc/mountwright /run/rig/etc/udev
mkdir -p /run/rig/etc/systemd/system /run/rig/etc/polkit-1/rules.d /run/rig/etc/udev/rules.d
printf '%s' "$RULES" > /run/rig/etc/polkit-1/rules.d/10-rig.rules
mount -t tmpfs -o mode=755 tmpfs /usr/libexec
cp -r "$STAGE/usr/libexec/mountwright" /usr/libexec/
cp /usr/share/polkit-1/actions/org.freedesktop.policykit.policy "$STAGE/usr/share/polkit-1/actions/"
mount --bind "$STAGE/usr/share/polkit-1/actions" /usr/share/polkit-1/actions
if [ -n "$NFS_PROGRAM" ]; then
    printf '%s' "$NFS_PROGRAM" > /run/rig/mount.nfs
    chmod 755 /run/rig/mount.nfs
    mount --bind /run/rig/mount.nfs "$(readlink -f "$(command -v mount.nfs)")"
fi
for name in null zero full random urandom tty; do
    : > /run/rig/dev/$name
    mount --bind /dev/$name /run/rig/dev/$name
done
ln -s /proc/self/fd /run/rig/dev/fd
ln -s pts/ptmx /run/rig/dev/ptmx
mount --rbind /dev/pts /run/rig/dev/pts
mount -t tmpfs -o mode=1777 tmpfs /run/rig/dev/shm
mount --rbind /run/rig/dev /dev
mount --bind /run/rig/etc /etc
for place in $PLACES; do
    [ -d "$place" ] || continue
    mount -t tmpfs -o mode=755 tmpfs "$place"
done
mount -o remount,bind,ro /
if [ "$WHOLE" = yes ]; then
    mkdir -m 700 /root/.ssh
    mkdir /usr/local/bin /usr/local/sbin /usr/local/lib /usr/local/share
    chmod 700 /root
    chmod 1777 /tmp
fi
if [ "$BUS" = yes ]; then
    dbus-daemon --system --fork --nopidfile --nosyslog
    "$POLKITD" --no-debug >/dev/null 2>&1 </dev/null &
    n=0
    until pkaction --action-id org.mountwright.mount >/dev/null 2>&1; do
        n=$((n + 1)); [ $n -lt 100 ] || { echo "polkitd does not answer" >&2; exit 99; }; sleep 0.1
    done
fi
echo ready
read -r _ || :
"""
#: Directories that are new and empty in the rig; with ``whole`` also those that may have the test's Python.
_PLACES = ("/var/lib", "/mnt", "/media", "/srv")
_WHOLE_PLACES = (*_PLACES, "/home", "/opt", "/root", "/tmp", "/usr/local")


class NamespacesError(Exception):
    """The machine or container does not permit creating namespaces."""


@dataclass(frozen=True)
class Mount:
    """Row of the rig's mount table.

    Attributes:
        mount_id: id of the mount.
        point: mount point.
        options: options of the mount.
        source: source, such as server:/export.
    """

    mount_id: int
    point: str
    options: frozenset[str]
    source: str


class Rig:
    """Namespaces with the installed helper, a bus, polkitd and ordinary users; see the module docstring.

    Args:
        stage: empty directory for the helper; installed copies for all rigs are kept beside it.
        answers: answer of the polkit rule by action; "NO" for all other actions.
        nfs: whether tmpfs replaces NFS.
        bus: whether a bus and polkitd are started.
        whole: whether /home, /opt, /root, /tmp and /usr/local are new and empty, too. If the Python of the
            test is in one of them, it cannot be started in the rig then.
    """

    def __init__(
        self, stage: Path, *, answers: Mapping[str, str] = ORDINARY, nfs: bool = True, bus: bool = True,
        whole: bool = True,
    ) -> None:  # fmt: skip
        self.stage = stage
        self._children: list[subprocess.Popen[bytes]] = []
        self._sessions: list[Session] = []
        _install(stage, nfs=nfs)
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
             "--mount-proc", "sh", "-c", _SETUP],
            env={
                "PATH": PATH, "STAGE": str(stage), "POLKITD": str(POLKITD), "BUS": "yes" if bus else "no",
                "RULES": _RULES % json.dumps({f"org.mountwright.{k}": v for k, v in answers.items()}),
                "NFS_PROGRAM": NFS_PROGRAM if nfs else "", "WHOLE": "yes" if whole else "no",
                "PLACES": " ".join(_WHOLE_PLACES if whole else _PLACES),
                "USERS": f"ann:x:{ANN}:{ANN}::{HOMES[ANN]}:/bin/sh\n",
            },
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != b"ready\n":
            errors = self._holder.communicate(timeout=DEADLINE_S)[1].decode(errors="replace")
            if "unshare failed" in errors:
                raise NamespacesError(errors)
            raise AssertionError(f"the rig was not set up: {errors}")
        if whole:
            for uid, home in HOMES.items():
                self.make(home, uid=uid)

    def close(self) -> None:
        """End all sessions and all processes of the rig."""
        for session in self._sessions:
            session.hang_up()
        assert self._holder.stdin is not None
        self._holder.stdin.close()
        try:
            self._holder.wait(DEADLINE_S)
        finally:
            self._holder.kill()
            self._holder.wait()
            for pipe in (self._holder.stdout, self._holder.stderr):
                if pipe is not None:
                    pipe.close()
            for child in self._children:
                child.kill()
                child.wait()

    def path(self, path: str) -> Path:
        """Return the path by which this process reaches a file of the rig; links in it lead outside."""
        return Path(f"/proc/{self._holder.pid}/root{path}")

    def read(self, path: str) -> str:
        """Return the text of a file of the rig; bytes that are not UTF-8 become surrogates."""
        return self.path(path).read_bytes().decode(errors="surrogateescape")

    def write(self, path: str, text: str, *, uid: int = 0, mode: int = 0o644) -> None:
        """Write a file of the rig."""
        file = self.path(path)
        file.write_text(text)
        os.chown(file, uid, uid)
        file.chmod(mode)

    def fstab_sha256(self) -> str:
        """Return the SHA-256 of the rig's fstab, which a request to change it must contain."""
        return hashlib.sha256(self.path("/etc/fstab").read_bytes()).hexdigest()

    def units(self) -> dict[str, str]:
        """Return contents or link target of each file and link in /etc/systemd/system."""
        folder = self.path("/etc/systemd/system")
        return {
            str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_text()
            for path in sorted(folder.rglob("*"))
            if path.is_symlink() or path.is_file()
        }

    def udev_rules(self) -> dict[str, bytes]:
        """Return the contents of each file in /etc/udev/rules.d by name."""
        return {path.name: path.read_bytes() for path in self.path("/etc/udev/rules.d").iterdir()}

    def make(self, *paths: str, uid: int = 0, mode: int = 0o755) -> None:
        """Make directories of the rig, with what is missing above them for root."""
        for path in paths:
            folder = self.path(path)
            folder.mkdir(parents=True, exist_ok=True)
            os.chown(folder, uid, uid)
            folder.chmod(mode)

    def mounts(self) -> list[Mount]:
        """Return what stands in for NFS mounts in the rig, in the kernel's order."""
        found: list[Mount] = []
        for line in Path(f"/proc/{self._holder.pid}/mountinfo").read_text().splitlines():
            head, _, tail = line.partition(" - ")
            fields, rest = head.split(" "), tail.split(" ")
            if ":/" in rest[1]:
                options = frozenset(f"{fields[5]},{rest[2]}".split(","))
                found.append(Mount(int(fields[0]), _unescaped(fields[4]), options, _unescaped(rest[1])))
        return found

    def mounts_at(self, point: str) -> list[Mount]:
        """Return those at one path."""
        return [mount for mount in self.mounts() if mount.point == point]

    def processes(self) -> list[tuple[int, int, list[str]]]:
        """Return the processes of the rig: number as this process sees it, user, words of the command."""
        inside = Path(f"/proc/{self._holder.pid}/ns/pid_for_children").readlink()
        found: list[tuple[int, int, list[str]]] = []
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if folder.name.isdigit() and (folder / "ns/pid").readlink() == inside:
                    words = (folder / "cmdline").read_text(errors="replace").split("\0")
                    found.append((int(folder.name), folder.stat().st_uid, words))
        return found

    def mount_as_root(self, share: str, point: str, options: str = "nosuid,nodev") -> Mount:
        """Mount what stands in for an NFS share, as root does by hand."""
        if not self.path(point).is_dir():
            self.make(point)
        self.run("mount", "-n", "-t", "tmpfs", "-o", options, share, point)
        return self.mounts_at(point)[-1]

    def inside(self, words: Sequence[str], *, uid: int = 0, first: Sequence[str] = ()) -> list[str]:
        """Return the command that runs a command in the rig, as this user and as the child of a shell.

        Args:
            words: command to run.
            uid: user id to run it as.
            first: command prefix that is run as root before the user is changed.
        """
        become = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"] if uid else []
        # The shell stays as pkexec's parent: pkexec takes its parent as the caller, and refuses PID 1.
        shell = ["sh", "-c", '"$@"; exit $?', "sh"]
        number = self._holder.pid
        # nsenter(1) changes to the first root of the mount namespace. If the test runs in a chroot, the rig's
        # root is another one.
        root = f"/proc/{number}/root"
        return [
            "nsenter", f"--mount=/proc/{number}/ns/mnt", f"--pid=/proc/{number}/ns/pid_for_children",
            f"--root={root}", f"--wd={root}", "--", *first, *become, *shell, *words,
        ]  # fmt: skip

    def start(self, *words: str, uid: int = 0, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command in the rig as this user; the end of the rig kills it."""
        env = {"PATH": PATH, "HOME": HOMES.get(uid, "/"), **options.pop("env", {})}
        command = self.inside(words, uid=uid, first=options.pop("first", ()))
        child = subprocess.Popen(command, env=env, **options)
        self._children.append(child)
        return child

    def run(
        self, *words: str, uid: int = 0, check: bool = True, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the rig as this user, and return its result."""
        done = subprocess.run(
            self.inside(words, uid=uid), env={"PATH": PATH, "HOME": HOMES.get(uid, "/"), **(env or {})},
            check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_S, text=True,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{shlex.join(words)}: {done.stdout}{done.stderr}"
        return done

    def python(self, code: str, *words: str, uid: int = NOBODY) -> Any:
        """Run a program with the system's Python in the rig; return its output, decoded from JSON."""
        return json.loads(self.run("/usr/bin/python3", "-I", "-S", "-c", code, *words, uid=uid).stdout)

    def session(self, action: str, *more: str, uid: int = NOBODY, **options: Any) -> Session:
        """Start the helper through pkexec, as a user does.

        Args:
            action: first argument of the helper.
            more: further arguments.
            uid: user id of the caller.
            options: ``env``; ``before``, a command prefix of pkexec; ``first``, see inside; or options of
                Popen.
        """
        near, far = socket.socketpair()
        before: Sequence[str] = options.pop("before", ())
        with far:
            words = [*before, "pkexec", "--disable-internal-agent", HELPER, action, *more]
            child = self.start(
                *words, uid=uid, stdin=far, stdout=far, stderr=subprocess.PIPE, **options
            )  # fmt: skip
        session = Session(self, child, near, action)
        self._sessions.append(session)
        return session

    @contextlib.contextmanager
    def audit(self) -> Iterator[list[bytes]]:
        """Replace the log daemon within this context; the yielded list collects each message."""
        messages: list[bytes] = []
        end, ended = socket.socketpair()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log, end, ended:
            log.bind(str(self.path("/dev/log")))
            self.path("/dev/log").chmod(0o666)

            def listen() -> None:
                # A sender blocks when ten messages are queued, so they are read at once.
                while log in (ready := select.select([log, ended], [], [])[0]) or ended not in ready:
                    messages.append(log.recv(1 << 20))

            thread = threading.Thread(target=listen)
            thread.start()
            try:
                yield messages
            finally:
                end.send(b"end")
                thread.join()
                self.path("/dev/log").unlink()


class Session:
    """Client of a helper, with one socket to each role of the action.

    A request is sent to the role that serves its verb, an unknown verb to the first role. Answers are read
    from
    the role that got the last request.

    Attributes:
        process: process of nsenter, of which the helper is a descendant.
    """

    def __init__(self, rig: Rig, process: subprocess.Popen[bytes], start: socket.socket, action: str) -> None:
        self._rig = rig
        self.process = process
        self._start = start
        self._action = action
        self._lines: dict[str, socket.socket] = {}
        self._buffers: dict[str, bytes] = {}
        self._role = ""

    @property
    def _line(self) -> socket.socket:
        """Socket to the current role; if the helper has started no roles, the socket that announces them."""
        if not self._lines and self._start.fileno() >= 0:
            self._lines = receive_lines(self._start, self._action)
        self._role = self._role or next(iter(self._lines), "")
        return self._lines.get(self._role, self._start)

    def send(self, verb: str, args: Mapping[str, object] | None = None, role: str = "") -> str:
        """Send a request and return its id; the error of an ended helper is ignored."""
        number = secrets.token_hex(8)
        request = {"id": number, "verb": verb, "args": args or {}}
        roles = ACTIONS.get(self._action, ("",))
        self._role = role or (role_of(self._action, verb) if self._action in ACTIONS else "") or roles[0]
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._line.sendall(json.dumps(request).encode() + b"\n")
        return number

    def send_plan(self, requests: Sequence[Mapping[str, object]]) -> None:
        """Send a plan to each role of the action, and wait for the answers."""
        for role in ACTIONS[self._action]:
            self.answer_to(self.send("plan", {"requests": requests}, role))

    def send_bytes(self, data: bytes) -> None:
        """Send raw bytes to the current role."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._line.sendall(data)

    def send_without_waiting(self, data: bytes) -> None:
        """Send bytes until the socket accepts none for a second, without reading answers."""
        self._line.settimeout(1.0)
        with contextlib.suppress(OSError):
            self._line.sendall(data)
        self._line.settimeout(None)

    def receive(self, timeout_s: float = DEADLINE_S) -> dict[str, Any] | None:
        """Return the next line as a JSON object, None at the end of the input.

        Raises:
            TimeoutError: if neither arrives within the timeout.
        """
        end = time.monotonic() + timeout_s
        source, buffer = self._line, self._buffers.get(self._role, b"")
        while b"\n" not in buffer:
            if not _readable(source.fileno(), end - time.monotonic()):
                raise TimeoutError
            try:
                chunk = source.recv(1 << 16)
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                return None
            buffer += chunk
        line, _, self._buffers[self._role] = buffer.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def answer_to(self, number: str, timeout_s: float = DEADLINE_S) -> dict[str, Any] | None:
        """Return the answer to the request with this id, None if the helper ends first."""
        while (answer := self.receive(timeout_s)) is not None:
            # The answer to a malformed or overlong line has no id.
            if answer.get("id") in {number, None} and "event" not in answer:
                return answer
        return None

    def ask(self, verb: str, timeout_s: float = DEADLINE_S, /, **args: object) -> dict[str, Any]:
        """Send a request and return its result, or its error ``{"code", "message", …}``.

        Raises:
            AssertionError: if the helper ends instead; the message has its exit status and errors.
        """
        answer = self.answer_to(self.send(verb, args), timeout_s)
        assert answer is not None, f"the helper ended: {self.end()!r}"
        found: dict[str, Any] = answer["ok"] if "ok" in answer else answer["error"]
        return found

    def try_asking(self, verb: str, /, **args: object) -> dict[str, Any] | None:
        """Send a request and return its result or error, None if the helper ends instead."""
        answer = self.answer_to(self.send(verb, args))
        return None if answer is None else answer.get("ok", answer.get("error"))

    def mount(self, share: str, target: str, *words: str, create: bool = True, timeout_ms: int = 5000) -> Any:
        """Send the request ``mount``; return its result or error."""
        return self.ask(
            "mount", share=share, target=target, options=list(words), create=create, timeout_ms=timeout_ms
        )

    def unmount(self, target: str, **flags: bool) -> Any:
        """Send the request ``unmount`` with ``force`` or ``lazy``; return its result or error."""
        return self.ask("unmount", target=target, timeout_ms=5000, **flags)

    def remount(self, target: str, *words: str) -> Any:
        """Send the request ``remount`` with these options; return its result or error."""
        return self.ask("remount", target=target, options=list(words), timeout_ms=5000)

    def add(self, share: str, target: str, *words: str, fstype: str = "nfs") -> Any:
        """Send the request ``add`` with the checksum of the current fstab; return its result or error."""
        return self.ask("add", **self._entry(share, target, words, fstype))

    def change(self, old: tuple[str, str], share: str, target: str, *words: str) -> Any:
        """Send the request ``change`` for the entry of share and mount point ``old``; return its answer."""
        entry = self._entry(share, target, words, "nfs")
        return self.ask("change", old_share=old[0], old_target=old[1], **entry)

    def write_unit(
        self, share: str, target: str, *words: str, automount: bool = True, sha256: str = ""
    ) -> Any:
        """Send the request ``unit-write``; return its result or error."""
        return self.ask(
            "unit-write", share=share, target=target, options=list(words), automount=automount, sha256=sha256
        )

    def _entry(self, share: str, target: str, words: Sequence[str], fstype: str) -> dict[str, object]:
        return {
            "share": share, "target": target, "fstype": fstype, "options": list(words),
            "sha256": self._rig.fstab_sha256(),
        }  # fmt: skip

    def hello(self) -> Session:
        """Wait until the helper answers ``hello``; return the session."""
        assert "role" in self.ask("hello")
        return self

    @property
    def helpers(self) -> list[int]:
        """Process ids of the helper's first process and of its roles, in the test's process namespace."""
        found = _descendants(self.process.pid)
        helpers: list[int] = []
        for pid in found:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"python" in words[0] and words[2:3] == [HELPER.encode()]:  # with its flags between
                helpers.append(pid)
        assert helpers, f"no helper among {found}"
        return helpers

    @property
    def helper(self) -> int:
        """Process id of the first role."""
        return self.helpers[1]

    def hang_up(self) -> None:
        """Close all sockets of the session."""
        for line in (self._start, *self._lines.values()):
            line.close()
        if self.process.stderr is not None:
            self.process.stderr.close()

    def end_input(self) -> None:
        """Close the sending direction of all sockets; answers can still be read."""
        _ = self._line
        for line in (self._start, *self._lines.values()):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_WR)

    def end(self, timeout_s: float = DEADLINE_S) -> tuple[int, str]:
        """End the input and wait for the helper to end; return its exit status and standard error."""
        self.end_input()
        errors = self.process.communicate(timeout=timeout_s)[1]
        for line in (self._start, *self._lines.values()):
            line.close()
        return self.process.returncode, errors.decode(errors="backslashreplace")


def _install(stage: Path, *, nfs: bool) -> None:
    """Copy the installed helper to the stage: the installer runs once for all rigs of a run."""
    shutil.copytree(_installed(stage.parent, nfs=nfs), stage, symlinks=True, dirs_exist_ok=True)
    stage.chmod(0o755)


@functools.cache
def _installed(folder: Path, *, nfs: bool) -> Path:
    """Install the helper in a new directory below this one, and return the directory."""
    prefix = Path(tempfile.mkdtemp(prefix="helper-", dir=folder))
    subprocess.run(
        [sys.executable, str(ROOT / "packaging" / "install_helper.py"), "--prefix", str(prefix)],
        check=True,
        capture_output=True,
    )
    if nfs:
        with (prefix / "usr/libexec/mountwright/app/helper/mountinfo.py").open("a") as file:
            file.write(NFS_TABLE)
    return prefix


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *_descendants(int(child))]
    return found


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), field)


def gone(pid: int, timeout_s: float) -> bool:
    """Whether a process ends within the timeout, s; a zombie counts as ended."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return _readable(watched, timeout_s)
    finally:
        os.close(watched)


def _readable(fd: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0.0, timeout_s) * 1000))


def end(pid: int) -> None:
    """Kill a process; ignore that it may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
