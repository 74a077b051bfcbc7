"""What a change does to this host, one method a deed, by a helper that is authorized once for all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.helper.policy import Place, place_of
from app.mounts.mount_users import as_holders
from app.mounts.option_changes import remount_words
from app.mounts.plan import now_words
from app.mounts.saved_readahead import request

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from advisor.options import MountOptions
    from app.helper_client.client import HelperClient
    from app.mounts.change_model import ApplyArgs
    from app.mounts.config_store import Keeping, Kept
    from app.mounts.model import Holder, ReadaheadReport
    from app.mounts.plan import Situation
    from app.mounts.saved_readahead import SavedReadaheads
    from app.tasks import CancelToken

    #: Verb and arguments.
    Request = tuple[str, dict[str, Any]]
    Start = Callable[[str, tuple[str, str, list[Request]] | None], HelperClient]

#: Beside a deadline of the helper's own.
_GRACE_S = 10.0


class Hands:
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
        kept: Keeping,
        saved: SavedReadaheads,
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

    def begin(self, found: Situation, before: MountOptions) -> None:
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

    def _requests(self, found: Situation, before: MountOptions) -> list[Request]:
        """Return everything that the change and its way back may ask for."""
        args, options = found.args, now_words(found)
        point = args.mount_point
        mount = ("mount", self._mount_wire(args.share, point, options, args.timeout_s))
        unmounts: list[Request] = [("unmount", _unmount_wire(point, args.timeout_s, lazy=False))]
        if args.busy == "lazy":
            unmounts.append(("unmount", _unmount_wire(point, args.timeout_s, lazy=True)))
        if found.way == "remount":
            words = (remount_words(found.changes), remount_words(found.changes, back=True))
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
        answer = self._call(self._helper or self._mount, "holders", {"target": point}, token, _GRACE_S)
        return as_holders(answer["holders"])

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
        self._call(self._helper or self._tune, "tune", wire, token, _GRACE_S)

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

    def write(self, args: ApplyArgs, sha256: str, token: CancelToken) -> Kept:
        """Write what is to be kept, if the file is still the one of that checksum.

        Raises:
            AppError: the file is as it was then.
        """
        return self._kept.write(args, sha256, token, self._helper)

    def _call(
        self, helper: HelperClient, verb: str, wire: dict[str, Any], token: CancelToken, timeout_s: float
    ) -> dict[str, Any]:
        return helper.call(verb, wire, token, timeout_s=timeout_s + _GRACE_S)


def _unmount_wire(point: str, timeout_s: float, *, lazy: bool) -> dict[str, Any]:
    return {"target": point, "lazy": lazy, "timeout_s": timeout_s}


def _try_wire(share: str, options: MountOptions, timeout_s: float) -> dict[str, Any]:
    return {"share": share, "options": str(options), "timeout_s": timeout_s}


def _remount_wire(point: str, words: list[str], timeout_s: float) -> dict[str, Any]:
    return {"target": point, "options": words, "timeout_s": timeout_s}


def _tune_requests(found: Situation) -> list[Request]:
    """Return what sets and saves the readahead, and what undoes that."""
    old = found.old.active.read_ahead_kb if found.old is not None and found.old.active is not None else None
    values = [found.tune_kb, old] if found.tune_kb is not None else []
    point = found.args.mount_point
    tunes: list[Request] = [
        ("tune", {"target": point, "read_ahead_kb": kb}) for kb in values if kb is not None
    ]
    if not found.rule_diff:
        return tunes
    return [*tunes, request(point, found.save_kb, ""), request(point, found.rule.read_ahead_kb, "")]
