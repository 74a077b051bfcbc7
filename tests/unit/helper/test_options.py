"""The helper builds the option string itself: whatever comes in, only the catalogue's words come out."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.helper.errors import Refusal
from app.helper.options import ALWAYS, Catalogue, catalogue_path, load

CATALOGUE = load()
KEYS = sorted(CATALOGUE.keyed) + sorted(CATALOGUE.bare)
SAFE = re.compile(r"[A-Za-z0-9_.=:-]+")


def test_it_reads_the_catalogue_of_the_checkout():
    assert catalogue_path() == Path(__file__).parents[3] / "resources" / "options.toml"
    table = tomllib.loads(catalogue_path().read_text(encoding="utf-8"))["option"]
    allowed = {name for name, entry in table.items() if entry["helper"]}
    assert {entry.name for entry in [*CATALOGUE.bare.values(), *CATALOGUE.keyed.values()]} == allowed


@pytest.mark.parametrize(
    "words",
    [
        ["vers=4.2", "rsize=65536", "wsize=1048576", "hard", "timeo=600", "retrans=2", "noac", "ro"],
        ["v3", "proto=tcp", "nolock", "acregmin=0", "actimeo=3600"],
        ["sec=krb5:sys", "nconnect=16", "lookupcache=none", "nocto", "noresvport", "rdirplus=force"],
        ["vers=4.1", "sync", "soft", "port=2049", "retry=0", "noexec", "noatime", "fsc"],
    ],
)
def test_ordinary_options_pass(words):
    assert list(CATALOGUE.build(words)) == words


@pytest.mark.parametrize(
    "word",
    [
        "suid",
        "dev",
        "remount",
        "bind",
        "rbind",
        "sloppy",
        "addr=1.2.3.4",
        "context=x",
        "mounthost=evil",
        "rsize=1,suid",
        "rsize=010",
        "rsize=0x10",
        "rsize=-1",
        "rsize=1k",
        "rsize=",
        "rsize=99999999999",
        "rsize",
        "nconnect=0",
        "nconnect=17",
        "vers=5",
        "vers=4.2\nsuid",
        "hard=1",
        "noac=1",
        "",
        "=",
        "=x",
        "sec=krb5:",
        "sec=none:none",
        "lookupcache=ALL",
        "NOAC",
        "no such",
        "rsize=\uff11",
        "rdirplus=x",
        "fsc=a,b",
        "fsc=-x",
    ],
)
def test_everything_else_is_refused(word):
    with pytest.raises(Refusal) as caught:
        CATALOGUE.build([word])
    assert caught.value.code == "option-invalid"


@pytest.mark.parametrize(
    "words", [["hard", "soft"], ["ac", "noac"], ["rsize=1024", "rsize=2048"], ["v3", "vers=4"]]
)
def test_no_option_comes_twice(words):
    with pytest.raises(Refusal, match="twice"):
        CATALOGUE.build(words)


def test_what_only_fstab_means_is_left_out():
    words = [
        "_netdev",
        "nofail",
        "x-systemd.automount",
        "x-systemd.mount-timeout=30",
        "defaults",
        "noauto",
        "ro",
    ]
    assert CATALOGUE.build([*words, "nosuid", "nodev"]) == ("ro",)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(KEYS).flatmap(lambda k: st.text(max_size=8).map(lambda v: k + v))
        | st.text(max_size=20),
        max_size=6,
    )
)
def test_nothing_foreign_comes_out(words):
    try:
        built = CATALOGUE.build(words)
    except Refusal:
        return
    for word in built:
        key, equals, _value = word.partition("=")
        assert SAFE.fullmatch(word), word
        assert word in CATALOGUE.bare or key + equals in CATALOGUE.keyed
        assert not set(word.split(",")) & {"suid", "dev", *ALWAYS}


def test_too_much_is_refused():
    with pytest.raises(Refusal):
        CATALOGUE.build(["ro"] * 65)


def test_a_catalogue_without_options_for_us_is_an_error(tmp_path):
    path = tmp_path / "options.toml"
    path.write_text('[option.ro]\nkind = "enum"\nforms = ["ro"]\nhelper = false\n')
    with pytest.raises(ValueError, match="no options"):
        load(path)


def test_an_empty_catalogue_refuses_all():
    with pytest.raises(Refusal):
        Catalogue().build(["ro"])
