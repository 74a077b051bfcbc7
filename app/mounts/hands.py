"""What a change does to this host, one method a deed: each asks the helper's role that may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.mounts.busy import as_holders

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from advisor.options import MountOptions
    from app.mounts.change import ApplyArgs, Holder
    from app.mounts.kept import Keeping, Kept
    from app.privileged import HelperClient
    from app.tasks import CancelToken

#: Beside a deadline of the helper's own.
_GRACE_S = 10.0


class Hands:
    """Mounts, unmounts, tunes and writes.

    Args:
        mount: helper of the role "mount".
        tune: of the role "tune".
        kept: writes fstab and units.
        settled: waits for what this program itself still does below a mount, and says so if that is why it
            cannot be unmounted; entered before an unmount.
        note_asked: mount id and options, to remember what was asked for.
    """

    def __init__(
        self,
        *,
        mount: HelperClient,
        tune: HelperClient,
        kept: Keeping,
        settled: Callable[[str, CancelToken], AbstractContextManager[None]],
        note_asked: Callable[[int, str], None],
    ) -> None:
        self._mount = mount
        self._tune = tune
        self._kept = kept
        self._settled = settled
        self._note_asked = note_asked

    def mount(
        self, share: str, point: str, options: MountOptions, timeout_s: float, token: CancelToken
    ) -> None:
        """Mount a share; a missing directory is made.

        Raises:
            AppError: nothing is mounted then.
        """
        wire = {
            "share": share,
            "target": point,
            "options": str(options),
            "create": True,
            "timeout_s": timeout_s,
        }
        answer = self._call(self._mount, "mount", wire, token, timeout_s)
        self._note_asked(int(answer["mount_id"]), str(options))

    def unmount(self, point: str, timeout_s: float, token: CancelToken, *, lazy: bool = False) -> None:
        """Unmount, or detach from the tree and let it end when nobody uses it.

        Raises:
            AppError: it is still mounted then.
        """
        wire = {"target": point, "lazy": lazy, "timeout_s": timeout_s}
        with self._settled(point, token):
            self._call(self._mount, "unmount", wire, token, timeout_s)

    def holders(self, point: str, token: CancelToken) -> list[Holder]:
        """Return the processes that use a mount."""
        answer = self._call(self._mount, "holders", {"target": point}, token, _GRACE_S)
        return as_holders(answer["holders"])

    def try_mount(
        self, share: str, options: MountOptions, timeout_s: float, token: CancelToken
    ) -> dict[str, Any]:
        """Mount a share where nobody else sees it, and unmount that again.

        Raises:
            AppError: as for a mount.
        """
        wire = {"share": share, "options": str(options), "timeout_s": timeout_s}
        return self._call(self._mount, "try", wire, token, timeout_s)

    def remount(self, point: str, words: list[str], timeout_s: float, token: CancelToken) -> None:
        """Change the flags of a mount, those that the words name.

        Raises:
            AppError: they are as they were then.
        """
        wire = {"target": point, "options": words, "timeout_s": timeout_s}
        self._call(self._mount, "remount", wire, token, timeout_s)

    def remember(self, mount_id: int, options: MountOptions) -> None:
        """Remember what was asked for, where only a remount was needed."""
        self._note_asked(mount_id, str(options))

    def tune(self, point: str, read_ahead_kb: int, token: CancelToken) -> None:
        """Set the read-ahead of a mount.

        Raises:
            AppError: it is as it was then.
        """
        wire = {"target": point, "read_ahead_kb": read_ahead_kb}
        self._call(self._tune, "tune", wire, token, _GRACE_S)

    def write(self, args: ApplyArgs, sha256: str, token: CancelToken) -> Kept:
        """Write what is to be kept, if the file is still the one of that checksum.

        Raises:
            AppError: the file is as it was then.
        """
        return self._kept.write(args, sha256, token)

    def _call(
        self, helper: HelperClient, verb: str, wire: dict[str, Any], token: CancelToken, timeout_s: float
    ) -> dict[str, Any]:
        return helper.call(verb, wire, token, timeout_s=timeout_s + _GRACE_S)
