"""Autofs maps: parsing agrees with automount(8)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.dialects import autofs
from advisor.dialects.autofs import MapName, MasterLine, read_map, read_master

MASTER = r"""# head
/home     /etc/auto.home  --timeout=60 -rw,intr nobrowse
/-        auto.direct     -t 300 ro
/net      -hosts
/n        -null
/l        ldap:ou=auto.l,dc=x   browse,hard
/amd      file,amd:/etc/amd.x
/p/       exec:/etc/auto.p --mode 0755 -Dvar=x --strict -w
+dir:/etc/auto.master.d
+auto.master
relative  /etc/auto.x
/alone
"""


def test_a_master_map() -> None:
    lines, broken = read_master(MASTER)
    assert lines == [
        MasterLine(2, "/home", MapName("", "sun", "/etc/auto.home"), ("rw", "intr"), 60, ("--timeout=60",)),
        MasterLine(3, "/-", MapName("", "sun", "auto.direct"), ("ro",), 300),
        MasterLine(4, "/net", MapName("hosts", "sun", "-hosts"), (), None),
        MasterLine(5, "/n", MapName("null", "sun", "-null"), (), None),
        MasterLine(6, "/l", MapName("ldap", "sun", "ou=auto.l,dc=x"), ("hard",), None),
        MasterLine(7, "/amd", MapName("file", "amd", "/etc/amd.x"), (), None),
        MasterLine(8, "/p", MapName("program", "sun", "/etc/auto.p"), (), None, ("--mode", "--strict", "-w")),
        MasterLine(9, "", MapName("dir", "sun", "/etc/auto.master.d"), (), None),
        MasterLine(10, "", MapName("", "sun", "auto.master"), (), None),
    ]
    assert broken == [11, 12]


@pytest.mark.parametrize(
    ("line", "base", "expected"),
    [
        ("alice nas:/home/alice", "/home", ("/home/alice", "", "", ("nas:/home/alice",))),
        ("alice -ro,soft nas:/home/& # hers", "/home", ("/home/alice", "ro,soft", "", ("nas:/home/alice",))),
        ("* -fstype=nfs4 nas:/home/&", "/home/", ("/home/*", "", "nfs4", ("nas:/home/&",))),
        ("/mnt/a -fstype=nfs nas:/a", "/-", ("/mnt/a", "", "nfs", ("nas:/a",))),
        ("a -ro,hard / -rw nas:/a", "/m", ("/m/a", "hard,rw", "", ("nas:/a",))),
        ('"a b" "nas:/x y"', "/m", ("/m/a b", "", "", ("nas:/x y",))),
        (r"a\ b nas:/x\ y\&", "/m", ("/m/a b", "", "", ("nas:/x y&",))),
        ("a nas1(5),nas2:/x nas3:/y", "/m", ("/m/a", "", "", ("nas1:/x", "nas2:/x", "nas3:/y"))),
        ("a $HOST:/x/${USER}", "/m", ("/m/a", "", "", ("$HOST:/x/${USER}",))),
        ("a [fe80::1%eth0]:/x", "/m", ("/m/a", "", "", ("[fe80::1%eth0]:/x",))),
        ('a -context="s:t,c" nas:/a', "/m", ("/m/a", "context=s:t,c", "", ("nas:/a",))),
        ("a \\\n  -ro \\\n  nas:/a", "/m", ("/m/a", "ro", "", ("nas:/a",))),
        ("a -nobind,strict,ro nas:/a\r", "/m", ("/m/a", "ro", "", ("nas:/a",))),
    ],
)
def test_one_entry(line: str, base: str, expected: tuple[str, str, str, tuple[str, ...]]) -> None:
    found = read_map(f"# x\n\n{line}\n")
    assert (found.included, found.broken) == ([], [])
    (entry,) = found.entries
    assert entry.number == 3
    options = ",".join(entry.options)
    assert (entry.point(base), options, entry.fstype, tuple(autofs.entry_shares(entry))) == expected


def test_several_places_of_one_key() -> None:
    found = read_map(
        "pc -rw / -ro nas:/ \\\n  /usr nas:/usr \\\n  /home -soft a:/home b:/home\nnext nas:/n\n"
    )
    assert [(e.point("/m"), e.options, e.locations, e.number) for e in found.entries] == [
        ("/m/pc", ("ro",), ("nas:/",), 1),
        ("/m/pc/usr", ("rw",), ("nas:/usr",), 1),
        ("/m/pc/home", ("rw", "soft"), ("a:/home", "b:/home"), 1),
        ("/m/next", (), ("nas:/n",), 4),
    ]


def test_included_maps_and_lines_that_name_nothing() -> None:
    found = read_map("+auto.more\nalone\nb -ro\n+ldap:ou=x\n")
    assert found.included == [(1, MapName("", "sun", "auto.more")), (4, MapName("ldap", "sun", "ou=x"))]
    assert (found.entries, found.broken) == ([], [2, 3])


def test_options_in_the_words_of_fstab() -> None:
    line = MasterLine(1, "/m", MapName("", "sun", "/etc/m"), ("fstype=nfs4", "hard"), 60)
    (entry,) = read_map("a -ro nas:/a").entries
    words = "hard,ro,x-systemd.automount,x-systemd.idle-timeout=60"
    assert autofs.fstab_options(entry, line) == words
    assert autofs.entry_fstype(entry, line) == "nfs4"
    assert autofs.fstab_options(entry, None) == "ro,x-systemd.automount"
    assert autofs.entry_fstype(entry, None) == "nfs"


@pytest.mark.parametrize(
    ("share", "key", "live", "fits"),
    [
        ("nas:/home/&", "al.ce", "nas:/home/al.ce", True),
        ("nas:/home/&", "al.ce", "nas:/home/alice", False),
        ("nas:/${ARCH}/x", "", "nas:/x86_64/x", True),
        ("nas:/a", "", "nas:/ab", False),
        ("nas:/a&", "", "nas:/a&", True),
    ],
)
def test_what_is_mounted_is_recognised(share: str, key: str, live: str, *, fits: bool) -> None:
    assert bool(autofs.share_pattern(share, key).fullmatch(live)) == fits


@given(st.one_of(st.text(), st.lists(st.sampled_from(
    ["/", "-", "+", " ", "\n", "\\", '"', "#", "nas:/a", "&", "*", "$", "key", "-ro", ",", "(", "1)", ":",
     "--t"]
)).map("".join)))  # fmt: skip
def test_any_text_is_read(text: str) -> None:
    lines, _ = read_master(text)
    for entry in read_map(text).entries:
        assert entry.locations
        for line in [*lines, None]:
            autofs.fstab_options(entry, line)
        for share in autofs.entry_shares(entry):
            autofs.share_pattern(share, "k")
        entry.point("/-")
