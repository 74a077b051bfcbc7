"""Model of the list of mounts: server headings, mounts, and their throughput in the last minute.

The model is a flat list although the view looks like a tree. A tree view calls Python for every row before it
paints the first one, which is slow with thousands of mounts.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer

from app.text.message import message_text
from app.text.mounts import mount_state_text
from ui.common.labels import plain_tip
from ui.common.status_text import boot_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from app.mounts.model import Mount, MountTable
    from app.stats.model import SpeedsSample

#: Samples in a sparkline: one per second for one minute.
SAMPLES_KEPT = 60


class SpeedHistory(NamedTuple):
    """Throughput of one mount in the last minute.

    Attributes:
        values: bytes per second, reads and writes together, newest last; at most SAMPLES_KEPT values.
        timeouts: requests that timed out in that minute.
    """

    values: tuple[float, ...]
    timeouts: int

    @property
    def now(self) -> float:
        """Newest throughput, bytes per second."""
        return self.values[-1]


class SpeedHistories:
    """Speed histories of the mounts that had traffic in the last minute. Plain data, no Qt."""

    def __init__(self) -> None:
        self._values: dict[str, deque[tuple[float, int]]] = {}

    def clear(self) -> None:
        """Remove all histories."""
        self._values.clear()

    def take(self, sample: SpeedsSample) -> set[str]:
        """Add a sample; return the mount points whose sparkline changed."""
        changed = set(self._values) | set(sample.mounts)
        for point in changed:
            speed = sample.mounts.get(point)
            traffic = (
                (speed.read_bytes_per_s + speed.write_bytes_per_s, speed.timeouts) if speed else (0.0, 0)
            )
            self._values.setdefault(point, deque(maxlen=SAMPLES_KEPT)).append(traffic)
        for point in [point for point, samples in self._values.items() if not any(map(any, samples))]:
            del self._values[point]
        return changed

    def speed_history(self, mount_point: str) -> SpeedHistory | None:
        """Return the history of a mount, or None if it had no traffic in the last minute."""
        samples = self._values.get(mount_point)
        if samples is None:
            return None
        return SpeedHistory(tuple(value for value, _ in samples), sum(timeouts for _, timeouts in samples))


if TYPE_CHECKING:
    AnyIndex = QModelIndex | QPersistentModelIndex

MountRole = Qt.ItemDataRole.UserRole + 1
StateRole = Qt.ItemDataRole.UserRole + 2
SpeedHistoryRole = Qt.ItemDataRole.UserRole + 3
BootRole = Qt.ItemDataRole.UserRole + 4

_NO_INDEX = QModelIndex()
#: Interval at which the durations in the state texts are updated, ms.
_TICK_MS = 1000
#: Computed once, as the view calls flags() thousands of times. A heading can be neither focused nor selected.
_HEADING_FLAGS = Qt.ItemFlag.NoItemFlags
_MOUNT_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren


class _Row(NamedTuple):
    """A mount, or a server heading: ``mount`` is None and ``below`` is the server's number of mounts."""

    server: str
    mount: Mount | None
    below: int = 0

    def is_same_place(self, other: _Row) -> bool:
        """Whether both rows show the same server, or the same share at the same mount point."""
        if self.mount is None or other.mount is None:
            return self.mount is other.mount and self.server == other.server
        return (self.mount.share, self.mount.mount_point) == (other.mount.share, other.mount.mount_point)


def server_of(share: str) -> str:
    """Return the server of a share ``server:/export``; an IPv6 address keeps its brackets."""
    server, colon, _path = share.partition(":/")
    return server if colon else share


def export_of(share: str) -> str:
    """Return the path of a share ``server:/export``."""
    return share[len(server_of(share)) + 1 :] or share


def _tip(mount: Mount) -> str:
    return plain_tip(
        "\n".join([f"{mount.share} → {mount.mount_point}", *map(message_text, mount.differences)])
    )


def _rows_of(mounts: Iterable[Mount]) -> list[_Row]:
    by_server: dict[str, list[Mount]] = {}
    for mount in mounts:
        by_server.setdefault(server_of(mount.share), []).append(mount)
    rows: list[_Row] = []
    for server, group in by_server.items():
        rows.append(_Row(server, None, len(group)))
        rows += [_Row(server, mount) for mount in group]
    return rows


