"""Privileged actions of a change (mount, unmount, remount, tune, save), each by an authorized helper.

After an unmount they wait until the kernel has released its client of the server. Until then, a new mount
reuses the connections and settings of that client (nconnect, resvport, xprtsec). The first mount of a server
and version creates the client. It is released a moment after the last unmount (fs/nfs/client.c,
nfs_put_client).
"""

from __future__ import annotations

import ipaddress
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.helper.policy import Place, place_of
from app.mounts.mount_users import holders_of_answer
from app.mounts.option_changes import remount_options
from app.mounts.option_comparison import values_in_use
from app.mounts.plan import mount_options_now
from app.mounts.saved_readahead import save_request

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from advisor.options import MountOptions
    from app.helper_client.client import HelperClient
    from app.mounts.change_model import ApplyArgs
    from app.mounts.config_store import ConfigStore, WrittenConfig
    from app.mounts.model import Active, Holder, ReadaheadReport
    from app.mounts.plan import HostView, InspectedChange
    from app.mounts.saved_readahead import ReadaheadStore
    from app.tasks import CancelToken

#: Longest wait for the release of the kernel's client, which usually takes well under a second, seconds.
_CLIENT_RELEASE_S = 3.0
#: Interval between two reads of /proc/fs/nfsfs/servers, seconds.
_POLL_S = 0.05


def kernel_has_client(address: str, version: str, root: str = "/") -> bool:
    """Whether the kernel has a client of this server, according to /proc/fs/nfsfs/servers.

    Args:
        address: IP address of the server, as mountinfo shows it.
        version: NFS version, as mountinfo shows it; the minor version is ignored.
        root: directory that contains proc; tests use a temporary one.
    """
    try:
        wanted = (f"v{version[:1]}", ipaddress.ip_address(address.partition("%")[0]).packed.hex())
        lines = Path(root, "proc/fs/nfsfs/servers").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return False
    return any(tuple(line.lower().split()[:2]) == wanted for line in lines)


def wait_for_client_release(old: Active, view: HostView) -> None:
    """Wait until the kernel has released the client of an unmounted share, unless another mount uses it.

    Args:
        old: the mount before the unmount.
        view: reads the mounts and the clients of this host.
    """
    values = values_in_use(old)
    address, version = values.get("addr", ""), values.get("vers", "")
    end = time.monotonic() + _CLIENT_RELEASE_S
    while time.monotonic() < end and view.has_client(address, version):
        others = [row.active for row in view.table().mounts if row.active is not None]
        if any(values_in_use(other).get("addr") == address for other in others):
            return
        threading.Event().wait(_POLL_S)


if TYPE_CHECKING:
    #: Verb of the helper, and its arguments.
    Request = tuple[str, dict[str, Any]]
    Start = Callable[[str, tuple[str, str, list[Request]] | None], HelperClient]

#: Added to the deadline that the helper itself has for a request, seconds.
_ANSWER_MARGIN_S = 10.0


