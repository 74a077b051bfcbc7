"""Drafts of new mounts: unapplied forms, saved in the person's state directory between two starts.

No option in the catalogue holds a password or a key, so a draft contains no secret.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec

from app.files.state_files import read_state_file, remove_state_file, write_state_file
from app.files.user_directories import state_directory
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MAX_BYTES = 2**20
_WHAT = "The file of drafts"
_file_lock = threading.Lock()


class MountDraft(msgspec.Struct, frozen=True, kw_only=True):
    """Content of the form of a new mount.

    Attributes:
        host: "" for this computer, else the name of the lab's link.
        share: as typed.
        mount_point: as typed.
        options: the option string.
        read_ahead_kb: readahead to set, KiB, None to leave it.
    """

    host: str = ""
    share: str
    mount_point: str
    options: str
    read_ahead_kb: int | None = None


class DraftFile:
    """Reads and writes the drafts. Methods may be called by any thread."""

    def __init__(self) -> None:
        self._written = 0

    @property
    def written(self) -> int:
        """Number of the last written version of the drafts, 0 for none."""
        return self._written

    @staticmethod
    def path() -> Path:
        """Return the path of the file of drafts."""
        return state_directory() / "drafts.json"

    def read(self) -> list[MountDraft]:
        """Return the saved drafts; a damaged file counts as empty.

        Raises:
            AppError: NOT_RESPONDING or IO if the file cannot be read.
        """
        text = read_state_file(self.path(), _WHAT, _MAX_BYTES)
        try:
            return from_json(text, list[MountDraft])
        except (msgspec.DecodeError, UnicodeError):
            return []

    def write(self, drafts: Sequence[MountDraft], number: int) -> None:
        """Write the drafts, or remove the file if there are none.

        Args:
            drafts: all drafts.
            number: version number of the drafts; a lower one than the last written is ignored.

        Raises:
            AppError: NOT_RESPONDING or IO if it cannot be written.
        """
        with _file_lock:
            if number <= self._written:
                return
            if drafts:
                write_state_file(self.path(), _WHAT, msgspec.json.encode([_plain(one) for one in drafts]))
            else:
                remove_state_file(self.path(), _WHAT)
            self._written = number


def _plain(draft: MountDraft) -> MountDraft:
    """Return a draft without lone surrogates, which UTF-8 cannot encode; a pasted text may have them."""

    def plain(text: str) -> str:
        return text.encode(errors="replace").decode()

    return msgspec.structs.replace(
        draft, share=plain(draft.share), mount_point=plain(draft.mount_point), options=plain(draft.options)
    )
