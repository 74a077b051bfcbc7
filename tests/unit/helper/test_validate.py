"""Grammar of shares and mount points against an independent oracle of regular expressions."""

import ipaddress
import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.helper import validate
from app.helper.errors import Refusal

NASTY = st.text(alphabet=st.sampled_from("a0-_.:/,[]%# \t\n\\\x00\x7fé\ud800=~*"), max_size=40)


def accepts(check, text):
    try:
        return check(text) == text
    except Refusal:
        return False


def oracle_server(text):
    if text.startswith("[") and text.endswith("]"):
        inner = text[1:-1]
        if not inner.isascii():
            return False
        address, zone = inner.split("%", 1) if "%" in inner else (inner, "x")
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,15}", zone):
            return False
        try:
            return ipaddress.ip_address(address).version == 6
        except ValueError:
            return False
    if re.fullmatch(r"[0-9.]+", text):
        parts = text.split(".")
        return len(parts) == 4 and all(re.fullmatch(r"0|[1-9][0-9]{0,2}", p) and int(p) < 256 for p in parts)
    name = text[:-1] if text.endswith(".") else text
    shape = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
    return len(name) <= 253 and re.fullmatch(rf"{shape}(\.{shape})*", name, re.ASCII) is not None


def oracle_share(text):
    for cut in range(1, len(text)):
        server, colon, export = text[:cut], text[cut : cut + 1], text[cut + 1 :]
        if colon == ":" and oracle_server(server) and oracle_export(export):
            return True
    return False


def oracle_export(text):
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return False
    if not 1 <= len(raw) <= 1023 or not oracle_shown(text) or set(raw) & {44, 58}:
        return False
    # A slash, then non-empty parts separated by single slashes, and optionally a final slash.
    return re.fullmatch(r"/|(/(?!\.{1,2}(/|\Z))[^/]+)+/?", text, re.DOTALL) is not None


def oracle_shown(text):
    """Whether a text is printable by its Unicode categories; the only blank allowed is the space."""
    return all(c == " " or unicodedata.category(c)[0] not in "CZ" for c in text)


def oracle_target(text):
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return False
    if not oracle_shown(text):
        return False
    if text != "/" and re.fullmatch(r"(/(?!\.{1,2}(/|\Z))[^/]+)+", text, re.DOTALL) is None:
        return False
    if any(len(part) > 255 for part in raw.split(b"/")):
        return False
    return len(raw) + 3 * raw.count(b" ") + 3 * raw.count(b"\\") <= 511


@settings(deadline=None)
@given(
    st.builds(
        "{}:{}".format,
        NASTY | st.sampled_from(["nas", "10.0.0.7", "[fe80::1%eth0]", "[::1]"]),
        NASTY | NASTY.map(lambda t: "/" + t),
    )
)
@example("nas01:/export/home")
@example("nas:/a\x85b")
@example("nas:/a\u2066b")
@example("nas:/a b")
@example("[2001:db8::7]:/data")
@example("[fe80::1%eth0]:/x y")
@example("nas:/")
@example("nas:/a/")
@example("nas:/a//")
@example("a,b:/x")
@example("-o:/x")
@example("1.2.3.4.5:/x")
@example("1.2.3.04:/x")
@example("nas.:/x")
@example("nas:/a/../b")
def test_share_agrees_with_the_oracle(text):
    assert accepts(validate.share, text) == oracle_share(text)


@settings(deadline=None)
@given(
    st.text(max_size=30)
    | NASTY
    | NASTY.map(lambda t: "/" + t)
    | st.integers(200, 600).map(lambda n: "/" + "x" * n)
    | st.integers(0, 600).map(lambda n: "/a" * n)
    | st.integers(0, 260).map(lambda n: "/" + " " * n)
)
@example("//mnt")
@example("/mnt/a\x9bb")
@example("/mnt/a\u202eb")
@example("/mnt/a\u2028b")
@example("/mnt/a\u00a0b")
@example("/mnt/a b")
@example("/mnt/")
@example("/mnt/.")
@example("/mnt/..hidden")
@example("/")
def test_target_agrees_with_the_oracle(text):
    assert accepts(validate.target, text) == oracle_target(text)


