"""Privileged actions of a change (mount, unmount, remount, tune, save), by a helper authorized for them.

After an unmount they wait until the kernel has released its client of the server: until then a new mount is
given the client's connections and settings. The client, with nconnect, resvport and xprtsec, is made by the
first mount of a server and version and goes with the last one, a moment after the unmount (fs/nfs/client.c,
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

#: It goes in well under a second; who waits longer for it is told by the check.
_CLIENT_RELEASE_S = 3.0
_POLL_S = 0.05


def kernel_has_client(address: str, version: str, root: str = "/") -> bool:
    """Whether the kernel has a client of this server: /proc/fs/nfsfs/servers, which everybody may read.

    Args:
        address: of the server, as mountinfo shows it.
        version: as mountinfo shows it; minor versions are not told apart there.
        root: where to look for proc; tests give a folder.
    """
    try:
        wanted = (f"v{version[:1]}", ipaddress.ip_address(address.partition("%")[0]).packed.hex())
        lines = Path(root, "proc/fs/nfsfs/servers").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return False
    return any(tuple(line.lower().split()[:2]) == wanted for line in lines)


def wait_for_client_release(old: Active, around: HostView) -> None:
    """Wait a moment for the connections of a mount that is gone, unless another mount needs them.

    Args:
        old: the mount that is gone.
        around: what is looked at.
    """
    values = values_in_use(old)
    address, version = values.get("addr", ""), values.get("vers", "")
    end = time.monotonic() + _CLIENT_RELEASE_S
    while time.monotonic() < end and around.has_client(address, version):
        others = [row.active for row in around.table().mounts if row.active is not None]
        if any(values_in_use(other).get("addr") == address for other in others):
            return
        threading.Event().wait(_POLL_S)


if TYPE_CHECKING:
    #: Verb and arguments.
    Request = tuple[str, dict[str, Any]]
    Start = Callable[[str, tuple[str, str, list[Request]] | None], HelperClient]

#: Beside a deadline of the helper's own.
_ANSWER_MARGIN_S = 10.0


class MountActions:
    """Mounts, unmounts, tunes and writes.

    Args:
        mount: helper for the action "mount", where that is all the change needs.
        tune: for "tune", likewise.
        kept: writes fstab and units, by itself likewise.
        saved: saves readaheads, by itself likewise.
        settled: waits for what this program itself still does below a mount, and says so if that is why it
            cannot be unmounted; entered before an unmount.
        note_asked: mount id and options, to remember what was asked for.
        start: action to a helper for it, and for a system action to one for these requests alone: share,
            mount point and requests. A person is asked when the helper is first used.
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
        self._note_asked = note_asked
        self._start = start
        self._hides = False
        #: Of a change that needs more than one action, or an approval; None for the ordinary ones.
        self._helper: HelperClient | None = None

    def begin(self, found: InspectedChange, before: MountOptions) -> None:
        """Choose the helper: one for the whole change, its test and its way back.

        Args:
            found: what is to be done.
            before: options with which the mount that is there can be made again.
        """
        approval, args = found.approval, found.args
        # What the mount that is there hides, it goes on hiding.
        self._hides = found.is_live and place_of(args.mount_point) is Place.RESTRICTED
        self._hides = self._hides or (approval is not None and approval.hidden != 0)
        requests = {
            "mount": self._requests(found, before) if found.way != "none" else [],
            "persist": self._kept.requests(args) if found.kept.diff else [],
            "tune": _tune_requests(found),
        }
        needed = [action for action, some in requests.items() if some]
        if self._start is None:
            return
        if approval is not None:
            action = f"{needed[0]}-system" if needed in (["mount"], ["persist"]) else "apply-system"
            whole = [request for some in requests.values() for request in some]
            self._helper = self._start(action, (args.share, args.mount_point, whole))
        # Who is asked whether to keep it may be away for longer than other helpers wait for a request. The
        # right to mount is kept for a while.
        elif len(needed) > 1 or (args.keep_s > 0 and needed not in ([], ["mount"])):
            self._helper = self._start("apply", None)

    def end(self) -> None:
        """End the helper of the whole change."""
        if self._helper is not None:
            self._helper.close()

    def _requests(self, found: InspectedChange, before: MountOptions) -> list[Request]:
        """Return everything that the change and its way back may ask for."""
        args, options = found.args, mount_options_now(found)
        point = args.mount_point
        mount = ("mount", self._mount_wire(args.share, point, options, args.timeout_s))
        unmounts: list[Request] = [("unmount", _unmount_wire(point, args.timeout_s, lazy=False))]
        if args.busy == "lazy":
            unmounts.append(("unmount", _unmount_wire(point, args.timeout_s, lazy=True)))
        if found.way == "remount":
            words = (remount_options(found.changes), remount_options(found.changes, back=True))
            return [("remount", _remount_wire(point, some, args.timeout_s)) for some in words]
        test: Request = ("try", _try_wire(args.share, options, args.timeout_s))
        result = [test, mount, *unmounts]
        if found.old is not None and found.old.active is not None:
            back = self._mount_wire(found.old.active.share, point, before, args.timeout_s)
            result += [("mount", back), ("holders", {"target": point})]
        return result

    def _mount_wire(self, share: str, point: str, options: MountOptions, timeout_s: float) -> dict[str, Any]:
        return {
            "share": share,
            "target": point,
            "options": str(options),
            "create": True,
            "hide": self._hides,
            "timeout_s": timeout_s,
        }

    def mount(
        self, share: str, point: str, options: MountOptions, timeout_s: float, token: CancelToken
    ) -> None:
        """Mount a share; a missing directory is made.

        Raises:
            AppError: nothing is mounted then.
        """
        wire = self._mount_wire(share, point, options, timeout_s)
        answer = self._call(self._helper or self._mount, "mount", wire, token, timeout_s)
        self._note_asked(int(answer["mount_id"]), str(options))

    def unmount(self, point: str, timeout_s: float, token: CancelToken, *, lazy: bool = False) -> None:
        """Unmount, or detach from the tree and let it end when nobody uses it.

        Raises:
            AppError: it is still mounted then.
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
        """Mount a share where nobody else sees it, and unmount that again.

        Raises:
            AppError: as for a mount.
        """
        wire = _try_wire(share, options, timeout_s)
        return self._call(self._helper or self._mount, "try", wire, token, timeout_s)

    def remount(self, point: str, words: list[str], timeout_s: float, token: CancelToken) -> None:
        """Change the flags of a mount, those that the words name.

        Raises:
            AppError: they are as they were then.
        """
        wire = _remount_wire(point, words, timeout_s)
        self._call(self._helper or self._mount, "remount", wire, token, timeout_s)

    def remember(self, mount_id: int, options: MountOptions) -> None:
        """Remember what was asked for, where only a remount was needed."""
        self._note_asked(mount_id, str(options))

    def tune(self, point: str, read_ahead_kb: int, token: CancelToken) -> None:
        """Set the read-ahead of a mount.

        Raises:
            AppError: it is as it was then.
        """
        wire = {"target": point, "read_ahead_kb": read_ahead_kb}
        self._call(self._helper or self._tune, "tune", wire, token, _ANSWER_MARGIN_S)

    def save(self, point: str, read_ahead_kb: int, sha256: str, token: CancelToken) -> ReadaheadReport:
        """Save the readahead of a mount point, if the rule is still the one of that checksum.

        Raises:
            AppError: the rule is as it was then.
        """
        return self._saved.change(
            point, read_ahead_kb, sha256, preview=False, token=token, helper=self._helper
        )

    def unsave(self, report: ReadaheadReport) -> None:
        """Let be saved what was saved before.

        Raises:
            AppError: it is as the change left it then.
        """
        self._saved.undo(report, self._helper)

    def write(self, args: ApplyArgs, sha256: str, token: CancelToken) -> WrittenConfig:
        """Write what is to be kept, if the file is still the one of that checksum.

        Raises:
            AppError: the file is as it was then.
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


def _tune_requests(found: InspectedChange) -> list[Request]:
    """Return what sets and saves the readahead, and what undoes that."""
    old = found.old.active.read_ahead_kb if found.old is not None and found.old.active is not None else None
    values = [found.tune_kb, old] if found.tune_kb is not None else []
    point = found.args.mount_point
    tunes: list[Request] = [
        ("tune", {"target": point, "read_ahead_kb": kb}) for kb in values if kb is not None
    ]
    if not found.rule_diff:
        return tunes
    return [*tunes, save_request(point, found.save_kb, ""), save_request(point, found.rule.read_ahead_kb, "")]
