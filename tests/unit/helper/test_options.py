"""Option strings of the helper: whatever the request contains, only words of the catalogue are built."""

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
    assert catalogue_path() == str(Path(__file__).parents[3] / "resources" / "options.toml")
    table = tomllib.loads(Path(catalogue_path()).read_text(encoding="utf-8"))["option"]
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
        "no such",
        "SOFT=a,suid",
        "source=evil:/x",
        "helper=evil",
        "uhelper=evil",
        "nosuid=0",
        "a=\\",
        'a="',
        'a="b"c',
        'a=b"c',
        "a=" + "b" * 256,
        "a" * 65,
        "-a",
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


#: Words that the catalogue does not have: only root, or root's own entry, may use them.
RESERVED = [
    "context=x",
    'context="a:b:c1,c2"',
    "mounthost=evil",
    "NOAC",
    "futureopt=7",
    "future",
    "a=!#+-[]~",
]


@pytest.mark.parametrize("word", RESERVED)
def test_a_word_beyond_the_catalogue_is_root_s(word):
    with pytest.raises(Refusal) as caught:
        CATALOGUE.build(["ro", word])
    assert caught.value.code == "option-reserved"
    assert word.partition("=")[0] in caught.value.message
    assert CATALOGUE.build(["ro", word], [word]) == ("ro", word)
    with pytest.raises(Refusal, match="twice"):
        CATALOGUE.build([word, word], [word])


@pytest.mark.parametrize(
    "word", ["suid", "dev", "remount", "addr=1.2.3.4", "helper=x", "a=b,suid", "rsize=1k"]
)
def test_no_word_is_free_that_nobody_is_given(word):
    with pytest.raises(Refusal) as caught:
        CATALOGUE.build([word], [word])
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
    for form in ("ro", "ro="):  # a catalogue always has options of both kinds
        path.write_text(f'[option.ro]\nkind = "enum"\nforms = ["{form}"]\nhelper = true\n')
        with pytest.raises(ValueError, match="no options"):
            load(path)


def test_an_empty_catalogue_refuses_all():
    with pytest.raises(Refusal):
        Catalogue().build(["ro"])


# A catalogue of the test with known limits.

OWN = """
[option.size]
kind = "uint"
forms = ["size=", "no-such char="]
min = 10
max = 99
change = "remount"
helper = true

[option.open]
kind = "uint"
forms = ["open="]
helper = true

[option.huge]
kind = "uint"
forms = ["huge="]
max = 99999999999
helper = true

[option.flag]
kind = "flag"
forms = ["flag"]
neg = "noflag"
change = "remount"
helper = true

[option.mode]
kind = "enum"
forms = ["mode="]
values = ["slow", 7]
helper = true

[option.word]
kind = "string"
forms = ["word="]
values = ["a", "b c"]
helper = true

[option.none]
kind = "enum"
forms = ["none="]
helper = true

[option.plus]
kind = "enum"
forms = ["plus", "plus=fast"]
helper = true

[option.sec]
kind = "seclist"
forms = ["sec="]
values = ["sys", "krb5"]
helper = true

[option.name]
kind = "string"
forms = ["name="]
helper = true

[option.host]
kind = "addr"
forms = ["host="]
helper = true

[option.secret]
kind = "flag"
forms = ["secret"]
helper = "true"

[option.for-fstab]
kind = "flag"
forms = ["onlyfstab", "span="]
neg = "noonly"
scope = "fstab"
helper = false

[option.never]
kind = "string"
forms = [NEVER]
helper = true
"""
NEVER = [
    "suid", "dev", "remount", "bind", "rbind", "move", "loop", "user", "users", "owner", "group", "sloppy",
    "addr=", "bg",
]  # fmt: skip


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    path = tmp_path_factory.mktemp("catalogue") / "options.toml"
    path.write_text(OWN.replace("NEVER", ", ".join(f'"{word}"' for word in NEVER)))
    return load(path)


def test_what_is_never_passed_on_is_not_even_where_the_catalogue_says_so(own):
    assert set(own.bare) == {"flag", "noflag", "plus", "plus=fast"}
    assert set(own.keyed) == {"size=", "open=", "huge=", "mode=", "word=", "none=", "sec=", "name=", "host="}
    assert own.elsewhere == {"onlyfstab", "span=", "noonly"}
    assert own.remount == {"size=", "flag", "noflag"}


@pytest.mark.parametrize(
    "word",
    ["size=10", "size=99", "open=0", "open=4294967295", "huge=4294967295", "flag", "noflag", "plus=fast",
     "plus", "word=b c", "mode=slow", "mode=7", "sec=sys", "sec=krb5:sys", "name=a", "name=_a.b:c-d",
     "name=" + "a" * 64, "host=10.0.0.1", "host=::1"],
)  # fmt: skip
def test_a_value_at_its_limit_passes(own, word):
    assert own.build([word]) == (word,)


@pytest.mark.parametrize(
    "word",
    ["size=9", "size=100", "size=", "size=010", "size=+11", "size= 11", "size=11 ", "size=1_1", "size=11\n",
     "open=4294967296", "open=00", "open=-1", "huge=4294967296", "huge=99999999999", "flag=1", "flag=",
     "mode", "mode=", "mode=slow=", "mode=slowX", "plus=slow", "plus=", "word=c", "none=a", "sec=",
     "sec=sys:", "sec=:sys", "sec=sys:sys", "sec=sys,krb5", "name=", "name=-a", "name=.a", "name=:a",
     "name=a b", "name=a,b", "name=a\n", "name=" + "a" * 65, "name=ä", "host=", "host=nas",
     "host=fe80::1%eth0", "host=1.2.3.4,5", "host=\u0661.2.3.4", "secret", "suid", "other", "no-such char=1"],
)  # fmt: skip
def test_a_value_beyond_its_limit_is_refused(own, word):
    with pytest.raises(Refusal) as caught:
        own.build([word])
    assert caught.value.code == ("option-reserved" if word in {"secret", "other"} else "option-invalid")


def test_what_is_refused_is_named_only_if_it_can_be_shown(own):
    for word, shown in (
        ("other", "“other”"),
        ("o" * 65, "“?”"),
        ("o" * 64, f"“{'o' * 64}”"),
        ("a\x9b", "“?”"),
    ):
        with pytest.raises(Refusal, match=re.escape(shown)):
            own.build([word])


def test_the_whole_has_limits(own):
    assert own.build(["onlyfstab"] * 64) == ()
    with pytest.raises(Refusal, match="too many"):
        own.build(["onlyfstab"] * 65)
    # Up to 63 words of 16 characters, joined by commas.
    entries = {f"name{number:02d}=": own.keyed["name="] for number in range(64)}
    long = Catalogue(keyed={key: type(entry)(key, "string", (), 0, 0) for key, entry in entries.items()})
    fits = [f"name{number:02d}=" + "a" * 56 for number in range(15)]  # 15 * 64 with their commas
    room = 1024 - 15 * 64
    assert len(",".join(long.build([*fits, "name15=" + "a" * (room - 8)]))) == 1023
    with pytest.raises(Refusal, match="too long"):
        long.build([*fits, "name15=" + "a" * (room - 7)])


def test_an_installed_catalogue_comes_first(tmp_path, monkeypatch):
    from app.helper import options

    monkeypatch.setattr(options, "__file__", str(tmp_path / "app" / "helper" / "options.py"))
    assert catalogue_path() == str(tmp_path / "resources" / "options.toml")
    (tmp_path / "options.toml").write_text("")
    assert catalogue_path() == str(tmp_path / "options.toml")
