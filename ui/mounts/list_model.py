"""Model of the list of mounts: servers' headings, mounts, and their speeds of the last minute.

It is flat although it looks like a tree: a tree asks Python for every row before it can show one, and a list
of thousands would take its time to open.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer

from app.text.mounts import mount_state_text
from ui.common.labels import plain_tip
from ui.common.status_text import boot_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from app.mounts.model import Mount, MountTable
    from app.stats.model import SpeedsSample

#: Samples that a curve shows: one minute, one a second.
SAMPLES_KEPT = 60


class SpeedHistory(NamedTuple):
    """One mount's last minute.

    Attributes:
        values: bytes per second both ways together, the newest last; SAMPLES_KEPT at most.
        timeouts: requests of that minute that got no answer in time.
    """

    values: tuple[float, ...]
    timeouts: int

    @property
    def now(self) -> float:
        """The newest value."""
        return self.values[-1]


class SpeedHistories:
    """Keeps the trends of the mounts that were busy within the last minute. Plain data, no Qt."""

    def __init__(self) -> None:
        self._values: dict[str, deque[tuple[float, int]]] = {}

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()

    def take(self, sample: SpeedsSample) -> set[str]:
        """Add a sample; return the mount points whose curve looks different now."""
        changed = set(self._values) | set(sample.mounts)
        for point in changed:
            speed = sample.mounts.get(point)
            moved = (speed.read_bytes_per_s + speed.write_bytes_per_s, speed.timeouts) if speed else (0.0, 0)
            self._values.setdefault(point, deque(maxlen=SAMPLES_KEPT)).append(moved)
        for point in [point for point, kept in self._values.items() if not any(map(any, kept))]:
            del self._values[point]
        return changed

    def speed_history(self, mount_point: str) -> SpeedHistory | None:
        """Return a mount's trend, None if it rested all the time."""
        kept = self._values.get(mount_point)
        if kept is None:
            return None
        return SpeedHistory(tuple(value for value, _ in kept), sum(timeouts for _, timeouts in kept))


if TYPE_CHECKING:
    AnyIndex = QModelIndex | QPersistentModelIndex

MountRole = Qt.ItemDataRole.UserRole + 1
StateRole = Qt.ItemDataRole.UserRole + 2
SpeedHistoryRole = Qt.ItemDataRole.UserRole + 3
BootRole = Qt.ItemDataRole.UserRole + 4

_NO_INDEX = QModelIndex()
_TICK_MS = 1000
#: Put together once: the view asks for them thousands of times. A heading takes neither focus nor choice.
_HEADING_FLAGS = Qt.ItemFlag.NoItemFlags
_MOUNT_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren


class _Row(NamedTuple):
    """A heading (``mount`` None, with the number of mounts ``below`` it) or a mount."""

    server: str
    mount: Mount | None
    below: int = 0

    def is_same_place(self, other: _Row) -> bool:
        """Whether the other row is of the same heading or mount, whatever its state."""
        if self.mount is None or other.mount is None:
            return self.mount is other.mount and self.server == other.server
        return (self.mount.share, self.mount.mount_point) == (other.mount.share, other.mount.mount_point)


def server_of(share: str) -> str:
    """Return the server's part of a share; an IPv6 literal keeps its brackets."""
    server, colon, _path = share.partition(":/")
    return server if colon else share


def export_of(share: str) -> str:
    """Return the path's part of a share."""
    return share[len(server_of(share)) + 1 :] or share


def _tip(mount: Mount) -> str:
    return plain_tip("\n".join([f"{mount.share} → {mount.mount_point}", *mount.differences]))


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
    """Headings and mounts.

    A new snapshot changes only the rows that differ, so that selection and focus stay where they are.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[_Row] = []
        self._speeds = SpeedHistories()
        #: Of the host, beyond the one here.
        self._clock_ahead_s = 0.0
        #: Runs while something lasts.
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
        """Draw the curves of the mounts that are or were busy on."""
        changed = self._speeds.take(sample)
        if not changed:
            return
        for place, row in enumerate(self._rows):
            if row.mount is not None and row.mount.mount_point in changed:
                index = self.index(place)
                self.dataChanged.emit(index, index, [SpeedHistoryRole])

    def clear_speeds(self) -> None:
        """Another host is shown now, or nobody tells how busy its mounts are."""
        self._speeds.clear()
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1), [SpeedHistoryRole])

    def apply(self, table: MountTable) -> None:
        """Show this snapshot: what is alike at both ends stays, what is between is exchanged."""
        self._take_clock(table)
        wanted = _rows_of(table.mounts)
        shown = self._rows
        shorter = min(len(wanted), len(shown))
        first = next((row for row in range(shorter) if not shown[row].is_same_place(wanted[row])), shorter)
        behind = 0
        while behind < shorter - first and shown[-1 - behind].is_same_place(wanted[-1 - behind]):
            behind += 1
        old_end, new_end = len(shown) - behind, len(wanted) - behind
        if old_end > first:
            self.beginRemoveRows(_NO_INDEX, first, old_end - 1)
            del shown[first:old_end]
            self.endRemoveRows()
        if new_end > first:
            self.beginInsertRows(_NO_INDEX, first, new_end - 1)
            shown[first:first] = wanted[first:new_end]
            self.endInsertRows()
        for row, now in enumerate(wanted):
            if shown[row] != now:
                shown[row] = now
                index = self.index(row)
                self.dataChanged.emit(index, index)

    def replace_all(self, table: MountTable) -> None:
        """Show this snapshot without looking at what is shown: for one that has little in common with it."""
        self._take_clock(table)
        self.beginResetModel()
        self._rows = _rows_of(table.mounts)
        self.endResetModel()

    def find(self, share: str, mount_point: str) -> QModelIndex:
        """Return the index of a mount, or an invalid one."""
        for place, row in enumerate(self._rows):
            mount = row.mount
            if mount is not None and (mount.share, mount.mount_point) == (share, mount_point):
                return self.index(place)
        return QModelIndex()

    def first(self) -> QModelIndex:
        """Return the index of the first mount, or an invalid one."""
        return self.index(1) if self._rows else QModelIndex()

    def mounts(self) -> list[Mount]:
        """Return all mounts in the order shown."""
        return [row.mount for row in self._rows if row.mount is not None]

    def state_word(self, mount: Mount) -> str:
        """Return the state of a mount in words."""
        return (
            self.tr("Mounted (differs)") if mount.state == "differs" else mount_state_text(mount, self._now())
        )

    def _take_clock(self, table: MountTable) -> None:
        if table.now:
            self._clock_ahead_s = table.now - time.time()
        if any(mount.since is not None for mount in table.mounts):
            self._tick.start()
        else:
            self._tick.stop()

    def _now(self) -> float:
        return time.time() + self._clock_ahead_s

    def _on_tick(self) -> None:
        for place, row in enumerate(self._rows):
            if row.mount is not None and row.mount.since is not None:
                index = self.index(place)
                self.dataChanged.emit(index, index, [StateRole, Qt.ItemDataRole.AccessibleTextRole])

    # Qt overrides

    def rowCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: headings and mounts."""
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        """Qt: headings are passed over."""
        if not index.isValid() or self._rows[index.row()].mount is None:
            return _HEADING_FLAGS
        return _MOUNT_FLAGS

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Qt: text, tool tip, accessible text, the Mount itself and its state in words."""
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
