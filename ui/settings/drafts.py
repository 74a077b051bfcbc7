"""Drafts: contents of each host's forms until they are applied or discarded.

Drafts of new mounts are saved in a file and restored at the next start. Edits of an existing mount last until
the window closes, because the mount may change before the next start.
"""

from __future__ import annotations

from concurrent.futures import TimeoutError as WaitTimeoutError
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.errors import AppError
from app.mounts.drafts import DraftFile, MountDraft
from app.tasks import run_in_thread
from ui.settings.form_state import FormState

if TYPE_CHECKING:
    from ui.common.bridge import RunInThread

#: Share and mount point of a mount, or None for a new mount.
DraftKey = tuple[str, str] | None

#: Delay between the last edit and the saving of the drafts, ms.
_PAUSE_MS = 1000
#: Maximum time that the closing window waits for the last save, s; the directory may be on a dead mount.
_END_WAIT_S = 2.0


class Drafts(QObject):
    """States of the forms of all hosts, by host and mount.

    Args:
        run: runs blocking work on a thread.
        parent: the Qt parent.

    Signals:
        loaded: the saved drafts were read.
        failed: the AppError of the first failed read or save; later ones are not reported.
    """

    loaded = Signal()
    failed = Signal(object)

    def __init__(self, run: RunInThread, parent: QObject) -> None:
        super().__init__(parent)
        self._run = run
        self._file = DraftFile()
        self._states: dict[tuple[str, DraftKey], FormState] = {}
        #: Hosts whose draft was edited before the saved drafts were read; their saved drafts are outdated.
        self._edited_hosts: set[str] = set()
        self._save_number = 0
        self._failure_reported = False
        self._loaded = False
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self._save)

    def load(self) -> None:
        """Read the saved drafts on a thread."""
        call = self._run("drafts", self._file.read)
        call.succeeded.connect(self._on_read)
        call.failed.connect(self._on_failed)

    def keep(self, host: str, place: DraftKey, state: FormState | None) -> None:
        """Store the state of a form; the draft of a new mount is also saved to the file.

        Args:
            host: key of the host.
            place: share and mount point, or None for a new mount.
            state: contents of the form, or None if it has no edits, which removes the stored state.
        """
        if state == self.get(host, place):
            return
        if state is None:
            self._states.pop((host, place), None)
        else:
            self._states[host, place] = state
        if place is None:
            self._edited_hosts.add(host)
            self._pause.start()

    def get(self, host: str, place: DraftKey) -> FormState | None:
        """Return the stored state of a form, or None."""
        return self._states.get((host, place))

    def finish(self) -> None:
        """Save pending drafts when the window closes, and wait for that for a limited time."""
        if not self._loaded or not (self._pause.isActive() or self._file.written < self._save_number):
            return
        self._pause.stop()
        try:
            run_in_thread("drafts", self._write_job()).result(_END_WAIT_S)
        except (AppError, WaitTimeoutError):
            return  # the window is closed, so an error cannot be shown

    def _write_job(self) -> partial[None]:
        """Return the function that writes the current drafts."""
        self._save_number += 1
        drafts = [
            MountDraft(host=host, **state._asdict())
            for (host, place), state in self._states.items()
            if place is None
        ]
        return partial(self._file.write, drafts, self._save_number)

    def _save(self) -> None:
        if self._loaded:  # an earlier save would overwrite drafts that are not read yet
            self._run("drafts", self._write_job()).failed.connect(self._on_failed)

    def _on_read(self, drafts: list[MountDraft]) -> None:
        self._loaded = True
        for draft in drafts:
            if draft.host not in self._edited_hosts:
                state = FormState(draft.share, draft.mount_point, draft.options, draft.read_ahead_kb)
                self._states[draft.host, None] = state
        if self._edited_hosts:
            self._pause.start()
        self.loaded.emit()

    def _on_failed(self, error: AppError) -> None:
        if not self._failure_reported:
            self._failure_reported = True
            self.failed.emit(error)