class MountListModel(QAbstractListModel):
    """Qt list model of server headings and mounts.

    A new mount table changes only the rows that differ, so that the view keeps its selection and focus.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[_Row] = []
        self._speeds = SpeedHistories()
        #: Offset of the host's clock from this computer's clock, s; positive if the host is ahead.
        self._clock_ahead_s = 0.0
        #: Runs while a state text contains a duration ("not responding for 12 s").
        self._tick = QTimer(self)
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self._on_tick)
        self._by_role: dict[int, Callable[[Mount], Any]] = {
            Qt.ItemDataRole.DisplayRole: lambda mount: mount.mount_point,
            Qt.ItemDataRole.ToolTipRole: _tip,
            Qt.ItemDataRole.AccessibleTextRole: lambda mount: (
                f"{mount.mount_point}, {mount.share}, {self.state_word(mount)}, {boot_text(mount)}"
            ),
            StateRole: self.state_word,
            BootRole: boot_text,
            MountRole: lambda mount: mount,
            SpeedHistoryRole: self._speed_history,
        }

    def update_speeds(self, sample: SpeedsSample) -> None:
        """Add a sample to the sparklines."""
        changed = self._speeds.take(sample)
        if not changed:
            return
        for number, row in enumerate(self._rows):
            if row.mount is not None and row.mount.mount_point in changed:
                index = self.index(number)
                self.dataChanged.emit(index, index, [SpeedHistoryRole])

    def clear_speeds(self) -> None:
        """Remove all sparklines, because another host is shown or the samples ended."""
        self._speeds.clear()
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1), [SpeedHistoryRole])

    def apply(self, table: MountTable) -> None:
        """Show a mount table.

        Rows at the beginning and at the end that show the same mounts stay. The rows between are replaced.
        """
        self._update_clock(table)
        new_rows = _rows_of(table.mounts)
        old_rows = self._rows
        shorter = min(len(new_rows), len(old_rows))
        first = next(
            (row for row in range(shorter) if not old_rows[row].is_same_place(new_rows[row])), shorter
        )
        same_at_end = 0
        while same_at_end < shorter - first and old_rows[-1 - same_at_end].is_same_place(
            new_rows[-1 - same_at_end]
        ):
            same_at_end += 1
        old_end, new_end = len(old_rows) - same_at_end, len(new_rows) - same_at_end
        if old_end > first:
            self.beginRemoveRows(_NO_INDEX, first, old_end - 1)
            del old_rows[first:old_end]
            self.endRemoveRows()
        if new_end > first:
            self.beginInsertRows(_NO_INDEX, first, new_end - 1)
            old_rows[first:first] = new_rows[first:new_end]
            self.endInsertRows()
        for row, now in enumerate(new_rows):
            if old_rows[row] != now:
                old_rows[row] = now
                index = self.index(row)
                self.dataChanged.emit(index, index)

    def replace_all(self, table: MountTable) -> None:
        """Show a mount table and reset the model; faster than :meth:`apply` if most rows differ."""
        self._update_clock(table)
        self.beginResetModel()
        self._rows = _rows_of(table.mounts)
        self.endResetModel()

    def find(self, share: str, mount_point: str) -> QModelIndex:
        """Return the index of a mount; it is invalid if the mount is not in the list."""
        for number, row in enumerate(self._rows):
            mount = row.mount
            if mount is not None and (mount.share, mount.mount_point) == (share, mount_point):
                return self.index(number)
        return QModelIndex()

    def first(self) -> QModelIndex:
        """Return the index of the first mount; it is invalid if the list is empty."""
        return self.index(1) if self._rows else QModelIndex()

    def mounts(self) -> list[Mount]:
        """Return all mounts in the order of the list."""
        return [row.mount for row in self._rows if row.mount is not None]

    def state_word(self, mount: Mount) -> str:
        """Return the text for the state of a mount."""
        return (
            self.tr("Mounted (differs)") if mount.state == "differs" else mount_state_text(mount, self._now())
        )

    def _update_clock(self, table: MountTable) -> None:
        if table.now:
            self._clock_ahead_s = table.now - time.time()
        if any(mount.since is not None for mount in table.mounts):
            self._tick.start()
        else:
            self._tick.stop()

    def _now(self) -> float:
        return time.time() + self._clock_ahead_s

    def _on_tick(self) -> None:
        for number, row in enumerate(self._rows):
            if row.mount is not None and row.mount.since is not None:
                index = self.index(number)
                self.dataChanged.emit(index, index, [StateRole, Qt.ItemDataRole.AccessibleTextRole])

    # Qt overrides

    def rowCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: headings and mounts."""
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        """Qt: headings can be neither focused nor selected."""
        if not index.isValid() or self._rows[index.row()].mount is None:
            return _HEADING_FLAGS
        return _MOUNT_FLAGS

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Qt: mount point, tool tip, accessible text; further roles give the Mount, its state and speeds."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        return self._mount_data(row.mount, role) if row.mount is not None else self._heading_data(row, role)

    def _heading_data(self, row: _Row, role: int) -> Any:
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return row.server
        if role == StateRole:
            return self.tr("1 mount") if row.below == 1 else self.tr("{count} mounts").format(count=row.below)
        return None

    def _mount_data(self, mount: Mount, role: int) -> Any:
        make = self._by_role.get(role)
        return make(mount) if make is not None else None

    def _speed_history(self, mount: Mount) -> SpeedHistory | None:
        return self._speeds.speed_history(mount.mount_point) if mount.active is not None else None
