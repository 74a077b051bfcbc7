"""Recommendations: values of seed 000, precedence of layers, and effect of measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from advisor.identify import find_card, identify_card, network_cards
from advisor.lint import LintContext
from advisor.options import MountOptions
from advisor.recommend import Advice, group_recommendations, recommend
from advisor.recommendation import MeasuredOption
from advisor.use_conditions import UseConditions

if TYPE_CHECKING:
    from advisor.recommendation import Workload


def _facts(card: str | None = None, *, server_card: str | None = None, udp: bool = True) -> Facts:
    return Facts(
        client=ClientFacts(udp=udp),
        link=LinkFacts(card=card, rate_bps=1e7, rtt_s=0.001),
        server=ServerFacts(card=server_card),
    )


def _proposed(advice: Advice) -> dict[str, str | None]:
    return {item.option: item.proposed for item in advice.recommendations}


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("3c509", {"rsize": "1024", "wsize": "1024", "timeo": "3"}),
        ("3Com EtherLink III", {"rsize": "1024", "wsize": "1024", "timeo": "3"}),
        ("SMC EtherCard PLUS Elite16", {"rsize": "4096", "wsize": "4096"}),
        ("Intel EtherExpress", {"rsize": "8192", "wsize": "8192"}),
        ("next", {"rsize": "8192", "wsize": "8192"}),
    ],
)
def test_the_seed_s_table(word: str, wanted: dict[str, str]) -> None:
    advice = recommend(MountOptions.parse("proto=udp,vers=3"), _facts(find_card(word)))
    assert _proposed(advice) == wanted
    for item in advice.recommendations:
        assert item.link == "seed 000"
        assert item.evidence
        assert item.undo


def test_wsize_suits_the_server_s_adapter_and_rsize_the_client_s() -> None:
    facts = _facts("3com-etherlink-iii", server_card="intel-etherexpress")
    advice = recommend(MountOptions.parse("proto=udp,vers=3"), facts)
    assert _proposed(advice)["rsize"] == "1024"
    assert _proposed(advice)["wsize"] == "8192"
    assert [(lost.option, lost.value) for lost in advice.not_recommended] == [("wsize", "1024")]


def test_over_tcp_the_sizes_of_1993_are_warned_of() -> None:
    advice = recommend(MountOptions.parse("rsize=1024"), _facts("3com-etherlink-iii"))
    assert _proposed(advice)["rsize"] is None
    assert ("timeo", "3") in [(item.option, item.value) for item in advice.not_recommended]
    assert recommend(
        MountOptions.parse("rsize=1024,hard"), _facts("3com-etherlink-iii")
    ).options == MountOptions.parse("hard")


def test_a_kernel_without_udp_is_told_first() -> None:
    advice = recommend(MountOptions.parse("proto=udp"), _facts("3com-etherlink-iii", udp=False))
    assert _proposed(advice)["proto"] is None


def test_a_slow_line_mounts_in_the_background_but_not_on_demand() -> None:
    facts = Facts(client=ClientFacts(), link=LinkFacts(rate_bps=1e6, rtt_s=0.1))
    assert _proposed(recommend(MountOptions.parse("hard"), facts))["bg"] == "bg"
    assert "bg" not in _proposed(recommend(MountOptions.parse("x-systemd.automount"), facts))


def test_values_that_are_right_already_are_agreed_with() -> None:
    advice = recommend(
        MountOptions.parse("proto=udp,rsize=1024,wsize=1024,timeo=3"), _facts("3com-etherlink-iii")
    )
    assert advice.recommendations == ()
    assert set(advice.agreed) == {"rsize", "wsize", "timeo"}


def test_a_measurement_outranks_every_rule() -> None:
    found = MeasuredOption(option="rsize", value="2048", status="confirmed", text="2048 was 12 % faster.")
    advice = recommend(MountOptions.parse("proto=udp"), _facts("3com-etherlink-iii"), measured=[found])
    by_name = {item.option: item for item in advice.recommendations}
    assert by_name["rsize"].proposed == "2048"
    assert by_name["rsize"].layer == "measured"
    assert by_name["rsize"].status == "confirmed"
    assert by_name["wsize"].status == "untested"
    assert [(item.option, item.value) for item in advice.not_recommended] == [("rsize", "1024")]


def test_a_refuted_recommendation_is_not_made_again() -> None:
    found = MeasuredOption(option="rsize", value="1024", status="refuted", text="1024 was 9 % slower.")
    advice = recommend(MountOptions.parse("proto=udp"), _facts("3com-etherlink-iii"), measured=[found])
    assert "rsize" not in _proposed(advice)
    assert any("9 % slower" in item.reason for item in advice.not_recommended)


def test_a_value_of_the_person_s_own_is_marked() -> None:
    advice = recommend(MountOptions.parse("proto=udp,rsize=8192"), _facts("3com-etherlink-iii"))
    by_name = {item.option: item for item in advice.recommendations}
    assert by_name["rsize"].replaces_own
    assert by_name["rsize"].current == "8192"
    assert not by_name["wsize"].replaces_own


def test_an_unknown_fact_fires_nothing_and_says_why() -> None:
    facts = Facts(client=ClientFacts(), link=LinkFacts(sources={"rate_bps": "a virtual adapter tells none"}))
    advice = recommend(MountOptions.parse("hard"), facts)
    assert advice.recommendations == ()
    assert advice.lacking == ("link.rate_bps", "link.rtt_s")
    assert advice.unknown == {"link.rate_bps": "a virtual adapter tells none"}


@pytest.mark.parametrize(
    ("product", "driver", "bus_id", "card"),
    [
        ("", "3c509", "", "3com-etherlink-iii"),
        ("", "3c589_cs", "", "3com-etherlink-iii"),
        ("", "", "TCM5094", "3com-etherlink-iii"),
        ("3Com 3C509B", "3c509", "", "3com-etherlink-iii-b"),
        ("3Com 3c905 Fast EtherLink XL PCI", "3c59x", "10b7:9050", None),
        ("SMC Elite 16 WD8013", "wd", "", "smc-elite16"),
        ("SMC EtherEZ 8416", "smc-ultra", "", None),
        ("Intel EtherExpress PRO/100", "e100", "8086:1229", None),
        ("Intel EtherExpress 16", "", "", "intel-etherexpress"),
        ("", "", "", None),
    ],
)
def test_adapters_are_known_by_what_the_system_says(
    product: str, driver: str, bus_id: str, card: str | None
) -> None:
    assert identify_card(product=product, driver=driver, bus_id=bus_id) == card


def test_every_word_for_an_adapter_means_that_one() -> None:
    for name, card in network_cards().items():
        for word in (name, *card.names):
            assert find_card(word) == name


def test_a_default_is_not_recommended() -> None:
    advice = recommend(MountOptions(), Facts(client=ClientFacts()), "backup")
    assert _proposed(advice) == {}
    assert "hard" in advice.agreed
    advice = recommend(MountOptions.parse("soft"), Facts(client=ClientFacts()), "backup")
    assert _proposed(advice)["hard"] == "hard"


@pytest.mark.parametrize(
    ("link", "window", "wanted"),
    [
        # One connection fills a long link without loss; more would add slow starts.
        (LinkFacts(rate_bps=1e8, rtt_s=0.04), 6291456, {"read_ahead_kb": "1024"}),
        (LinkFacts(rate_bps=1e8, rtt_s=0.04, loss=1e-5), None, {"read_ahead_kb": "1024"}),
        # Half of the receive buffer per RTT is 31 MB/s; the link's payload rate is 117 MB/s.
        (LinkFacts(rate_bps=1e9, rtt_s=0.1), 6291456, {"nconnect": "8", "read_ahead_kb": "15360"}),
        # Loss limits one connection to 8.8 of 11.8 MB/s; more connections need more readahead.
        (LinkFacts(rate_bps=1e8, rtt_s=0.002, loss=0.01), None, {"nconnect": "8", "read_ahead_kb": "4096"}),
        # 12.4 of 23.5 MB/s in the long run, but the loss is too low to affect a copy.
        (LinkFacts(rate_bps=2e8, rtt_s=0.02, loss=5e-5), None, {"read_ahead_kb": "1024"}),
        # 7.3 MB/s for a link of 5.9 MB/s, and 4.9 MB/s: within the uncertainty of the mean window.
        (LinkFacts(rate_bps=5e7, rtt_s=0.024, loss=1e-4), None, {"read_ahead_kb": "1024"}),
        (LinkFacts(rate_bps=5e7, rtt_s=0.036, loss=1e-4), None, {"read_ahead_kb": "1024"}),
    ],
)
def test_more_connections_only_where_one_carries_too_little(
    link: LinkFacts, window: int | None, wanted: dict[str, str]
) -> None:
    facts = Facts(client=ClientFacts(kernel="6.1.0", udp=False, tcp_window_bytes=window), link=link)
    assert _proposed(recommend(MountOptions(), facts)) == wanted


@pytest.mark.parametrize("kind", ["efs", "azure-files", "azure-blob"])
@pytest.mark.parametrize("kerberos", [True, False])
def test_a_cloud_is_asked_for_nothing_that_it_refuses(kind: str, *, kerberos: bool) -> None:
    facts = Facts(
        client=ClientFacts(kernel="6.12"), link=LinkFacts(kind="infiniband"), server=ServerFacts(kind=kind)
    )
    context = LintContext(conditions=UseConditions(encrypted=True, rdma=True, kerberos=kerberos))
    advice = recommend(MountOptions(), facts, context=context)
    assert {"xprtsec", "proto", "port"}.isdisjoint(_proposed(advice))
    assert "krb5" not in str(advice.options)
    assert "encrypted-cloud" in [matter.rule for matter in advice.attention]


@pytest.mark.parametrize(
    ("rtt_s", "loss", "rule"),
    [(0.008, 0.005, "read-ahead-connections"), (0.018, 0.005, "read-ahead"), (0.008, 0.0, None)],
)
def test_the_reason_of_a_readahead_is_what_asks_for_it(rtt_s: float, loss: float, rule: str | None) -> None:
    facts = Facts(
        client=ClientFacts(kernel="6.12"), link=LinkFacts(rate_bps=6e7, rtt_s=rtt_s, loss=loss, mtu=1500)
    )
    advice = recommend(MountOptions(), facts)
    rules = [item.rule for item in advice.recommendations if item.option == "read_ahead_kb"]
    assert rules == ([rule] if rule else [])


@pytest.mark.parametrize(("workload", "proposed"), [("home", False), ("database", False), ("media", True)])
def test_readahead_is_for_files_read_from_beginning_to_end(workload: Workload, *, proposed: bool) -> None:
    facts = Facts(client=ClientFacts(kernel="6.12"), link=LinkFacts(rate_bps=1e10, rtt_s=0.0004))
    assert ("read_ahead_kb" in _proposed(recommend(MountOptions(), facts, workload))) is proposed


def test_what_no_option_mends_is_told_step_by_step() -> None:
    link = LinkFacts(interface="eth7", mtu=9000, path_mtu=1500)
    facts = Facts(client=ClientFacts(), link=link, server=ServerFacts(name="nas01"))
    (matter,) = recommend(MountOptions(), facts).attention
    steps = "\n".join(matter.how_to)
    assert "ping -c 3 -M do -s 8972 nas01" in steps
    assert "sudo ip link set dev eth7 mtu 1500" in steps
    assert steps.index("To undo it") < steps.index("sudo ip link set dev eth7 mtu 9000")


def test_a_file_that_makes_mounts_soft_is_told() -> None:
    facts = Facts(client=ClientFacts(nfsmount_conf=("soft (/etc/nfsmount.conf, line 2)",)))
    (matter,) = recommend(MountOptions(), facts).attention
    assert matter.evidence == ("nfsmount.conf: soft (/etc/nfsmount.conf, line 2)",)
    assert any("undo" in line for line in matter.how_to)
    assert recommend(MountOptions.parse("ro"), facts).attention == ()
    harmless = Facts(client=ClientFacts(nfsmount_conf=("softreval (/etc/nfsmount.conf, line 2)",)))
    assert recommend(MountOptions(), harmless).attention == ()


@pytest.mark.parametrize(("rtt_s", "is_told"), [(0.0046, False), (0.04, True)])
def test_figures_of_a_long_way_are_not_told_of_a_short_one(rtt_s: float, *, is_told: bool) -> None:
    facts = Facts(client=ClientFacts(), link=LinkFacts(rate_bps=1e9, rtt_s=rtt_s))
    (item,) = [
        item for item in recommend(MountOptions(), facts).recommendations if item.option == "read_ahead_kb"
    ]
    assert ("40 ms" in item.effect) is is_told


def test_how_long_the_readahead_lasts_is_said() -> None:
    facts = Facts(client=ClientFacts(), link=LinkFacts(rate_bps=1e8, rtt_s=0.04))
    (item,) = recommend(MountOptions(), facts).recommendations
    assert item.how_to[0].startswith("Until unmounted")
    assert any(f"--read-ahead {item.proposed} --save-readahead" in line for line in item.how_to)
    assert "  [nfsrahead]" in item.how_to


@pytest.mark.parametrize(
    ("options", "option", "undo"),
    [
        ("", "read_ahead_kb", "Unmount the share: the next mount begins with the kernel's own value."),
        ("rsize=4096", "rsize", "Set it back to 4096 and mount again."),
        ("", "nconnect", "Take the option out again, unmount all shares of the server, and mount again."),
    ],
)
def test_the_way_back(options: str, option: str, undo: str) -> None:
    facts = Facts(client=ClientFacts(kernel="6.12"), link=LinkFacts(rate_bps=1e10, rtt_s=0.0003))
    found = recommend(MountOptions.parse(options), facts).recommendations
    assert [item.undo for item in found if item.option == option] == [undo]


def test_what_one_rule_says_is_told_together() -> None:
    advice = recommend(
        MountOptions(), Facts(client=ClientFacts(), server=ServerFacts(kind="ontap")), "oracle"
    )
    groups = group_recommendations(advice.recommendations)
    rules = [group[0].rule for group in groups]
    assert len(rules) == len(set(rules))
    assert sum(map(len, groups)) == len(advice.recommendations)
