"""Advice from lint findings and from values that rules warn against."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from advisor.lint import lint
from advisor.lint_rules import LintContext
from advisor.options import MountOptions
from advisor.recommend import Advice, recommend
from advisor.recommendation import WORKLOADS, MeasuredOption, Workload
from advisor.rules import advice_rules

GIGABIT = LinkFacts(kind="ethernet", rate_bps=1e9, rtt_s=0.0004)
TEN_GIGABIT = LinkFacts(kind="ethernet", rate_bps=1e10, rtt_s=0.0002)
MADE_NOW = LintContext()


def advise(
    text: str,
    workload: Workload = "general",
    *,
    link: LinkFacts = GIGABIT,
    context: LintContext = MADE_NOW,
    without: tuple[str, ...] = (),
) -> Advice:
    facts = Facts(client=ClientFacts(), link=link)
    return recommend(MountOptions.parse(text), facts, workload, context=context, without=without)


@pytest.mark.parametrize(
    ("workload", "options", "link", "advised"),
    [
        ("virtual-machines", "nolock,vers=3", GIGABIT, "vers=3"),
        ("virtual-machines", "soft,nolock", TEN_GIGABIT, "hard,nconnect=2"),
        ("backup", "noac,sync", GIGABIT, ""),
        ("database", "lookupcache=none,nconnect=16", GIGABIT, ""),
    ],
)
def test_what_is_not_recommended_does_not_stay(
    workload: Workload, options: str, link: LinkFacts, advised: str
) -> None:
    advice = advise(options, workload, link=link)
    assert str(advice.options) == advised
    assert all(item.included and item.reason and item.source for item in advice.recommendations)


@pytest.mark.parametrize("workload", ["home", "virtual-machines", "database", "oracle", "shared-writing"])
def test_locks_and_fresh_files_where_writers_share(workload: Workload) -> None:
    advised = advise("nolock,nocto,vers=3", workload).options
    assert "lock" not in advised
    assert "cto" not in advised


@pytest.mark.parametrize("rate", [1e8, 1e9, 1e10, None])
def test_udp_on_a_fast_link_or_an_unknown_one(rate: float | None) -> None:
    """Facts of another computer, whose kernel is unknown; udp is only requested."""
    advice = advise("proto=udp,vers=3", link=LinkFacts(rate_bps=rate, rtt_s=0.0004))
    assert "proto" not in advice.options
    (item,) = [item for item in advice.recommendations if item.option == "proto"]
    assert "corrupt" in item.reason


def test_udp_stays_where_the_link_is_of_its_time() -> None:
    advice = advise("proto=udp,vers=3", link=LinkFacts(card="3com-etherlink-iii", rate_bps=1e7, rtt_s=1e-3))
    assert advice.options.get("proto") == "udp"


def test_times_of_udp_over_tcp() -> None:
    assert advise("timeo=7,vers=3").options.get("timeo") == "600"


def test_a_soft_laptop_becomes_hard_and_patient() -> None:
    wifi = LinkFacts(kind="wifi", rate_bps=3e8, rtt_s=0.003)
    advice = advise("soft,timeo=14", "home", link=wifi)
    assert advice.options.get("hard") == "hard"
    assert advice.options.get("timeo") in {None, "600"}


def test_an_address_of_the_other_family() -> None:
    context = LintContext(share="[2001:db8::1]:/export")
    advice = advise("proto=tcp", context=context)
    assert str(advice.options) == "proto=tcp6"


@pytest.mark.parametrize(
    ("options", "advised"),
    [
        ("hard,ro,soft", "ro,soft"),
        ("timeo=0700", "timeo=700"),
        ("nconect=4", "nconnect=4"),
        ("vers=3,nfsvers=4.2", "nfsvers=4.2"),
        ("rsize=64k", "rsize=65536"),
    ],
)
def test_what_is_only_written_wrongly_is_mended(options: str, advised: str) -> None:
    advice = advise(options, link=LinkFacts(rate_bps=1e9, rtt_s=0.0004))
    assert [item.layer for item in advice.recommendations] != []
    first = recommend(MountOptions.parse(options), Facts(client=ClientFacts()))
    assert str(first.options) == advised


def test_a_finding_that_no_option_mends_is_told() -> None:
    facts = Facts(client=ClientFacts(), link=GIGABIT)
    context = LintContext(share="nas:/a", connections={"4.2": 2})
    advice = recommend(MountOptions.parse("vers=4.2,nconnect=8"), facts, context=context)
    assert advice.recommendations == ()
    assert [matter.text for matter in advice.attention if "will not come about" in matter.text]


def test_each_one_can_be_left_out() -> None:
    advice = advise("soft,timeo=14,rsize=8192", without=("soft",))
    included = {item.option: item.included for item in advice.recommendations}
    assert included["hard"] is False
    assert included["rsize"] is True
    assert advice.options.get("hard") == "soft"
    assert "rsize" not in advice.options
    assert advise("rsize=8192", without=("rsize",)).attention == ()


def test_a_fix_of_several_options_is_left_out_as_a_whole() -> None:
    advice = advise("noac", without=("actimeo",))
    assert {item.option: item.included for item in advice.recommendations} == {"ac": False, "actimeo": False}
    assert str(advice.options) == "noac"


def test_what_follows_from_a_change_is_not_advised_without_it() -> None:
    """Sizes for UDP are removed together with UDP, and stay if UDP stays."""
    assert str(advise("proto=udp,rsize=8192").options) == ""
    assert str(advise("proto=udp,rsize=8192", without=("proto",)).options) == "proto=udp,rsize=8192"


def test_a_measurement_overrides_a_warning_and_no_error() -> None:
    facts = Facts(client=ClientFacts(), link=GIGABIT)
    sizes = MeasuredOption(option="rsize", value="8192", status="confirmed", text="8192 was 12% faster.")
    kept = recommend(MountOptions.parse("rsize=8192"), facts, measured=[sizes])
    assert kept.options.get("rsize") == "8192"
    soft = MeasuredOption(option="hard", value="soft", status="confirmed", text="soft was 1% faster.")
    mended = recommend(MountOptions.parse("soft"), facts, measured=[soft])
    assert mended.options.get("hard") == "hard"


def test_nothing_to_change_needs_the_link_and_the_server() -> None:
    known = Facts(client=ClientFacts(), link=GIGABIT, server=ServerFacts(name="nas", address="192.0.2.7"))
    context = LintContext(share="nas:/a")
    assert recommend(MountOptions(), known, context=context).lacking == ()
    nobody = Facts(client=ClientFacts(), link=LinkFacts(), server=ServerFacts(name="nas"))
    lacking = recommend(MountOptions(), nobody, context=context).lacking
    assert lacking == ("server.address", "link.rate_bps", "link.rtt_s")
    loopback = Facts(client=ClientFacts(), link=LinkFacts(kind="loopback"))
    assert recommend(MountOptions(), loopback).lacking == ()


@pytest.mark.parametrize("options", ["", "nconnect=2", "sec=krb5p", "noac,nocto", "sync"])
@pytest.mark.parametrize("workload", ["general", "software", "builds"])
def test_a_vendor_s_list_is_not_overridden_by_generic_rules(options: str, workload: Workload) -> None:
    """Amazon EFS, identified by its kind: five values, noresvport, and defaults for all other options."""
    facts = Facts(
        client=ClientFacts(), link=LinkFacts(rate_bps=1e10, rtt_s=0.002), server=ServerFacts(kind="efs")
    )
    advice = recommend(MountOptions.parse(options), facts, workload)
    said = set(str(advice.options).split(",")) - {"hard", "ro"}
    assert said == {"vers=4.1", "rsize=1048576", "wsize=1048576", "timeo=600", "retrans=2", "noresvport"} - (
        {"timeo=600", "retrans=2"} - said
    )


def test_no_claim_that_its_source_does_not_make() -> None:
    told = {name: f"{rule.reason} {rule.effect} {rule.source}" for name, rule in advice_rules().items()}
    assert not [name for name, text in told.items() if "272 pairs" in text or "1.5 %" in text]
    assert not [name for name, text in told.items() if "seed 002" in text]
    figure_14 = {
        card for rule in advice_rules().values() if "Figure" in rule.source and "14" in rule.source
        for card in (*rule.given.cards, *rule.given.server_cards)
    }  # fmt: skip
    assert figure_14 == {"3com-etherlink-iii", "smc-elite16", "intel-etherexpress"}
    wd8003 = advise("proto=udp", link=LinkFacts(card="wd8003", rate_bps=1e7, rtt_s=1e-3)).recommendations
    assert {item.confidence for item in wd8003} == {"low"}
    assert not any("two replies" in item.reason or "best row" in item.effect for item in wd8003)


_ITEMS = st.sampled_from([
    "soft", "hard", "ro", "rw", "nolock", "nocto", "noac", "sync", "async", "proto=udp", "proto=tcp",
    "vers=3", "vers=4.2", "vers=4.1", "timeo=7", "timeo=0600", "rsize=8192", "wsize=1024", "rsize=64k",
    "nconnect=8", "nconnect=99", "sec=krb5p", "lookupcache=none", "actimeo=0", "acregmin=90", "bg", "nofail",
    "x-systemd.automount", "local_lock=all", "intr", "retry=10000", "resvport", "noresvport",
    "softerr", "minorversion=1", "mountport=635", "nosharecache", "lock",
])  # fmt: skip
_LINKS = st.builds(
    LinkFacts,
    kind=st.sampled_from(["ethernet", "wifi", "infiniband", "vpn", None]),
    rate_bps=st.sampled_from([None, 1e6, 1e7, 1e9, 2.5e10]),
    rtt_s=st.sampled_from([None, 0.0002, 0.04]),
    loss=st.sampled_from([None, 0.01]),
)
_SERVERS = st.builds(
    ServerFacts,
    kind=st.sampled_from([None, "efs", "azure-files", "azure-blob", "ontap", "oci", "filestore", "openbsd"]),
    tcp_versions=st.sampled_from([None, ("3",), ("3", "4.1"), ("4.1", "4.2")]),
)


@settings(deadline=None)
@given(
    items=st.lists(_ITEMS, max_size=6),
    link=_LINKS,
    server=_SERVERS,
    workload=st.sampled_from(WORKLOADS),
    fstab=st.booleans(),
)
def test_taken_advice_holds_and_lint_agrees_or_is_answered(
    items: list[str], link: LinkFacts, server: ServerFacts, workload: Workload, fstab: bool
) -> None:
    facts = Facts(client=ClientFacts(), link=link, server=server)
    context = LintContext(fstab=fstab)
    first = recommend(MountOptions(items), facts, workload, context=context)
    again = recommend(first.options, facts, workload, context=context)
    assert str(again.options) == str(first.options)
    left = {
        finding.rule
        for finding in lint(first.options, context=context, facts=facts)
        if finding.severity != "info"
    }
    answered = {item.rule for item in first.not_recommended} | {matter.rule for matter in first.attention}
    assert left <= answered
