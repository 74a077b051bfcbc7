"""The mounts of one host, grouped by server."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from ui.widgets.labels import plain_tip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.mounts.model import Mount, MountTable

    AnyIndex = QModelIndex | QPersistentModelIndex

MountRole = Qt.ItemDataRole.UserRole + 1
StateRole = Qt.ItemDataRole.UserRole + 2

_NO_INDEX = QModelIndex()
#: Put together once: the view asks for them thousands of times. A heading is not selected.
_HEADING_FLAGS = Qt.ItemFlag.ItemIsEnabled
_MOUNT_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren


class _Group:
    """The mounts of one server; ``uid`` is what child indexes carry."""

    __slots__ = ("keys", "mounts", "server", "uid")

    def __init__(self, uid: int, server: str, mounts: list[Mount]) -> None:
        self.uid = uid
        self.server = server
        self.mounts = mounts
        self.keys = _keys(mounts)


def server_of(share: str) -> str:
    """Return the server's part of a share; an IPv6 literal keeps its brackets."""
    server, colon, _path = share.partition(":/")
    return server if colon else share


def export_of(share: str) -> str:
    """Return the path's part of a share."""
    return share[len(server_of(share)) + 1 :] or share


def _keys(mounts: Sequence[Mount]) -> list[tuple[str, str, int]]:
    """Return what identifies each mount; one mounted twice over itself is told apart by its place."""
    seen: Counter[tuple[str, str]] = Counter()
    keys: list[tuple[str, str, int]] = []
    for mount in mounts:
        pair = (mount.share, mount.mount_point)
        keys.append((*pair, seen[pair]))
        seen[pair] += 1
    return keys


