"""Discovery queries, their countdown, incomplete shares and suggestions; without widgets and agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_call import FakeCall
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QObject

from advisor.share import Share
from app.discovery.model import ExportedPath, ExportsResult, KnownServer, RootEntry
from app.errors import AppError, ErrorKind
from ui.settings.discovery_model import (
    DiscoveryQuery,
    SuggestionTexts,
    server_in_share,
    split_share,
    suggest_exports,
    suggest_servers,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = SuggestionTexts("everyone", "export", "directory", "known", {"fstab": "in fstab"})


class Harness:
    def __init__(self) -> None:
        self.now = 100.0
        self.calls: list[tuple[str, Any, FakeCall]] = []
        self.refuses: AppError | None = None
        self.changes = 0
        self.owner = QObject()
        self.query = DiscoveryQuery(self.submit, "verb", str.upper, self.owner, lambda: self.now)  # type: ignore[arg-type]
        self.query.changed.connect(self.count)

    def submit(self, verb: str, args: Any) -> FakeCall:
        if self.refuses is not None:
            raise self.refuses
        call = FakeCall()
        self.calls.append((verb, args, call))
        return call

    def count(self) -> None:
        self.changes += 1


@pytest.fixture
def harness(qapp: object) -> Iterator[Harness]:
    del qapp
    made = Harness()
    yield made
    made.query.reset()


def test_an_answer_is_stored(harness: Harness) -> None:
    harness.query.ask("nas01")
    assert harness.query.state == "asking"
    assert [(verb, args) for verb, args, _ in harness.calls] == [("verb", "NAS01")]
    harness.calls[0][2].succeeded.emit("answer")
    assert (harness.query.state, harness.query.result) == ("answered", "answer")
    harness.query.ask("nas01")
    assert len(harness.calls) == 1


def test_a_new_query_cancels_the_previous_one(harness: Harness) -> None:
    harness.query.ask("one")
    harness.query.ask("two")
    old, new = harness.calls[0][2], harness.calls[1][2]
    assert old.cancelled
    old.succeeded.emit("of one")
    old.failed.emit(AppError(ErrorKind.CANCELLED, "Cancelled."))
    assert harness.query.state == "asking"
    new.succeeded.emit("of two")
    assert (harness.query.server, harness.query.result) == ("two", "of two")


def test_the_countdown_ends_at_zero(harness: Harness) -> None:
    harness.query.ask("nas01")
    seen = [harness.query.seconds_left]
    for _ in range(4):
        harness.now += 1
        seen.append(harness.query.seconds_left)
    assert seen == [3, 2, 1, 0, 0]
    assert harness.query.state == "asking"


def test_a_query_is_delayed_until_typing_pauses(harness: Harness) -> None:
    harness.query.ask("n", delay_ms=60_000)
    harness.query.ask("na", delay_ms=60_000)
    assert harness.query.state == "waiting"
    assert harness.calls == []
    harness.query.ask("na")
    assert [args for _, args, _ in harness.calls] == ["NA"]


def test_cancel_keeps_an_answer(harness: Harness) -> None:
    harness.query.ask("nas01")
    harness.query.cancel()
    assert harness.query.state == "idle"
    assert harness.calls[0][2].cancelled
    harness.query.ask("nas01")
    harness.calls[1][2].succeeded.emit("answer")
    harness.query.cancel()
    assert harness.query.result == "answer"


def test_a_failed_query_can_be_repeated(harness: Harness) -> None:
    harness.query.ask("nas01")
    harness.calls[0][2].failed.emit(AppError(ErrorKind.SERVER_SILENT, "No answer."))
    assert harness.query.state == "failed"
    harness.query.ask("nas01")
    assert harness.query.state == "asking"
    assert harness.query.error is None


def test_a_lost_connection_is_a_failure(harness: Harness) -> None:
    harness.refuses = AppError(ErrorKind.PROTOCOL, "Gone.")
    harness.query.ask("nas01")
    assert harness.query.state == "failed"
    assert harness.query.error is harness.refuses


# Incomplete shares

EXPORT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).map(lambda text: "/" + text)
HOST = st.sampled_from(
    ["nas01", "nas01.example.org", "10.0.0.7", "fd00::1", "fe80::1%eth0", "bücher", "サーバ"]
)


@given(st.text(max_size=30))
def test_the_parts_of_a_share_make_the_text(text: str) -> None:
    share = split_share(text)
    assert share.server + ":" * share.colon + share.export == text


@given(HOST, EXPORT, st.data())
def test_every_prefix_of_a_share_is_split(host: str, export: str, data: st.DataObject) -> None:
    whole = f"{server_in_share(host)}:{export}"
    server = server_in_share(host)
    end = data.draw(st.integers(0, len(whole)))
    share = split_share(whole[:end])
    if end <= len(server):
        assert share == (whole[:end], False, "")
    else:
        assert share == (server, True, whole[len(server) + 1 : end])
        assert share.host == host


def test_an_ipv6_address_without_brackets_is_incomplete() -> None:
    assert split_share("fd00::1") == ("fd00::1", False, "")


def known(name: str, *exports: str) -> KnownServer:
    return KnownServer(name=name, sources=["fstab"], exports=list(exports))


def test_servers_that_begin_with_the_text_come_first() -> None:
    rows = suggest_servers("NAS", [known("big-nas"), known("nas01"), known("zeus"), known("fd00::1")], WORDS)
    assert [(row.label, row.note, row.text) for row in rows] == [
        ("nas01", "in fstab", "nas01:"), ("big-nas", "in fstab", "big-nas:"),
    ]  # fmt: skip
    assert suggest_servers("[fd", [known("fd00::1")], WORDS)[0].text == "[fd00::1]:"


def test_exports_are_listed_once_with_their_clients() -> None:
    result = ExportsResult(
        server="nas01", address="10.0.0.7",
        exports=[ExportedPath(path="/export/with space"),
                 ExportedPath(path="/export/home", clients=["10.0.0.0/8", "a"])],
        root=[RootEntry(path="/export", export=False), RootEntry(path="/export/home", export=True),
              RootEntry(path="/secret", export=True, note="It wants Kerberos.")],
    )  # fmt: skip
    rows = suggest_exports(split_share("nas01:"), result, [known("nas01", "/old", "/export")], WORDS)
    assert [(row.label, row.note) for row in rows] == [
        ("/export/with space", "everyone"), ("/export/home", "10.0.0.0/8, a"), ("/export", "directory"),
        ("/secret", "It wants Kerberos."), ("/old", "known"),
    ]  # fmt: skip
    assert rows[0].text == "nas01:/export/with space"
    assert (
        Share.parse(suggest_exports(split_share("[fd00::1]:"), result, [], WORDS)[0].text).host == "fd00::1"
    )
    assert suggest_exports(split_share("nas01:/nothing"), result, [], WORDS) == []
