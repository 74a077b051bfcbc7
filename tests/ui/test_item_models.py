"""Item models: Qt's model tester finds no violation, empty, filled, and during updates."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import msgspec
from fake_host import configured, mounted, result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt

from advisor.bottleneck import TransferLoad
from app.mounts.model import Mount, MountTable
from ui.common.result_tables import ResultModel, WarnRole
from ui.mounts.list_model import MountListModel, MountRole, StateRole, export_of, server_of

if TYPE_CHECKING:
    from pytestqt.modeltest import ModelTester

SHARES = ("a:/x", "a:/y", "b:/x", "[fd00::1]:/z")
POINTS = ("/1", "/2", "/3")


def table(*mounts: Mount) -> MountTable:
    return MountTable(mounts=sorted(mounts, key=lambda row: (row.share, row.mount_point)))


def shown(model: MountListModel) -> list[tuple[str, list[Mount]]]:
    groups: list[tuple[str, list[Mount]]] = []
    for row in range(model.rowCount()):
        mount = model.index(row).data(MountRole)
        if mount is None:
            groups.append((model.index(row).data(), []))
            assert not model.flags(model.index(row)) & Qt.ItemFlag.ItemIsEnabled
        else:
            groups[-1][1].append(mount)
    return groups


def test_parts_of_a_share() -> None:
    assert server_of("nas01:/export/home") == "nas01"
    assert server_of("[fd00::1]:/z") == "[fd00::1]"
    assert export_of("[fd00::1]:/z") == "/z"
    assert export_of("nas01:/") == "/"


def test_empty(qtmodeltester: ModelTester) -> None:
    model = MountListModel()
    qtmodeltester.check(model)
    assert model.rowCount() == 0
    assert not model.first().isValid()


def test_groups_by_server(qtmodeltester: ModelTester) -> None:
    model = MountListModel()
    one, two = mounted(), configured()
    other = mounted("zeus:/a", "/a")
    model.apply(table(one, two, other))
    qtmodeltester.check(model)
    assert shown(model) == [("nas01", [one, two]), ("zeus", [other])]
    assert model.first().data() == "/home"
    assert model.index(0).data(StateRole) == "2 mounts"
    assert model.find("nas01:/media", "/media").data(StateRole) == "Not mounted"
    assert not model.find("nas01:/media", "/elsewhere").isValid()


def test_every_state_has_a_word_and_an_accessible_text(qapp: object) -> None:
    model = MountListModel()
    for state in ("mounted", "not-mounted", "not-responding", "differs"):
        model.apply(table(Mount(mount_point="/m", share="a:/b", state=state)))
        index = model.first()
        assert index.data(StateRole)
        assert index.data(StateRole) in index.data(Qt.ItemDataRole.AccessibleTextRole)


def test_a_changed_row_stays_where_it_is(qapp: object) -> None:
    model = MountListModel()
    model.apply(table(mounted(), configured()))
    kept = QPersistentModelIndex(model.find("nas01:/export/home", "/home"))
    changes: list[QModelIndex] = []
    model.dataChanged.connect(lambda first, _last, _roles: changes.append(first))
    gone = msgspec.structs.replace(mounted(), state="not-responding")
    model.apply(table(gone, configured(), mounted("abc:/1", "/1")))
    assert kept.isValid()
    assert kept.data(MountRole).state == "not-responding"
    assert len(changes) == 1


def test_one_mounted_over_itself(qtmodeltester: ModelTester) -> None:
    model = MountListModel()
    model.apply(table(mounted(), mounted()))
    qtmodeltester.check(model)
    assert shown(model) == [("nas01", [mounted(), mounted()])]
    model.apply(table(mounted()))
    assert shown(model) == [("nas01", [mounted()])]


mount_lists = st.lists(
    st.builds(
        lambda share, point, state: Mount(mount_point=point, share=share, state=state),
        st.sampled_from(SHARES), st.sampled_from(POINTS),
        st.sampled_from(("mounted", "not-mounted", "differs")),
    ),
    max_size=8,
)  # fmt: skip


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
    max_examples=60,
)
@given(snapshots=st.lists(mount_lists, min_size=1, max_size=5), shuffle=st.booleans())
def test_any_row_of_snapshots(
    qtmodeltester: ModelTester, snapshots: list[list[Mount]], shuffle: bool
) -> None:
    model = MountListModel()
    qtmodeltester.check(model)
    for mounts in snapshots:
        snapshot = table(*mounts)
        if shuffle:
            random.Random(1).shuffle(snapshot.mounts)
        model.apply(snapshot)
        assert sorted(map(repr, model.mounts())) == sorted(map(repr, mounts))


def test_result_model(qtmodeltester: ModelTester) -> None:
    model = ResultModel()
    qtmodeltester.check(model)
    assert (model.rowCount(), model.columnCount()) == (0, 0)
    model.show_result(result(cached=True))
    texts = {model.index(row, 0).data(): [model.index(row, 1).data(), model.index(row, 2).data()]
             for row in range(model.rowCount())}  # fmt: skip
    assert texts["Speed"] == ["100 MB/s", "110 MB/s (cached)"]
    assert texts["Timeouts"] == ["1", "1"]
    assert texts["Retransmitted TCP segments"] == ["3", "3"]
    assert model.index(0, 2).data(WarnRole)
    assert not model.index(0, 1).data(WarnRole)
    assert model.headerData(1, Qt.Orientation.Horizontal) == "To the server"
    model.show_result(None)
    assert model.rowCount() == 0


def test_result_of_one_direction_and_not_nfs(qtmodeltester: ModelTester) -> None:
    model = ResultModel()
    model.show_result(msgspec.structs.replace(result(nfs=False), read=None))
    qtmodeltester.check(model)
    assert model.columnCount() == 2
    names = [model.index(row, 0).data() for row in range(model.rowCount())]
    assert "Timeouts" not in names


def test_both_kinds_of_retransmissions_are_shown_where_known(qapp: object) -> None:
    model = ResultModel()
    full = result()
    write = msgspec.structs.replace(full.write, rpc_retransmissions=0, tcp_retransmissions=9)
    read = msgspec.structs.replace(full.read, rpc_retransmissions=2, tcp_retransmissions=None)
    model.show_result(msgspec.structs.replace(full, write=write, read=read))
    texts = {model.index(row, 0).data(): [model.index(row, 1).data(), model.index(row, 2).data()]
             for row in range(model.rowCount())}  # fmt: skip
    assert texts["Retransmitted requests"] == ["0", "2"]
    assert texts["Retransmitted TCP segments"] == ["9", "—"]
    assert "Out of order (TCP segments)" not in texts


def test_what_the_server_sent_again_shows_as_disorder(qapp: object) -> None:
    load = TransferLoad(
        seconds=1, bytes=1, calls=1, rtt_s=1, queue_s=0, commit_s=0, received=200, disordered=29
    )
    full = result()
    model = ResultModel()
    model.show_result(
        msgspec.structs.replace(
            full,
            write=msgspec.structs.replace(full.write, load=load),
            read=msgspec.structs.replace(full.read, load=load),
        )
    )
    row = next(row for row in range(model.rowCount()) if "order" in model.index(row, 0).data())
    assert [model.index(row, column).data() for column in (1, 2)] == ["—", "14%"]
