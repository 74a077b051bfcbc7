"""Shares: parsing agrees with mount.nfs, and errors have a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.share import Share, ShareError


@pytest.mark.parametrize(
    ("text", "host", "export"),
    [
        ("nas01:/export/home", "nas01", "/export/home"),
        ("nas01:/", "nas01", "/"),
        ("10.0.0.7:/a b/größe", "10.0.0.7", "/a b/größe"),
        ("[2001:db8::7]:/data", "2001:db8::7", "/data"),
        ("[fe80::1%eth0]:/data", "fe80::1%eth0", "/data"),
        ("bücher.example.:/x", "bücher.example.", "/x"),
        ("a_b-c.example:/x:y", "a_b-c.example", "/x:y"),
        ("127.0.0.1://srv//a/", "127.0.0.1", "//srv//a/"),
        ("nas01:", "nas01", ""),
        ("192.168.122.76:s_test", "192.168.122.76", "s_test"),
        ("[2001:db8::7]:", "2001:db8::7", ""),
        ("nas01:a/b c", "nas01", "a/b c"),
    ],
)
def test_shares_are_taken_apart_and_put_together(text: str, host: str, export: str) -> None:
    share = Share.parse(text)
    assert (share.host, share.export) == (host, export)
    assert str(share) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "nothing"),
        ("/export", "no colon"),
        ("nas01", "no colon"),
        (":/x", "no server"),
        ("fe80::1:/x", "brackets"),
        ("[fe80::1:/x", "bracket is not closed"),
        ("[1.2.3.4]:/x", "IPv6"),
        ("[::1]/x", "no colon"),
        ("[::1%bad zone]:/x", "IPv6"),
        ("1.2.3:/x", "IPv4"),
        ("-o:/x", "name or address"),
        ("a b:/x", "name or address"),
        ("a,b:/x", "several servers"),
        ("./a:/x", "slash"),
        ("nfs://a/b", "nfs://"),
        ("a:/x/../y", "part"),
        ("a:/x\n", "control"),
        ("a:/\udcff", "UTF-8"),
        ("a:/" + "x" * 1024, "too long"),
        ("a." * 200 + ":/x", "name or address"),
    ],
)
def test_a_text_that_is_no_share_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(ShareError, match=reason):
        Share.parse(text)


@pytest.mark.parametrize(
    ("text", "absolute"), [("nas:", "nas:/"), ("nas:a/b", "nas:/a/b"), ("nas:/a", "nas:/a")]
)
def test_a_share_without_a_slash_and_its_absolute_form(text: str, absolute: str) -> None:
    assert str(Share.parse(text).absolute) == absolute


@given(st.one_of(st.text(), st.builds("{}:/{}".format, st.text(), st.text())))
def test_any_text_is_a_share_that_prints_the_same_or_is_refused(text: str) -> None:
    try:
        share = Share.parse(text)
    except ShareError:
        return
    assert str(share) == text
