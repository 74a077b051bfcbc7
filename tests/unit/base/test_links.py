"""Links of the lab: profiles, links given by their values, and errors of wrong ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import AppError, ErrorKind
from app.links import Link, load_links, parse_link

PROFILES = ["10base-t", "fast-ethernet", "gigabit", "10-gigabit", "wifi", "wan", "dsl", "satellite", "lossy"]


@pytest.mark.parametrize("name", PROFILES)
def test_the_promised_profiles_are_there(name: str) -> None:
    link = parse_link(name)
    assert link is load_links()[name]
    assert link.title
    assert link.queue > 0
    assert link.jitter_s <= link.delay_s


@pytest.mark.parametrize("link", load_links().values(), ids=lambda link: link.name)
def test_a_profile_says_what_card_it_stands_for(link: Link) -> None:
    facts = link.facts()
    assert facts.emulated
    assert (facts.rate_bps, facts.up_bps) == (link.rate_bps, link.up_bps)
    assert facts.rtt_s == 2 * link.delay_s
    assert facts.adapter
    assert facts.driver
    assert facts.bus in {"pci", "isa"}
    assert facts.duplex in {"full", "half"}
    assert "netem" in facts.sources["rate_bps"]
    assert "stands for" in facts.sources["adapter"]


def test_a_link_is_spelled_out() -> None:
    link = parse_link("rate=37mbit,delay=7ms,jitter=500us,loss=0.2%,queue=50")
    assert (link.rate_bps, link.up_bps, link.queue, link.mtu) == (37e6, 37e6, 50, 1500)
    assert (link.delay_s, link.jitter_s, link.loss) == pytest.approx((0.007, 0.0005, 0.002))
    assert link.facts().driver == "veth"


def test_a_profile_is_changed() -> None:
    link = parse_link("dsl, RATE=100mbit ,loss=1%")
    assert (link.rate_bps, link.up_bps, link.loss) == (100e6, 20e6, 0.01)
    facts = link.facts()
    assert [facts.slowest_of(way) for way in ("read", "write", "both")] == [100e6, 20e6, 20e6]
    assert link.delay_s == parse_link("dsl").delay_s
    assert link.name == "dsl,rate=100mbit,loss=1%"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("token-ring", "no link profile “token-ring”"),
        ("", "no link profile"),
        ("delay=7ms", "has no rate"),
        ("rate=fast", "rate=fast"),
        ("rate=10mb", "rate=10mb"),
        ("rate=1bit", "out of range"),
        ("wan,colour=red", "colour=red"),
        ("wan,loss=", "loss="),
        ("wan,loss=101%", "out of range"),
        ("wan,loss=1", "loss=1"),
        ("wan,queue=0", "out of range"),
        ("wan,queue=1.5", "queue=1.5"),
        ("wan,mtu=9217", "out of range"),
        ("wan,delay=1ms,delay=2ms", "twice"),
        ("wan,delay=0ms", "jitter"),
        ("wan,", "“” is none of"),
        ("rate=²mbit", "rate=²mbit"),
        ("wan,queue=²", "queue=²"),
    ],
)
def test_a_wrong_link_is_named(text: str, said: str) -> None:
    with pytest.raises(AppError) as wrong:
        parse_link(text)
    assert wrong.value.kind is ErrorKind.LINK_INVALID
    assert said in wrong.value.message
    assert all(name in wrong.value.hint for name in PROFILES)


numbers = st.decimals(min_value=0, max_value=9, places=3).map(lambda number: f"{number:f}")
fields = st.fixed_dictionaries(
    {"rate": st.integers(1, 100).map(lambda rate: f"{rate}mbit")},
    optional={
        "up": st.integers(1, 1000).map(lambda rate: f"{rate}kbit"),
        "delay": numbers.map(lambda number: f"{number}s"),
        "loss": numbers.map(lambda number: f"{number}%"),
        "queue": st.integers(1, 10**6).map(str),
        "mtu": st.integers(576, 9216).map(str),
    },
)


@given(fields, st.sampled_from(["", *PROFILES]), st.randoms(use_true_random=False))
def test_a_links_name_gives_the_link_again(given: dict[str, str], profile: str, random: object) -> None:
    words = [f"{key}={value}" for key, value in given.items()]
    random.shuffle(words)  # type: ignore[attr-defined]
    text = ",".join([profile] * bool(profile) + [*words, *["jitter=0s"] * bool(profile)])
    link = parse_link(text)
    assert parse_link(link.name) == link


@given(
    st.text(max_size=40)
    | st.from_regex(r"(wan|rate=\d{1,4}[a-z]{0,4})(,[a-z]{1,6}=[\d.]{0,6}[a-z%]{0,4}){0,3}")
)
def test_any_text_is_a_link_or_an_error_for_people(text: str) -> None:
    try:
        link = parse_link(text)
    except AppError as wrong:
        error = wrong
    else:
        assert parse_link(link.name) == link
        return
    assert error.kind is ErrorKind.LINK_INVALID
    assert error.hint
