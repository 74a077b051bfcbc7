"""The verbs of the bench role: open a private test mount, run the caller's workers in it, close it.

"The helper runs no program that the caller names" holds for root. A worker is the caller's own program, and
it is executed only after the child has become the caller for good: with the caller's user, group and
supplementary groups (all of real, effective and saved), resource limits and niceness, with no_new_privs (no
set-user-id program raises it again), an empty environment and no descriptor but its connection. It can do
nothing that the caller could not do by starting the same program, save see one mount more; that mount has
nosuid and nodev, and the helper validated it like any other. It lives in the process namespace of the mounts,
so that it ends with that at the latest, whatever it forked.

That namespace serves one mount after the other, and its workers with it, for as long as all goes well: after
whatever failed or was late, or half a day, it is ended with all that is in it; the next mount has another.

It talks through a Unix socket on which the caller listens. The worker connects after it has become the
caller: a socket that the caller may not reach is not reached.
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

#: Longest path of a Unix socket (unix(7)), its end not counted.
_MAX_SOCKET = 107
_MAX_ARGUMENTS, _MAX_ARGUMENT = 64, 4096
#: A fork in the namespace.
_RUN_S = 10.0
_SHARING = frozenset({"sharecache", "nosharecache"})
#: For clearing up when the helper is to end.
_END_S = 20.0
#: Of the time to close: for what is done in the namespace. The rest is for the namespace to end.
_MOUNT_SHARE = 0.8
_MIN_DEADLINE_S = 0.2
#: Superblocks of earlier test mounts that still live: a program of the caller's may have handed a descriptor
#: out of the namespace (unix(7), SCM_RIGHTS), or the kernel waits for a dead server.
MAX_SUPERBLOCKS = 64
_VOLUMES = "/proc/fs/nfsfs/volumes"
_TOO_OLD = (
    f"A test mount lives for {namespace_init.MAX_AGE_S / 3600:.0f} hours at most; this one has been closed."
)


def handlers(caller: Caller) -> dict[str, Handler]:
    """Return the verbs of the role with what carries them out, for one caller."""
    bench = BenchVerbs(caller)
    return {"open": bench.open, "run": bench.run, "abort": bench.abort, "close": bench.close}


class BenchVerbs:
    """Carries out the verbs for one caller; one mount at a time."""

    def __init__(self, caller: Caller, catalogue: Catalogue | None = None) -> None:
        self._caller = caller
        self._catalogue = catalogue
        self._apart: private_mount.NamespaceChild | None = None
        self._began = self._opened = 0.0
        self._is_open = False
        self._devices: set[str] = set()
        # However the session ends, what is open is closed. Forked children end without this.
        atexit.register(self.end)

    def open(self, args: dict[str, object], session: Session) -> dict[str, object]:
        """Mount ``share`` with ``options``, of a superblock of its own, where only workers see it.

        Returns:
            as of :func:`app.helper.try_verbs.mount_once`, and ``path`` in the namespace, ``joined`` (the
            connections are those of an earlier mount, which decided their number), ``mount_ms``,
            ``command``, ``notes`` and ``fresh`` (no worker of an earlier mount is there).

        Raises:
            Refusal: nothing is mounted then.
        """
        if self._is_open:
            raise Refusal("usage", "A test mount is open already.")
        share = validate.share(str(args["share"]))
        # A shared superblock would hand the values of this test to the person's own mount, or the reverse.
        words = [word for word in cast("list[str]", args["options"]) if word not in _SHARING]
        options, notes = mount_nfs.build_options(self._catalogue or load(), [*words, "nosharecache"])
        read_ahead_kb = cast("int", args["read_ahead_kb"])
        if read_ahead_kb != -1:
            readahead.check("read_ahead_kb", read_ahead_kb, 0, readahead.MAX_READ_AHEAD_KB)
        deadline_s = mount_nfs.deadline_s(args["timeout_ms"])
        self._devices &= _nfs_superblocks()
        if len(self._devices) >= MAX_SUPERBLOCKS:
            raise Refusal("busy", f"{MAX_SUPERBLOCKS} earlier test mounts are still in use.")
        # Without a note in /run/mount/utab, which all namespaces share.
        argv = [*mount_nfs.command(share, callers.OWN_ROOT, options), "-n"]
        if self._apart is not None and time.monotonic() - self._began > namespace_init.MAX_AGE_S:
            self._forget()
        fresh = self._apart is None
        if self._apart is None:
            self._began = time.monotonic()
            self._apart = private_mount.NamespaceChild(
                lambda line: namespace_init.serve_mounts(line, self._caller)
            )
        self._apart.say({"open": argv, "deadline_s": deadline_s, "read_ahead_kb": read_ahead_kb})
        answer = None
        try:
            answer = self._apart.hear(deadline_s, session)
        finally:
            if answer is None:
                self._forget(private_mount.GRACE_S)
        if answer is None:
            raise Refusal("mount-failed", "The test mount broke off.", data={"exit_code": None})
        self._is_open = session.holds = True
        self._devices.add(str(answer["device"]))
        self._opened = time.monotonic()
        return {**answer, "path": callers.OWN_ROOT, "command": argv, "notes": notes, "fresh": fresh}

    def run(self, args: dict[str, object], _session: Session) -> dict[str, object]:
        """Start ``argv`` as the caller, connected to ``socket`` twice: input and output, then errors.

        Raises:
            Refusal: not-mounted, usage, busy-helper, or unavailable with the reason as detail.
        """
        argv, path = cast("list[str]", args["argv"]), str(args["socket"])
        unfit = any("\0" in word or len(word) > _MAX_ARGUMENT for word in argv)
        if not argv or len(argv) > _MAX_ARGUMENTS or not argv[0].startswith("/") or unfit:
            raise Refusal("usage", "The command is not one.")
        if not path.startswith("/") or not path.isprintable() or len(os.fsencode(path)) > _MAX_SOCKET:
            raise Refusal("usage", "The socket's path is not one.")
        answer = self._ask({"run": argv, "socket": path})
        if answer["started"]:
            return {}
        if not answer["reason"]:
            raise Refusal(
                "busy-helper", f"{namespace_init.MAX_WORKERS} programs run for the test mount already."
            )
        reason = printable(str(answer["reason"]).encode())
        raise Refusal("unavailable", "The program of the test could not be started.", detail=reason)

    def abort(self, _args: dict[str, object], _session: Session) -> dict[str, object]:
        """Have the kernel give up what waits for the server (MNT_FORCE, umount(2)); tell if that ``ended``.

        A killed worker ends only when all that it wrote has been sent: the kernel waits for that where no
        signal ends it, and neither truncating nor unlinking the file shortens it. What is given up is lost.
        Without an open mount it raises a Refusal, not-mounted.
        """
        return self._ask({"abort": True})

    def close(self, args: dict[str, object], session: Session) -> dict[str, object]:
        """End the workers, write back, unmount. Nothing interrupts it; it answers in time all the same.

        Returns:
            ``sync_ms`` and ``unmount_ms``, None for what did not end by itself in half the time; ``gone``:
            it has left the table of mounts; ``read_ahead_kb`` at the end.

        Raises:
            Refusal: not-mounted, or usage.
        """
        deadline_s = mount_nfs.deadline_s(args["timeout_ms"])
        if self._apart is None or not self._is_open:
            raise Refusal("not-mounted", "No test mount is open.")
        session.holds = False
        return self._close(deadline_s)

    def end(self) -> None:
        """Close what is open when the helper ends, and end the namespace."""
        if self._is_open:
            self._close(_END_S)
        self._forget(_END_S)

    def _ask(self, wish: dict[str, object]) -> dict[str, object]:
        """Return the answer to a wish about the open mount; to interrupt it would be to close the mount."""
        if self._apart is None or not self._is_open:
            raise Refusal("not-mounted", "No test mount is open.")
        self._apart.say(wish)
        answer = None
        try:
            answer = self._apart.hear(_RUN_S, unmounting.NeverCancelled())
        finally:
            if answer is None:
                self._forget()
        if answer is None:
            old = time.monotonic() - self._opened > namespace_init.MAX_AGE_S
            raise Refusal("not-mounted", _TOO_OLD if old else "The test mount is gone.")
        return answer

    def _close(self, deadline_s: float) -> dict[str, object]:
        apart, self._is_open = self._apart, False
        nothing = {"sync_ms": None, "unmount_ms": None, "read_ahead_kb": None}
        answer: dict[str, object] | None = None
        late = False
        end = time.monotonic() + deadline_s
        if apart is not None:
            apart.say({"close": deadline_s * _MOUNT_SHARE})
            try:
                answer = apart.hear(deadline_s, unmounting.NeverCancelled(), 0.0)
            except Refusal:
                late = True
        # A mount whose processes have all gone has gone with them.
        closing = {**nothing, "gone": not late, **(answer or {})}
        if closing["sync_ms"] is None or closing["unmount_ms"] is None or not closing["gone"]:
            self._forget(max(_MIN_DEADLINE_S, end - time.monotonic()))
        return closing

    def _forget(self, patience_s: float = _MIN_DEADLINE_S) -> None:
        apart, self._apart, self._is_open = self._apart, None, False
        if apart is not None:
            apart.end(patience_s)


def _nfs_superblocks() -> set[str]:
    """Return the devices of all NFS superblocks, mounted anywhere or nowhere (fs/nfs/client.c)."""
    with contextlib.suppress(OSError), open(_VOLUMES, "rb") as file:  # noqa: PTH123
        return {line.split()[3].decode() for line in file.readlines()[1:]}
    return set()
