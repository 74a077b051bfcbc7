"""Store of saved tests: adding, finding, tagging, deleting, and baselines."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_results import figure, result, transfer

from advisor.facts import LinkFacts
from app.errors import AppError, ErrorKind
from app.history.model import Run, RunFilter
from app.history.result_codec import decode_result, encode_result
from app.history.store import _NEWEST, HistoryStore, _where
from app.speedtest.model import Environment, Sample


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    with HistoryStore.open(tmp_path / "deep/history.sqlite") as found:
        yield found


def at(day: int) -> str:
    return f"2026-03-{day:02}T10:00:00+00:00"


def test_an_added_run_is_read_back(store: HistoryStore) -> None:
    run = Run(result=result(samples=200), tags=("b", "a"), note="After the switch.")
    number = store.add(run)
    found = store.get(number)
    assert (found.tags, found.note, found.origin) == (("a", "b"), "After the switch.", "")
    assert len(found.uid) == 32
    write = found.result.write
    assert write is not None
    assert len(write.samples) == 200
    assert run.result.write is not None
    for now, then in zip(write.samples, run.result.write.samples, strict=True):
        assert now.t_s == pytest.approx(then.t_s, abs=1e-6)
        assert (now.rtt_s is None) == (then.rtt_s is None)
        assert msgspec.structs.replace(now, t_s=0, rtt_s=0) == msgspec.structs.replace(then, t_s=0, rtt_s=0)
    bare = {name: transfer(1) for name in ("write", "read")}
    assert msgspec.structs.replace(found.result, **bare) == msgspec.structs.replace(run.result, **bare)


counters = st.integers(0, 2**62)


@settings(max_examples=50)
@given(
    st.lists(
        st.builds(
            Sample,
            st.floats(0, 1e5),
            counters,
            counters,
            timeouts=counters,
            retransmissions=counters,
            rtt_s=st.none() | st.floats(0, 1e4),
        ),
        max_size=20,
    )
)
def test_any_samples_are_read_back(samples: list[Sample]) -> None:
    plain = result()
    assert plain.read is not None
    packed = msgspec.structs.replace(
        plain, write=None, read=msgspec.structs.replace(plain.read, samples=samples)
    )
    found = decode_result(*encode_result(packed))
    assert found.write is None
    assert found.read is not None
    for now, then in zip(found.read.samples, samples, strict=True):
        assert now.t_s == pytest.approx(then.t_s, abs=1e-6)
        assert now.rtt_s == (None if then.rtt_s is None else pytest.approx(then.rtt_s, abs=1e-7))
        assert (now.bytes, now.server_bytes) == (then.bytes, then.server_bytes)
        assert (now.timeouts, now.retransmissions) == (then.timeouts, then.retransmissions)


@pytest.mark.parametrize("body", [b"", b"\x02abc", b"\x01abc", encode_result(result())[0][:-20]])
def test_damaged_bytes_are_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        decode_result(body, encode_result(result())[1])
    with pytest.raises(ValueError, match=r".*"):
        decode_result(encode_result(result())[0], body)


def test_rows_have_the_columns_of_lists(store: HistoryStore) -> None:
    store.add(Run(result=result([100e6, 90e6, 110e6], [200e6, 1e9, 210e6], cached=True)))
    (row,) = store.find()
    assert (row.share, row.server, row.host, row.path) == ("nas:/home", "nas", "desk", "/mnt/home")
    assert (row.write, row.read, row.read_cached, row.repeats) == (100e6, 210e6, True, 3)
    assert (row.options, row.requested) == ("vers=4.2,rsize=65536,hard", "rsize=65536")
    assert (row.kind, row.link, row.nfs, row.baseline) == ("file", "", True, False)


def test_without_nfs_the_path_is_the_share(store: HistoryStore) -> None:
    local = result(nfs=False, share=None, effective={}, environment=None, figures={}, write=None)
    store.add(Run(result=local))
    (row,) = store.find()
    assert (row.share, row.server, row.host, row.write, row.read) == ("/mnt/home", "", "", None, 110e6)


def test_the_same_result_is_saved_once(store: HistoryStore) -> None:
    first = store.add(Run(result=result()))
    assert store.add(Run(result=result(), note="again")) == first
    assert store.add(Run(result=result(), uid="other")) != first
    assert store.count() == 2
    assert store.known("other") is not None
    assert store.known("none") is None


def _some(store: HistoryStore) -> list[int]:
    lab = LinkFacts(name="wan", emulated=True)
    return [
        store.add(Run(result=result(started_at=at(1)), tags=("old",))),
        store.add(Run(result=result(started_at=at(3), share="nas:/Médias", workload="files"), note="FAST")),
        store.add(Run(result=result(started_at=at(2), link=lab, share="10.9.0.2:/"), tags=("old", "lab"))),
        store.add(Run(result=result(started_at=at(4), environment=Environment(host="den")))),
    ]


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        (RunFilter(), [3, 1, 2, 0]),
        (RunFilter(limit=2), [3, 1]),
        (RunFilter(limit=2, offset=2), [2, 0]),
        (RunFilter(share="nas:/home"), [3, 0]),
        (RunFilter(server="nas"), [3, 1, 0]),
        (RunFilter(host="den"), [3]),
        (RunFilter(kind="files"), [1]),
        (RunFilter(link="wan"), [2]),
        (RunFilter(tag="old"), [2, 0]),
        (RunFilter(tag="ol"), []),
        (RunFilter(text="fast"), [1]),
        (RunFilter(text="MÉDIAS nas"), [1]),
        (RunFilter(text="rsize=65536 old"), [2, 0]),
        (RunFilter(text="%"), []),
        (RunFilter(text="size=*"), []),
        (RunFilter(text="rsi?e"), []),
        (RunFilter(text="[r]size"), []),
        (RunFilter(text="f"), [1]),
        (RunFilter(text="rsize=65536,hard old"), [2, 0]),
        (RunFilter(text="x" * 60_000), []),
        (RunFilter(share="nas:/home", text="old"), [0]),
        (RunFilter(since=datetime(2026, 3, 2, 10, tzinfo=UTC)), [3, 1, 2]),
        (RunFilter(until=datetime(2026, 3, 2, 10, tzinfo=UTC)), [0]),
        (RunFilter(baseline=True), []),
    ],
)
def test_filters(store: HistoryStore, wanted: RunFilter, places: list[int]) -> None:
    numbers = _some(store)
    assert [row.id for row in store.find(wanted)] == [numbers[place] for place in places]
    if wanted.limit == RunFilter().limit:
        assert store.count(wanted) == len(places)


signs = st.text("ab*?[]^-!%_ß,Éİ ", max_size=6)


@settings(max_examples=100)
@given(st.lists(signs, min_size=1, max_size=4), signs)
def test_a_word_is_found_anywhere_in_a_note(notes: list[str], text: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE runs (search)")
        connection.executemany("INSERT INTO runs VALUES (?)", [(note.casefold(),) for note in notes])
        where, values = _where(RunFilter(text=text))
        (found,) = connection.execute(f"SELECT count(*) FROM runs{where}", values).fetchone()
    words = text.casefold().split()
    assert found == sum(all(word in note.casefold() for word in words) for note in notes)


@pytest.mark.parametrize(
    "wanted",
    [
        RunFilter(),
        RunFilter(offset=100),
        RunFilter(share="nas:/home"),
        RunFilter(server="nas"),
        RunFilter(host="den"),
        RunFilter(link="wan"),
        RunFilter(kind="files"),
        RunFilter(tag="old"),
        RunFilter(baseline=True),
        RunFilter(text="two words"),
        RunFilter(share="nas:/home", text="word"),
    ],
)
def test_every_query_uses_an_index(store: HistoryStore, wanted: RunFilter) -> None:
    where, values = _where(wanted)
    for query in (f"SELECT count(*) FROM runs{where}", f"SELECT id FROM runs{where}{_NEWEST} LIMIT 500"):
        with store._database.reading() as connection:
            plan = connection.execute(f"EXPLAIN QUERY PLAN {query}", values).fetchall()
        (step,) = (str(line[3]) for line in plan)
        assert "USING COVERING INDEX" in step


def test_values_to_filter_by(store: HistoryStore) -> None:
    _some(store)
    values = store.values()
    assert values.shares == ["10.9.0.2:/", "nas:/Médias", "nas:/home"]
    assert (values.hosts, values.tags, values.kinds) == (["den", "desk"], ["lab", "old"], ["file", "files"])


def test_tags_and_notes(store: HistoryStore) -> None:
    first, second = (store.add(Run(result=result(started_at=at(day)))) for day in (1, 2))
    store.tag([first, second], add=["x", "y"])
    store.tag([first], add=["z"], remove=["x", "nothing"])
    store.note(second, "  Cable changed ")
    assert store.get(first).tags == ("y", "z")
    assert store.get(second).note == "Cable changed"
    assert [row.id for row in store.find(RunFilter(text="cable y"))] == [second]
    for tag in ("", "two words", "a,b", "line\n"[:4] + "\x1b"):
        with pytest.raises(AppError) as caught:
            store.tag([first], add=[tag])
        assert caught.value.kind is ErrorKind.USAGE


def test_a_deletion_can_be_undone(store: HistoryStore) -> None:
    first, second = (store.add(Run(result=result(started_at=at(day)))) for day in (1, 2))
    store.set_baseline(first)
    store.tag([first], add=["kept"])
    (gone,) = store.delete([first, first])
    assert [row.id for row in store.find()] == [second]
    assert store.add(gone) == first
    back = store.get(first)
    assert (back.tags, back.baseline) == (("kept",), True)
    with pytest.raises(AppError):
        store.delete([second, 99])
    assert store.count() == 2


@pytest.mark.parametrize("act", ["get", "note", "tag", "delete", "set_baseline", "clear_baseline"])
def test_an_unknown_run_is_refused(store: HistoryStore, act: str) -> None:
    args = {"note": (7, ""), "tag": ([7],), "delete": ([7],)}.get(act, (7,))
    with pytest.raises(AppError) as caught:
        getattr(store, act)(*args)
    assert caught.value.kind is ErrorKind.USAGE


def test_each_distinct_test_has_its_own_baseline(store: HistoryStore) -> None:
    lab = LinkFacts(name="wan", emulated=True)
    one, two = (store.add(Run(result=result(started_at=at(day)))) for day in (1, 2))
    small = store.add(Run(result=result(workload="files")))
    far = store.add(Run(result=result(link=lab)))
    synced = store.add(Run(result=result(sync=True)))
    assert [store.set_baseline(number) for number in (one, small, far, synced, one)] == [[], [], [], [], []]
    assert store.set_baseline(two) == [one]  # the same test: the newer run replaces the baseline
    assert {row.id for row in store.find(RunFilter(baseline=True))} == {two, small, far, synced}
    for wanted, number in (
        (result(), two), (result(workload="files"), small), (result(link=lab), far),
        (result(sync=True), synced), (result(block_size=512), two),
    ):  # fmt: skip
        found = store.baseline_for(wanted)
        assert found is not None
        assert found.id == number
    for number in (two, synced):
        store.clear_baseline(number)
    assert store.baselines("nas:/home") == []
    assert store.baseline_for(result()) is None


def test_a_restored_baseline_replaces_only_that_of_the_same_test(store: HistoryStore) -> None:
    one, synced = (store.add(Run(result=result(sync=sync))) for sync in (False, True))
    for number in (one, synced):
        store.set_baseline(number)
    (gone,) = store.delete([one])
    two = store.add(Run(result=result(started_at=at(2))))
    store.set_baseline(two)
    store.add(gone)
    assert {run.id for run in store.baselines("nas:/home")} == {one, synced}


def test_an_unreadable_baseline_is_replaced(store: HistoryStore) -> None:
    one, two = (store.add(Run(result=result(started_at=at(day)))) for day in (1, 2))
    store.set_baseline(one)
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE bodies SET body = x'02' WHERE run = ?", (one,))
    assert store.set_baseline(two) == [one]


def test_a_result_without_a_time_is_refused(store: HistoryStore) -> None:
    with pytest.raises(AppError) as caught:
        store.add(Run(result=result(started_at="yesterday")))
    assert caught.value.kind is ErrorKind.USAGE


def test_two_programs_and_many_threads_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"

    def work(store: HistoryStore, side: int) -> None:
        for place in range(10):
            store.add(Run(result=result(figures={"write": figure([side * 1000 + place])})))

    with HistoryStore.open(path) as one, HistoryStore.open(path) as two:
        threads = [
            threading.Thread(target=work, args=(one if side % 2 else two, side)) for side in range(1, 5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.count() == two.count() == 40