class MountsModel(QAbstractItemModel):
    """Two levels: servers, and under each its mounts.

    A new snapshot changes only the rows that differ, so that selection and focus stay where they are.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._groups: list[_Group] = []
        self._by_uid: dict[int, _Group] = {}
        self._rows: dict[int, int] | None = None
        self._uids = itertools.count(1)

    def apply(self, table: MountTable) -> None:
        """Show this snapshot."""
        wanted: dict[str, list[Mount]] = {}
        for mount in table.mounts:
            wanted.setdefault(server_of(mount.share), []).append(mount)
        for row in reversed(range(len(self._groups))):
            if self._groups[row].server not in wanted:
                self._remove_group(row)
        for row, (server, mounts) in enumerate(wanted.items()):
            self._place_group(row, server, mounts)

    def apply_anew(self, table: MountTable) -> None:
        """Show this snapshot without looking at what is shown: for one that has little in common with it."""
        wanted: dict[str, list[Mount]] = {}
        for mount in table.mounts:
            wanted.setdefault(server_of(mount.share), []).append(mount)
        self.beginResetModel()
        self._groups = [_Group(next(self._uids), server, mounts) for server, mounts in wanted.items()]
        self._by_uid = {group.uid: group for group in self._groups}
        self._rows = None
        self.endResetModel()

    def find(self, share: str, mount_point: str) -> QModelIndex:
        """Return the index of a mount, or an invalid one."""
        for group_row, group in enumerate(self._groups):
            for row, mount in enumerate(group.mounts):
                if (mount.share, mount.mount_point) == (share, mount_point):
                    return self.index(row, 0, self.index(group_row, 0))
        return QModelIndex()

    def first(self) -> QModelIndex:
        """Return the index of the first mount, or an invalid one."""
        return self.index(0, 0, self.index(0, 0)) if self._groups else QModelIndex()

    def mounts(self) -> list[Mount]:
        """Return all mounts in the order shown."""
        return [mount for group in self._groups for mount in group.mounts]

    def _place_group(self, row: int, server: str, mounts: list[Mount]) -> None:
        if row < len(self._groups) and self._groups[row].server == server:
            self._update_group(row, mounts)
            return
        for other in range(row, len(self._groups)):
            if self._groups[other].server == server:
                self._remove_group(other)
                break
        self.beginInsertRows(QModelIndex(), row, row)
        group = _Group(next(self._uids), server, mounts)
        self._groups.insert(row, group)
        self._by_uid[group.uid] = group
        self._rows = None
        self.endInsertRows()

    def _remove_group(self, row: int) -> None:
        self.beginRemoveRows(QModelIndex(), row, row)
        del self._by_uid[self._groups.pop(row).uid]
        self._rows = None
        self.endRemoveRows()

    def _update_group(self, group_row: int, mounts: list[Mount]) -> None:
        group = self._groups[group_row]
        parent = self.index(group_row, 0)
        keys = _keys(mounts)
        wanted = set(keys)
        for row in reversed(range(len(group.keys))):
            if group.keys[row] not in wanted:
                self._remove_mount(group, parent, row)
        present = set(group.keys)
        for row, mount in enumerate(mounts):
            key = keys[row]
            if row < len(group.keys) and group.keys[row] == key:
                self._change_mount(group, row, parent, mount)
                continue
            if key in present:
                self._remove_mount(group, parent, group.keys.index(key))
            self.beginInsertRows(parent, row, row)
            group.mounts.insert(row, mount)
            group.keys.insert(row, key)
            self.endInsertRows()

    def _remove_mount(self, group: _Group, parent: QModelIndex, row: int) -> None:
        self.beginRemoveRows(parent, row, row)
        del group.mounts[row], group.keys[row]
        self.endRemoveRows()

    def _change_mount(self, group: _Group, row: int, parent: QModelIndex, mount: Mount) -> None:
        if group.mounts[row] != mount:
            group.mounts[row] = mount
            index = self.index(row, 0, parent)
            self.dataChanged.emit(index, index)

    def state_word(self, mount: Mount) -> str:
        """Return the state of a mount in words."""
        return {
            "mounted": self.tr("mounted"),
            "not-mounted": self.tr("not mounted"),
            "not-responding": self.tr("not responding"),
            "differs": self.tr("mounted, differs from what is configured"),
        }[mount.state]

    # Qt overrides

    def index(self, row: int, column: int, parent: AnyIndex = _NO_INDEX) -> QModelIndex:
        """Qt: the index of a row; a mount carries the uid of its group."""
        if column != 0 or row < 0:
            return QModelIndex()
        if not parent.isValid():
            return self.createIndex(row, 0, 0) if row < len(self._groups) else QModelIndex()
        if parent.internalId() != 0 or parent.row() >= len(self._groups):
            return QModelIndex()
        group = self._groups[parent.row()]
        return self.createIndex(row, 0, group.uid) if row < len(group.mounts) else QModelIndex()

    def parent(self, child: AnyIndex = _NO_INDEX) -> QModelIndex:  # type: ignore[override]
        """Qt: the heading above a mount."""
        if not child.isValid() or child.internalId() == 0:
            return QModelIndex()
        group = self._by_uid.get(child.internalId())
        if group is None:
            return QModelIndex()
        if self._rows is None:
            self._rows = {each.uid: row for row, each in enumerate(self._groups)}
        return self.createIndex(self._rows[group.uid], 0, 0)

    def rowCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: servers, or the mounts of one."""
        if not parent.isValid():
            return len(self._groups)
        if parent.internalId() != 0 or parent.row() >= len(self._groups):
            return 0
        return len(self._groups[parent.row()].mounts)

    def columnCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: always one."""
        del parent
        return 1

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        """Qt: headings are enabled but not selected."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return _HEADING_FLAGS if index.internalId() == 0 else _MOUNT_FLAGS

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Qt: text, tool tip, accessible text, the Mount itself and its state in words."""
        if not index.isValid():
            return None
        if index.internalId() == 0:
            group = self._groups[index.row()]
            return group.server if role in _TEXT_ROLES else None
        mount = self._mount_at(index)
        return self._mount_data(mount, role) if mount is not None else None

    def _mount_at(self, index: AnyIndex) -> Mount | None:
        group = self._by_uid.get(index.internalId())
        return group.mounts[index.row()] if group is not None and index.row() < len(group.mounts) else None

    def _mount_data(self, mount: Mount, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return mount.mount_point
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip("\n".join([f"{mount.share} → {mount.mount_point}", *mount.differences]))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{mount.mount_point}, {mount.share}, {self.state_word(mount)}"
        if role == StateRole:
            return self.state_word(mount)
        if role == MountRole:
            return mount
        return None


_TEXT_ROLES = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
