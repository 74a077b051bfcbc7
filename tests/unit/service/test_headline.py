"""The headline from the mount, its advice and its last test, and the sentences for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from advisor.recommendation import MeasuredOption
from app.history.last_test import LastTest
from app.mounts.model import Active, Mount
from app.service.advice import advise
from app.service.headline import mount_headline
from app.service.model import AdviceArgs, AdviceResult
from app.text.headline import HeadlineText, headline_text

POINT = "/mnt/a"
WAN = LinkFacts(kind="ethernet", rate_bps=1e8, rtt_s=0.04, mtu=1500)
SERVER = ServerFacts(name="nas01", address="192.0.2.7")


def mount(options: str = "", kb: int = 128, **changes: Any) -> Mount:
    active = Active(
        mount_id=1, device="0:50", share="nas01:/x", fstype="nfs4", recorded=options, read_ahead_kb=kb,
        options=f"rw,vers=4.2,rsize=262144,wsize=262144,hard,{options}",
    )  # fmt: skip
    known = {"mount_point": POINT, "share": "nas01:/x", "state": "mounted", "active": active}
    return Mount(**{**known, "requested": options, "after_boot": "mounted", **changes})


def advice(row: Mount, link: LinkFacts = WAN, server: ServerFacts = SERVER, **args: Any) -> AdviceResult:
    facts = Facts(client=ClientFacts(kernel="6.12.0", udp=False), link=link, server=server)
    return advise(AdviceArgs(mount_point=POINT, **args), lambda _share: facts, row, [row])


def last_test(requested: dict[str, str] | None = None, kb: int = 128, **speeds: float) -> LastTest:
    return LastTest(
        id=1, started_at="2026-01-01T00:00:00Z", speeds=speeds or {"write": 11.5e6, "read": 11.5e6},
        requested=requested or {}, read_ahead_kb=kb, bottleneck="network",
    )  # fmt: skip


def words(row: Mount, found: AdviceResult | None, *tests: LastTest) -> HeadlineText:
    headline = mount_headline(row, found, tests)
    assert headline is not None
    return headline_text(headline, row, now=1000.0)


def test_a_readahead_that_is_too_short_for_the_link() -> None:
    row = mount()
    text = words(row, advice(row))
    assert text.title == "Small reads can be about twice as fast"
    assert text.lines == (
        "About 5.1 MB/s now, about 11 MB/s predicted. One setting: Readahead 128 KiB → 1 MiB.",
        "Nothing is interrupted. You can undo it at any time.",
        "Copies of large files stay as fast as they are.",
    )


def test_a_left_over_noac_interrupts_the_mount() -> None:
    row = mount("noac", kb=1024)
    text = words(row, advice(row))
    assert text.title == "Writing can be about 50% faster"
    assert "Cache attributes" in text.lines[0] or "noac" in text.lines[0]
    assert text.lines[1].startswith(f"Interrupts {POINT} for about 1 s.")


def test_a_change_that_a_test_found_to_make_no_difference_is_not_offered_again() -> None:
    row = mount()
    same = MeasuredOption(option="read_ahead_kb", value="1024", status="untested", text="No difference.")
    found = advice(row, measured=(same,))
    assert found.tried == ("read_ahead_kb",)
    assert words(row, found).title == "Not measured yet"


def test_the_last_test_counts_only_with_the_present_settings() -> None:
    row = mount(kb=1024)
    found = advice(row)
    assert words(row, found, last_test(kb=1024)).title == "As fast as this link allows"
    assert words(row, found, last_test(kb=1024)).lines == (
        "11.5 MB/s of 11.8 MB/s measured.", "The network link is the limit.",
    )  # fmt: skip
    # An older test with the present settings counts more than a newer one with others.
    newest, older = last_test({"rsize": "8192"}, kb=1024), last_test(kb=1024)
    assert words(row, found, newest, older).title == "As fast as this link allows"
    for other in (last_test(kb=128), last_test({"rsize": "8192"}, kb=1024)):
        text = words(row, found, other)
        assert text.title == "Not measured yet with these settings"
        assert text.lines == ("The last test ran with other settings.",)


def test_a_slow_test_without_a_remedy_names_the_limit() -> None:
    row = mount(kb=1024)
    test = replace(last_test(kb=1024, write=4e6, read=11e6), bottleneck="server")
    assert words(row, advice(row), test) == HeadlineText(
        "No known setting is faster",
        ("4 MB/s of 11.8 MB/s measured. Writing uses 34% of the link.", "The server is the limit."),
    )


def test_a_mount_that_is_not_saved_ends_at_the_next_restart() -> None:
    row = mount(kb=1024, after_boot="gone")
    assert words(row, advice(row), last_test(kb=1024)).title == "This mount ends at the next restart"
    lab = replace(WAN, emulated=True)
    assert words(row, advice(row, lab), last_test(kb=1024)).title == "As fast as this link allows"


def test_a_server_that_does_not_respond() -> None:
    row = msgspec.structs.replace(mount(), state="not-responding", since=960.0)
    assert words(row, None) == HeadlineText(
        "nas01 has not answered for 40 s",
        ("No data is lost: programs continue as soon as the server responds.",),
    )
    assert mount_headline(mount(), None) is None


def test_a_server_without_an_address() -> None:
    row = mount()
    unknown = ServerFacts(name="nosuchserver", sources={"address": "no such name"})
    text = words(row, advice(row, LinkFacts(), unknown))
    assert text.title == "Can't advise yet: nas01 has no address"


def test_a_recommendation_without_a_predicted_gain() -> None:
    row = mount("soft", kb=1024)
    assert words(row, advice(row)).title == "One setting should change"


def test_each_recommendation_has_its_own_gain() -> None:
    row = mount("noac")
    found = advice(row)
    gains = {option: item.figure for option, item in found.gains.items()}
    assert gains == {"actimeo": "write", "read_ahead_kb": "small-read"}