ACCEPTED = [
    "nas:/" + "x" * 1022,
    "nas:/ü" + "x" * 1020,
    "nas:/...",
    "nas:/.a/..b",
    "nas:/a-b_c d\\e",
    "a" * 63 + ":/x",
    "x." * 126 + "a:/x",
    "_a:/x",
    "a_:/x",
    "0x:/x",
    "[fe80::1%aaaaaaaaaaaaaaa]:/x",
    "255.255.255.255:/x",
]
REFUSED = [
    "nas:/" + "x" * 1023,
    "nas:/ü" + "x" * 1021,
    "nas:/a,b",
    "nas:/a:b",
    "nas:/.",
    "nas:/..",
    "nas:/a/.",
    "nas:/./a",
    "nas:/a//b",
    "nas://",
    "nas:",
    "nas",
    ":/x",
    "nas/x",
    "nas:x",
    "a" * 64 + ":/x",
    "x." * 126 + "ab:/x",
    "-a:/x",
    "a-:/x",
    "a..b:/x",
    ".:/x",
    "..:/x",
    "1:/x",
    "1.2:/x",
    "ü:/x",
    "[::1:/x",
    "[::1]/x",
    "::1:/x",
    "[nas]:/x",
    "[10.0.0.7]:/x",
    "[fe80::1%]:/x",
    "[fe80::1%aaaaaaaaaaaaaaaa]:/x",
    "[fe80::1%a b]:/x",
    "[fe80::1%a\n]:/x",
    "[]:/x",
    "nas\n:/x",
    "１.2.3.4:/x",  # noqa: RUF001
    "[：:1]:/x",  # noqa: RUF001
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_a_share_at_the_limits_is_accepted(text):
    assert validate.share(text) == text
    assert oracle_share(text)


@pytest.mark.parametrize("text", REFUSED)
def test_a_share_beyond_the_limits_is_refused(text):
    with pytest.raises(Refusal) as caught:
        validate.share(text)
    assert caught.value.code == "share-invalid"
    assert not oracle_share(text)


@pytest.mark.parametrize(
    "text", ["/", "/a", "/" + "x" * 255, "/" + "ü" * 127, "/a b", "/..a", "/a..", "/ ", "/.a", "/a.", "/..."]
)
def test_a_mount_point_at_the_limits_is_accepted(text):
    assert validate.target(text) == text


@pytest.mark.parametrize(
    "text", ["/" + "a" * 254 + "/" + "a" * 255, ("/" + " " * 63) * 2, "/\\" + "a" * 200 + "/" + "b" * 200]
)
@pytest.mark.parametrize("more", [0, 1])
def test_a_mount_point_has_511_bytes_as_it_is_written(text, more):
    written = len(text.encode()) + 3 * (text.count(" ") + text.count("\\"))
    path = text + "/" + "c" * (511 - written - 1 + more) if written < 511 else text + "c" * more
    assert accepts(validate.target, path) == (more == 0) == oracle_target(path)


@pytest.mark.parametrize(
    "text",
    ["", "a", "//", "//a", "/a/", "/a//b", "/.", "/..", "/a/.", "/a/../b", "/./a", "/" + "x" * 256,
     "/" + "ü" * 128, "/a/" + "x" * 256],
)  # fmt: skip
def test_a_mount_point_that_is_not_plain_is_refused(text):
    with pytest.raises(Refusal) as caught:
        validate.target(text)
    assert caught.value.code == "mount-point-invalid"


def test_the_character_that_is_not_printable_is_named():
    for check, text in ((validate.target, "/mnt/a\x9bb\u202e"), (validate.share, "nas:/a\x9b")):
        with pytest.raises(Refusal) as caught:
            check(text)
        assert caught.value.message.endswith("contains a character that is not printable (U+009B).")
    assert validate.which("all fine") == ""


@pytest.mark.parametrize(("text", "code"), [("mnt", "mount-point-invalid"), ("", "mount-point-invalid")])
def test_refusals_carry_a_code_and_a_sentence(text, code):
    with pytest.raises(Refusal) as caught:
        validate.target(text)
    assert caught.value.code == code
    assert caught.value.message.endswith(".")