class MountActions:
    """Privileged actions used by a change; each calls a helper that is authorized for it.

    Args:
        mount: helper for the action "mount", used where the change needs no other action.
        tune: helper for the action "tune", used where the change needs no other action.
        kept: writes fstab and units.
        saved: saves readaheads.
        settled: context manager entered before an unmount. It waits until this program has ended its own
            accesses to the mount, and explains a failed unmount if they are the cause.
        note_asked: records the requested options of a mount; takes the mount id and the options.
        start: starts a helper for an action. A system action also takes the share, the mount point and the
            list of requests that an administrator approves. polkit asks at the first request.
    """

    def __init__(
        self,
        *,
        mount: HelperClient,
        tune: HelperClient,
        kept: ConfigStore,
        saved: ReadaheadStore,
        settled: Callable[[str, CancelToken], AbstractContextManager[None]],
        note_asked: Callable[[int, str], None],
        start: Start | None = None,
    ) -> None:
        self._mount = mount
        self._tune = tune
        self._kept = kept
        self._saved = saved
        self._settled = settled
        self._record_requested = note_asked
        self._start = start
        self._may_hide = False
        #: Helper of a change that needs several actions or an approval; None for any other change.
        self._helper: HelperClient | None = None

    def begin(self, inspected: InspectedChange, before: MountOptions) -> None:
        """Choose the helper for a change, its test mount and its rollback.

        Args:
            inspected: the change.
            before: options that recreate the present mount.
        """
        approval, args = inspected.approval, inspected.args
        # The new mount may hide the directory entries that the present one hides.
        self._may_hide = inspected.is_live and place_of(args.mount_point) is Place.RESTRICTED
        self._may_hide = self._may_hide or (approval is not None and approval.hidden != 0)
        requests = {
            "mount": self._requests(inspected, before) if inspected.live_action != "none" else [],
            "persist": self._kept.requests(args) if inspected.config.diff else [],
            "tune": _tune_requests(inspected),
        }
        needed = [action for action, some in requests.items() if some]
        if self._start is None:
            return
        if approval is not None:
            action = f"{needed[0]}-system" if needed in (["mount"], ["persist"]) else "apply-system"
            whole = [request for some in requests.values() for request in some]
            self._helper = self._start(action, (args.share, args.mount_point, whole))
        # The person may take longer to confirm the change than a helper of one action waits for a request.
        # A "mount" helper needs no replacement: polkit keeps that authorization for a while.
        elif len(needed) > 1 or (args.keep_s > 0 and needed not in ([], ["mount"])):
            self._helper = self._start("apply", None)

    def end(self) -> None:
        """End the helper of the whole change."""
        if self._helper is not None:
            self._helper.close()

    def _requests(self, inspected: InspectedChange, before: MountOptions) -> list[Request]:
        """Return every request that the change and its rollback may send to the helper."""
        args, options = inspected.args, mount_options_now(inspected)
        point = args.mount_point
        mount = ("mount", self._mount_wire(args.share, point, options, args.timeout_s))
        unmounts: list[Request] = [("unmount", _unmount_wire(point, args.timeout_s, lazy=False))]
        if args.busy == "lazy":
            unmounts.append(("unmount", _unmount_wire(point, args.timeout_s, lazy=True)))
        if inspected.live_action == "remount":
            words = (remount_options(inspected.changes), remount_options(inspected.changes, back=True))
            return [("remount", _remount_wire(point, some, args.timeout_s)) for some in words]
        test: Request = ("try", _try_wire(args.share, options, args.timeout_s))
        result = [test, mount, *unmounts]
        if inspected.old is not None and inspected.old.active is not None:
            back = self._mount_wire(inspected.old.active.share, point, before, args.timeout_s)
            result += [("mount", back), ("holders", {"target": point})]
        return result

    def _mount_wire(self, share: str, point: str, options: MountOptions, timeout_s: float) -> dict[str, Any]:
        return {
            "share": share,
            "target": point,
            "options": str(options),
            "create": True,
            "hide": self._may_hide,
            "timeout_s": timeout_s,
        }

    def mount(
        self, share: str, point: str, options: MountOptions, timeout_s: float, token: CancelToken
    ) -> None:
        """Mount a share, and create a missing mount point.

        Raises:
            AppError: if the mount failed; nothing is mounted.
        """
        wire = self._mount_wire(share, point, options, timeout_s)
        answer = self._call(self._helper or self._mount, "mount", wire, token, timeout_s)
        self._record_requested(int(answer["mount_id"]), str(options))

    def unmount(self, point: str, timeout_s: float, token: CancelToken, *, lazy: bool = False) -> None:
        """Unmount a share; with ``lazy``, detach it now and end it after its last use (umount2(2)).

        Raises:
            AppError: if the unmount failed; the share is still mounted.
        """
        wire = _unmount_wire(point, timeout_s, lazy=lazy)
        with self._settled(point, token):
            self._call(self._helper or self._mount, "unmount", wire, token, timeout_s)

    def holders(self, point: str, token: CancelToken) -> list[Holder]:
        """Return the processes that use a mount."""
        answer = self._call(
            self._helper or self._mount, "holders", {"target": point}, token, _ANSWER_MARGIN_S
        )
        return holders_of_answer(answer["holders"])

    def try_mount(
        self, share: str, options: MountOptions, timeout_s: float, token: CancelToken
    ) -> dict[str, Any]:
        """Test the options by a private mount: mount the share in a namespace of the helper, then unmount it.

        Raises:
            AppError: if the private mount failed.
        """
        wire = _try_wire(share, options, timeout_s)
        return self._call(self._helper or self._mount, "try", wire, token, timeout_s)

    def remount(self, point: str, words: list[str], timeout_s: float, token: CancelToken) -> None:
        """Change the flags of a mount that the words name.

        Raises:
            AppError: if the remount failed; the flags are unchanged.
        """
        wire = _remount_wire(point, words, timeout_s)
        self._call(self._helper or self._mount, "remount", wire, token, timeout_s)

    def remember(self, mount_id: int, options: MountOptions) -> None:
        """Record the requested options of a mount that was only remounted."""
        self._record_requested(mount_id, str(options))

    def tune(self, point: str, read_ahead_kb: int, token: CancelToken) -> None:
        """Set the readahead of a mount, KiB.

        Raises:
            AppError: if that failed; the readahead is unchanged.
        """
        wire = {"target": point, "read_ahead_kb": read_ahead_kb}
        self._call(self._helper or self._tune, "tune", wire, token, _ANSWER_MARGIN_S)

    def save(self, point: str, read_ahead_kb: int, sha256: str, token: CancelToken) -> ReadaheadReport:
        """Save the readahead of a mount point, KiB, if the udev rule still has the checksum ``sha256``.

        Raises:
            AppError: if that failed; the rule is unchanged.
        """
        return self._saved.change(
            point, read_ahead_kb, sha256, preview=False, token=token, helper=self._helper
        )

    def unsave(self, report: ReadaheadReport) -> None:
        """Restore the readahead that was saved before a change.

        Raises:
            AppError: if that failed; the rule stays as the change left it.
        """
        self._saved.undo(report, self._helper)

    def write(self, args: ApplyArgs, sha256: str, token: CancelToken) -> WrittenConfig:
        """Write the entry of fstab or the units, if the file still has the checksum ``sha256``.

        Raises:
            AppError: if that failed; the file is unchanged.
        """
        return self._kept.write(args, sha256, token, self._helper)

    def _call(
        self, helper: HelperClient, verb: str, wire: dict[str, Any], token: CancelToken, timeout_s: float
    ) -> dict[str, Any]:
        return helper.call(verb, wire, token, timeout_s=timeout_s + _ANSWER_MARGIN_S)


def _unmount_wire(point: str, timeout_s: float, *, lazy: bool) -> dict[str, Any]:
    return {"target": point, "lazy": lazy, "timeout_s": timeout_s}


def _try_wire(share: str, options: MountOptions, timeout_s: float) -> dict[str, Any]:
    return {"share": share, "options": str(options), "timeout_s": timeout_s}


def _remount_wire(point: str, words: list[str], timeout_s: float) -> dict[str, Any]:
    return {"target": point, "options": words, "timeout_s": timeout_s}


def _tune_requests(inspected: InspectedChange) -> list[Request]:
    """Return the requests that set and save the readahead, and those that undo it."""
    old = (
        inspected.old.active.read_ahead_kb
        if inspected.old is not None and inspected.old.active is not None
        else None
    )
    values = [inspected.tune_kb, old] if inspected.tune_kb is not None else []
    point = inspected.args.mount_point
    tunes: list[Request] = [
        ("tune", {"target": point, "read_ahead_kb": kb}) for kb in values if kb is not None
    ]
    if not inspected.rule_diff:
        return tunes
    return [
        *tunes,
        save_request(point, inspected.save_kb, ""),
        save_request(point, inspected.rule.read_ahead_kb, ""),
    ]
