"""Verbs of the bench role: open a private test mount, run the caller's workers in it, close it.

The helper runs no program named by the caller as root. A worker is a program of the caller. It is executed
only after the child process has dropped its privileges irrevocably (:mod:`app.helper.drop_privileges`). It
has the caller's user, group and supplementary groups (real, effective and saved), resource limits and
niceness. It has no_new_privs, so no set-user-ID program can raise its privileges again. It has an empty
environment and no descriptors except its connection. A worker can do what the caller could do by starting
the same program, and in addition see one more mount. That mount has nosuid and nodev, and its options were
validated like those of every mount. The worker belongs to the process namespace of the mounts. When that
namespace ends, the kernel kills the worker and all its descendants.

The namespace serves one mount after another, together with its workers. It is ended after a failure, after a
missed deadline and after 12 hours. The next mount then gets a new namespace.

A worker communicates through a Unix socket on which the caller listens. It connects with the caller's
identity, so it reaches only sockets that the caller may reach.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import time
from typing import TYPE_CHECKING, cast

from app.helper import callers, mount_nfs, namespace_init, private_mount, readahead, unmounting, validate
from app.helper.errors import Refusal, printable
from app.helper.options import load

if TYPE_CHECKING:
    from app.helper.callers import Caller
    from app.helper.options import Catalogue
    from app.helper.session import Handler, Session

#: Longest path of a Unix socket, bytes without the final NUL (unix(7), sun_path).
_MAX_SOCKET = 107
#: Most arguments of a worker's command, and most characters of each.
_MAX_ARGUMENTS, _MAX_ARGUMENT = 64, 4096
#: Timeout for the answer of the namespace to "run" and "abort", s.
_RUN_S = 10.0
_SHARING = frozenset({"sharecache", "nosharecache"})
#: Timeout for closing an open mount when the helper ends, s.
_END_S = 20.0
#: Fraction of the time limit of "close" for unmounting; the rest is for ending the namespace.
_MOUNT_SHARE = 0.8
_MIN_DEADLINE_S = 0.2
#: Most superblocks of earlier test mounts that still exist. One persists while a program outside the
#: namespace holds a descriptor of it (unix(7), SCM_RIGHTS), or while the kernel waits for a dead server.
MAX_SUPERBLOCKS = 64
_VOLUMES = "/proc/fs/nfsfs/volumes"
_TOO_OLD = (
    f"A test mount lives for {namespace_init.MAX_AGE_S / 3600:.0f} hours at most; this one has been closed."
)


def handlers(caller: Caller) -> dict[str, Handler]:
    """Return the handlers of the role ``bench``, by verb, for one caller."""
    bench = BenchVerbs(caller)
    return {"open": bench.open, "run": bench.run, "abort": bench.abort, "close": bench.close}


class BenchVerbs:
    """Handlers of the bench verbs for one caller; at most one test mount is open at a time."""

    def __init__(self, caller: Caller, catalogue: Catalogue | None = None) -> None:
        self._caller = caller
        self._catalogue = catalogue
        self._namespace: private_mount.NamespaceChild | None = None
        self._began = self._opened = 0.0
        self._is_open = False
        self._devices: set[str] = set()
        # An open mount is closed on every normal exit. Forked children leave through os._exit and skip this.
        atexit.register(self.end)

    def open(self, args: dict[str, object], session: Session) -> dict[str, object]:
        """Mount ``share`` with ``options`` in a private namespace, with its own superblock.

        Returns:
            the values of :func:`app.helper.try_verbs.mount_once`, and: ``path``, the mount point in the
            namespace; ``joined``, whether the mount uses the connections of an earlier mount, whose nconnect
            then holds; ``mount_ms``, duration of mount.nfs; ``command``; ``notes``; ``fresh``, whether the
            namespace is new and so has no workers of an earlier mount.

        Raises:
            Refusal: if the mount fails; nothing is mounted then.
        """
        if self._is_open:
            raise Refusal("usage", "A test mount is open already.")
        share = validate.share(str(args["share"]))
        # A shared superblock would share its option values between this test and the user's own mounts.
        words = [word for word in cast("list[str]", args["options"]) if word not in _SHARING]
        options, notes = mount_nfs.build_options(self._catalogue or load(), [*words, "nosharecache"])
        read_ahead_kb = cast("int", args["read_ahead_kb"])
        if read_ahead_kb != -1:
            readahead.check("read_ahead_kb", read_ahead_kb, 0, readahead.MAX_READ_AHEAD_KB)
        deadline_s = mount_nfs.deadline_s(args["timeout_ms"])
        self._devices &= _nfs_superblocks()
        if len(self._devices) >= MAX_SUPERBLOCKS:
            raise Refusal("busy", f"{MAX_SUPERBLOCKS} earlier test mounts are still in use.")
        # -n: no entry in /run/mount/utab, which all mount namespaces share.
        argv = [*mount_nfs.command(share, callers.OWN_ROOT, options), "-n"]
        if self._namespace is not None and time.monotonic() - self._began > namespace_init.MAX_AGE_S:
            self._end_namespace()
        fresh = self._namespace is None
        if self._namespace is None:
            self._began = time.monotonic()
            self._namespace = private_mount.NamespaceChild(
                lambda line: namespace_init.serve_mounts(line, self._caller)
            )
        self._namespace.say({"open": argv, "deadline_s": deadline_s, "read_ahead_kb": read_ahead_kb})
        answer = None
        try:
            answer = self._namespace.hear(deadline_s, session)
        finally:
            if answer is None:
                self._end_namespace(private_mount.GRACE_S)
        if answer is None:
            raise Refusal("mount-failed", "The test mount broke off.", data={"exit_code": None})
        self._is_open = session.holds = True
        self._devices.add(str(answer["device"]))
        self._opened = time.monotonic()
        return {**answer, "path": callers.OWN_ROOT, "command": argv, "notes": notes, "fresh": fresh}

    def run(self, args: dict[str, object], _session: Session) -> dict[str, object]:
        """Start the program ``argv`` with the caller's identity, connected to ``socket``.

        The first connection is its standard input and output, the second its standard error.

        Raises:
            Refusal: code not-mounted without an open test mount; usage for a malformed argument;
                busy-helper if MAX_WORKERS run already; unavailable, with the reason as detail, if the program
                cannot be started.
        """
        argv, path = cast("list[str]", args["argv"]), str(args["socket"])
        unfit = any("\0" in word or len(word) > _MAX_ARGUMENT for word in argv)
        if not argv or len(argv) > _MAX_ARGUMENTS or not argv[0].startswith("/") or unfit:
            raise Refusal("usage", "The command is not one.")
        if not path.startswith("/") or not path.isprintable() or len(os.fsencode(path)) > _MAX_SOCKET:
            raise Refusal("usage", "The socket's path is not one.")
        answer = self._request({"run": argv, "socket": path})
        if answer["started"]:
            return {}
        if not answer["reason"]:
            raise Refusal(
                "busy-helper", f"{namespace_init.MAX_WORKERS} programs run for the test mount already."
            )
        reason = printable(str(answer["reason"]).encode())
        raise Refusal("unavailable", "The program of the test could not be started.", detail=reason)

    def abort(self, _args: dict[str, object], _session: Session) -> dict[str, object]:
        """Abort the requests that wait for the server (umount(2), MNT_FORCE); unsent data is lost.

        A killed worker ends only after all its written data has been sent. The kernel waits for that
        uninterruptibly; truncating or unlinking the file does not shorten the wait.

        Returns:
            ``ended``: whether umount2(2) returned in time.

        Raises:
            Refusal: code not-mounted without an open test mount.
        """
        return self._request({"abort": True})

    def close(self, args: dict[str, object], session: Session) -> dict[str, object]:
        """End the workers that use the mount, write back its data, and unmount it.

        A ``cancel`` does not interrupt it. It answers within ``timeout_ms``.

        Returns:
            ``sync_ms`` and ``unmount_ms``, durations of syncfs(2) and umount2(2), None if the call did not
            succeed in its part of the time; ``gone``, whether the mount has left the mount table;
            ``read_ahead_kb``, the readahead in use before the unmount.

        Raises:
            Refusal: code not-mounted without an open test mount; usage if ``timeout_ms`` is out of range.
        """
        deadline_s = mount_nfs.deadline_s(args["timeout_ms"])
        if self._namespace is None or not self._is_open:
            raise Refusal("not-mounted", "No test mount is open.")
        session.holds = False
        return self._close(deadline_s)

    def end(self) -> None:
        """Close the open test mount, if there is one, and end the namespace."""
        if self._is_open:
            self._close(_END_S)
        self._end_namespace(_END_S)

    def _request(self, message: dict[str, object]) -> dict[str, object]:
        """Return the answer of the namespace to a request about the open mount.

        ``cancel`` is not served meanwhile, because interrupting the namespace would close the mount.
        """
        if self._namespace is None or not self._is_open:
            raise Refusal("not-mounted", "No test mount is open.")
        self._namespace.say(message)
        answer = None
        try:
            answer = self._namespace.hear(_RUN_S, unmounting.NeverCancelled())
        finally:
            if answer is None:
                self._end_namespace()
        if answer is None:
            old = time.monotonic() - self._opened > namespace_init.MAX_AGE_S
            raise Refusal("not-mounted", _TOO_OLD if old else "The test mount is gone.")
        return answer

    def _close(self, deadline_s: float) -> dict[str, object]:
        namespace, self._is_open = self._namespace, False
        nothing = {"sync_ms": None, "unmount_ms": None, "read_ahead_kb": None}
        answer: dict[str, object] | None = None
        late = False
        end = time.monotonic() + deadline_s
        if namespace is not None:
            namespace.say({"close": deadline_s * _MOUNT_SHARE})
            try:
                answer = namespace.hear(deadline_s, unmounting.NeverCancelled(), 0.0)
            except Refusal:
                late = True
        # Without an answer the namespace has ended, and the kernel has dropped its mount.
        closing = {**nothing, "gone": not late, **(answer or {})}
        if closing["sync_ms"] is None or closing["unmount_ms"] is None or not closing["gone"]:
            self._end_namespace(max(_MIN_DEADLINE_S, end - time.monotonic()))
        return closing

    def _end_namespace(self, patience_s: float = _MIN_DEADLINE_S) -> None:
        namespace, self._namespace, self._is_open = self._namespace, None, False
        if namespace is not None:
            namespace.end(patience_s)


def _nfs_superblocks() -> set[str]:
    """Return the device of each NFS superblock in any mount namespace (/proc/fs/nfsfs/volumes).

    The kernel's list is in fs/nfs/client.c. It includes superblocks that are no longer mounted.
    """
    with contextlib.suppress(OSError), open(_VOLUMES, "rb") as file:  # noqa: PTH123
        return {line.split()[3].decode() for line in file.readlines()[1:]}
    return set()
