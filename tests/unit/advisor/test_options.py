"""Option strings: lossless parsing, all spellings, and errors of invalid values."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.options import NO, YES, MountOptions, catalogue, check_options, implied_values, options_for_mount

ITEMS = st.sampled_from([
    "rw", "ro", "vers=3", "nfsvers=4.2", "v4.1", "soft", "softerr", "hard", "noac", "ac", "rsize=65536",
    "timeo=600", "timeo=0600", "tcp", "proto=rdma", "rdirplus=force", "nordirplus", "fsc", "fsc=a", "nofsc",
    "", "x-systemd.automount", 'context="a,b"', "unknown", "unknown=1", "rsize", "rsize=", "=", "a==b",
    "actimeo=0", 'context="system_u:object_r:nfs_t:s0:c1,c2"', 'fscontext="a,b=c,d"', 'comment=a"b,c"d',
    "comment=a\\,b", 'comment=""', 'x-note="one,two",three', '"', '"a', "\\", "comment=\\",
])  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(ITEMS).map(",".join))
NAMES = [option.name for option in catalogue()]


@given(TEXTS)
def test_printing_what_was_parsed_gives_the_same_text(text: str) -> None:
    assert str(MountOptions.parse(text)) == text


def _legal_items(draw: st.DrawFn) -> str:
    """Draw one valid item in any of its spellings."""
    option = draw(st.sampled_from(list(catalogue())))
    words = option.all_words()
    keys = [form for form in option.forms if form.endswith("=")]
    form = draw(st.sampled_from([*words, *keys]))
    if form in words:
        return form
    if option.kind == "seclist":
        flavors = [value for value in option.values if value not in option.synonyms]
        chosen = draw(st.lists(st.sampled_from(flavors), min_size=1, max_size=11, unique=True))
        return form + ":".join(chosen)
    if option.values:
        return form + draw(st.sampled_from(option.values))
    if option.is_number:
        return form + str(draw(st.integers(option.minimum, option.maximum)))
    if option.kind == "addr":
        return form + str(draw(st.ip_addresses()))
    text = draw(
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters='"\\'))
    )
    if "," in text or draw(st.booleans()):
        text = f'"{text}"'
    return form + text


LEGAL = st.lists(st.composite(_legal_items)(), max_size=12)


@given(LEGAL)
def test_what_mount_takes_comes_back_item_by_item(items: list[str]) -> None:
    text = ",".join(items)
    options = MountOptions.parse(text)
    assert str(options) == text
    assert list(options) == items  # commas inside quotation marks are no separators
    assert check_options(options) == []
    assert str(MountOptions.parse(str(options))) == text


@given(LEGAL, st.sampled_from(NAMES))
def test_a_legal_value_can_be_set_again(items: list[str], name: str) -> None:
    options = MountOptions.parse(",".join(items))
    before = options.values()
    value = options.get(name)
    if value is None:
        return
    options.set(name, value)
    assert options.values() == before


@given(TEXTS)
def test_any_text_can_be_asked_and_checked(text: str) -> None:
    options = MountOptions.parse(text)
    check_options(options)
    implied_values(options)
    options_for_mount(options)
    for name in ("vers", "noac", "soft", "nothing", ""):
        options.get(name)
    assert options.diff(options.copy()) == []


@given(TEXTS)
def test_values_agree_with_get(text: str) -> None:
    options = MountOptions.parse(text)
    for name, value in options.values().items():
        assert options.get(name) == value


@given(TEXTS, st.sampled_from(NAMES), st.data())
def test_a_value_that_is_set_is_read_back_and_nothing_else_changes(
    text: str, name: str, data: st.DataObject
) -> None:
    options = MountOptions.parse(text)
    option = catalogue()[name]
    if option.values:
        value = data.draw(st.sampled_from([v for v in option.values if v not in option.synonyms]))
    elif option.kind == "flag":
        value = data.draw(st.sampled_from([YES, NO] if option.negation else [YES]))
    else:
        value = str(data.draw(st.integers(option.minimum or 0, option.maximum or 9)))
    before = options.values()
    try:
        options.set(name, value)
    except ValueError:
        assert '"' in text or "\\" in text  # an unclosed quotation mark includes all following items
        return
    assert options.get(name) == value
    assert {k: v for k, v in options.values().items() if k != name} == {
        k: v for k, v in before.items() if k != name
    }
    options.remove(name)
    assert name not in options


@given(TEXTS, st.text(string.printable, max_size=12), st.text(string.printable, max_size=8))
def test_setting_anything_either_works_or_says_so(text: str, name: str, value: str) -> None:
    options = MountOptions.parse(text)
    before = str(options)
    try:
        options.set(name, value)
    except ValueError:
        assert str(options) == before
    else:
        assert options.get(name) is not None


@pytest.mark.parametrize(
    ("text", "name", "value", "after"),
    [
        ("rw,nfsvers=3,hard", "vers", "4.2", "rw,nfsvers=4.2,hard"),
        ("v3", "vers", "4.2", "v4.2"),
        ("", "vers", "4.2", "vers=4.2"),
        ("udp,rw", "proto", "tcp", "tcp,rw"),
        ("udp,rw", "proto", "tcp6", "proto=tcp6,rw"),
        ("soft,ro", "hard", "hard", "hard,ro"),
        ("", "soft", "softerr", "softerr"),
        ("noac", "ac", YES, "ac"),
        ("", "noac", YES, "noac"),
        ("noac", "noac", NO, "ac"),
        ("rsize=1,x,rsize=2,y", "rsize", "3", "x,rsize=3,y"),
        ("timeo=7", "timeo", "600", "timeo=600"),
        ("rdirplus", "rdirplus", "none", "nordirplus"),
        ("nordirplus", "rdirplus", "force", "rdirplus=force"),
        ("fsc", "fsc", "tag", "fsc=tag"),
        ("fsc=tag", "fsc", YES, "fsc"),
        ("a,b=1", "b", "2", "a,b=2"),
        ("x-mount.mkdir", "X-mount.mkdir", YES, "x-mount.mkdir"),
        ("sec=krb5", "sec", "sys:krb5i", "sec=sys:krb5i"),
    ],
)
def test_setting_keeps_place_and_spelling(text: str, name: str, value: str, after: str) -> None:
    options = MountOptions.parse(text)
    options.set(name, value)
    assert str(options) == after


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rsize", "1,2"),
        ("context", 'a"b'),
        ("hard", "maybe"),
        ("softreval", NO),
        ("ac", "5"),
        ("", ""),
        ("a,b", ""),
    ],
)
def test_a_value_that_cannot_be_written_is_refused(name: str, value: str) -> None:
    options = MountOptions.parse("rw")
    with pytest.raises(ValueError, match="cannot be written"):
        options.set(name, value)
    assert str(options) == "rw"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("rw,vers=3,vers=4.2", "nfsvers", "4.2"),
        ("v4.1", "vers", "4.1"),
        ("tcp", "proto", "tcp"),
        ("soft", "hard", "soft"),
        ("soft,hard", "soft", "hard"),
        ("noac", "ac", NO),
        ("noac", "noac", YES),
        ("ac", "noac", NO),
        ("rdirplus", "rdirplus", "heuristic"),
        ("lookupcache=positive", "lookupcache", "pos"),
        ("sec=null:sys", "sec", "none:sys"),
        ('context="a,b",ro', "context", '"a,b"'),
        ("comment=a\\,ro", "ro", "ro"),
        ("noauto", "auto", NO),
        ("", "vers", None),
        (",,", "", None),
    ],
)
def test_getting_understands_every_spelling(text: str, name: str, value: str | None) -> None:
    assert MountOptions.parse(text).get(name) == value


def test_differences_are_of_values_not_of_spellings() -> None:
    before = MountOptions.parse("rw,nfsvers=3,soft,foo")
    after = MountOptions.parse("hard,vers=3,rsize=65536,rw")
    assert [tuple(change) for change in before.diff(after)] == [
        ("rsize", None, "65536"),
        ("hard", "soft", "hard"),
        ("foo", "", None),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("noac,async", {"sync": "sync", "acregmin": "0", "acdirmax": "0", "ac": NO}),
        ("acregmin=5,actimeo=9,acdirmin=3", {"acregmin": "9", "acregmax": "9", "acdirmin": "3"}),
        ("vers=4,minorversion=1", {"vers": "4.1"}),
        ("softerr,soft", {"hard": "soft", "softreval": YES}),
        ("vers=3,nolock", {"local_lock": "all"}),
    ],
)
def test_what_options_imply(text: str, expected: dict[str, str]) -> None:
    assert implied_values(MountOptions.parse(text)).items() >= expected.items()


def test_hard_takes_away_what_softerr_brought() -> None:
    assert "softreval" not in implied_values(MountOptions.parse("softerr,hard"))


def test_a_mount_made_now_gets_no_words_for_fstab() -> None:
    options = MountOptions.parse("_netdev,bg,users,x-foo,comment=a,nofail,noauto,,vers=4.2")
    assert str(options_for_mount(options)) == "vers=4.2,noexec"
    assert str(options_for_mount(MountOptions.parse("user,exec,fg,odd=1"))) == "exec,odd=1"


@pytest.mark.parametrize(
    "text",
    [
        "", "rw,hard,vers=4.2", "timeo=600,retrans=0,nconnect=16", "sec=sys:krb5",
        "rdirplus=force,nofsc,fsc=a",
        "x-foo,X-bar=1,comment=hi there", 'context="a,b"', "clientaddr=192.0.2.1", "rsize=0,port=0",
    ],
)  # fmt: skip
def test_what_is_right_has_no_problem(text: str) -> None:
    assert check_options(MountOptions.parse(text)) == []


@pytest.mark.parametrize(
    ("text", "name", "code", "words"),
    [
        ("vres=3", "vres", "unknown", "vers"),
        ("nosoftreval", "nosoftreval", "foreign", "softreval"),
        ("uid=5", "uid", "foreign", "server"),
        ("futureopt=7", "futureopt", "unknown", "not known to this program"),
        ("timeo", "timeo", "missing", "timeo=600"),
        ("mounthost", "mounthost", "missing", "mounthost=TEXT"),
        ("timeo=0", "timeo", "range", "1 to 2147483647"),
        ("timeo=0600", "timeo", "value", "octal"),
        ("rsize=1m", "rsize", "value", "rsize=1048576"),
        ("rsize=-1", "rsize", "value", "whole number"),
        ("retrans=٣", "retrans", "value", "whole number"),
        ("nconnect=17", "nconnect", "range", "1 to 16"),
        ("nconnect=" + "9" * 5000, "nconnect", "range", "1 to 16"),
        ("hard=1", "hard", "value", "softerr"),
        ("noac=1", "ac", "value", "noac"),
        ("vers=5", "vers", "value", "4.2"),
        ("lookupcache=some", "lookupcache", "value", "pos"),
        ("sec=sys:sys", "sec", "value", "twice"),
        ("sec=sys:foo", "sec", "value", "krb5p"),
        ("clientaddr=here", "clientaddr", "value", "IP address"),
        ('context="a,b', "context", "text", "quotation"),
        ("rw, ro", "rw", "text", "blank"),
        ("a\nb", "a", "text", "control"),
        ("ro\x9b", "ro\x9b", "text", "control"),
        ("ro\u202e", "ro\u202e", "text", "control"),
    ],
)
def test_a_wrong_item_is_named_with_what_to_do(text: str, name: str, code: str, words: str) -> None:
    problem = check_options(MountOptions.parse(text))[0]
    assert problem.code == code
    assert words in f"{problem.message} {problem.hint}"
    if code != "text":
        assert problem.name == name


WRONG = [
    "vres=3", "foo", "mnttimeo=5", "readahead=4", "uid=1000", "nosoftreval", "timeo", "rsize=", "sec", "addr",
    "timeo=0", "timeo=60s", "timeo=1.5", "timeo=0600", "timeo=0x10", "timeo=-1", "timeo=soon",
    "acregmax=2min", "acregmin=1h", "retry=120s", "rsize=1m", "rsize=64KiB", "wsize=99999999999",
    "nconnect=17", "nconnect=2k",
    "nconnect=0", "hard=1", "noac=1", "vers=5", "vers=4.3", "lookupcache=positiv", "local_lock=x",
    "sec=sys:sys", "sec=krb", "clientaddr=here", "proto=quic", 'context="a', "a\nb", " ro",
    "port=http", "minorversion=1.2",
]  # fmt: skip


@pytest.mark.parametrize("item", WRONG)
def test_each_mistake_is_told_with_a_way_out(item: str) -> None:
    problem = check_options(MountOptions([item]))[0]
    assert problem.message.endswith(".")
    assert problem.hint.endswith((".", "?"))
    assert problem.message not in problem.hint
    for better in re.findall(r"(?:Write|example|is) ([a-z0-9_]+=[^\s,]+?)[.,](?:\s|$)", problem.hint):
        assert check_options(MountOptions([better])) == []


@pytest.mark.parametrize(
    ("item", "hint"),
    [
        ("timeo=60s", "Write timeo=600, in tenths of a second."),
        ("timeo=1.5", "Write timeo=15, in tenths of a second."),
        ("acregmax=2min", "Write acregmax=120, in seconds."),
        ("retry=120s", "Write retry=2, in minutes."),
        ("rsize=64KiB", "Write rsize=65536, in bytes."),
        ("nconnect=0x8", "Write nconnect=8."),
        ("nconnect=17", "The most is nconnect=16."),
        ("timeo=0", "The least is timeo=1."),
        ("sec=krb5:sys:krb5", "Write sec=krb5:sys."),
        ("lookupcache=positiv", "Did you mean “positive”? It takes all, pos, none, positive."),
    ],
)
def test_a_number_with_a_unit_is_put_right(item: str, hint: str) -> None:
    assert check_options(MountOptions([item]))[0].hint == hint


def test_time_outs_are_edited_in_seconds_and_written_in_tenths() -> None:
    timeo = catalogue()["timeo"]
    assert timeo.from_wire("600") == 60
    assert timeo.to_wire(60.0) == "600"
    assert timeo.to_wire(0.7) == "7"
    for wrong in (0.05, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"tenths|large"):
            timeo.to_wire(wrong)
    with pytest.raises(ValueError, match="not a whole number"):
        timeo.from_wire("60.0")


@given(st.integers(0, 2**31))
def test_wire_values_survive_editing(number: int) -> None:
    for name in ("timeo", "rsize", "acregmin"):
        option = catalogue()[name]
        assert option.to_wire(option.from_wire(str(number))) == str(number)
