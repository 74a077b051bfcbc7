"""Recognition of pasted texts: form, options and unsupported parts."""

import pytest

from advisor.dialects import MountSpec, UnreadableMountError, read_any, read_every

PLAIN = ("nas01:/export/home", "/home")


def told(entry: MountSpec) -> tuple[str, str]:
    return str(entry.share), entry.mount_point


@pytest.mark.parametrize(("text", "options"), [
    ("mount nas01:/export/home /home", ""),
    ("mount -t nfs nas01:/export/home /home", ""),
    ("sudo mount -t nfs -o ro,vers=3 nas01:/export/home /home", "ro,vers=3"),
    ("$ sudo -E mount -o ro -o vers=3 nas01:/export/home /home", "ro,vers=3"),
    ("root@pc:~# mount nas01:/export/home /home -o ro,vers=3", "ro,vers=3"),
    ("# mount -t nfs -o soft nas01:/export/home /home", "soft"),
    ("sudo -u root /sbin/mount.nfs nas01:/export/home /home -o rsize=8192", "rsize=8192"),
    ("mount.nfs4 nas01:/export/home /home", "vers=4"),
    ("mount -t nfs4 nas01:/export/home /home -o hard", "hard,vers=4"),
    ("mount -t nfs4 -o vers=4.1 nas01:/export/home /home", "vers=4.1"),
    ("mount --types nfs --options=ro --source nas01:/export/home --target /home", "ro"),
    ("mount -vt nfs -onolock 'nas01:/export/home' \"/home\"", "nolock"),
    ("mount -r -m nas01:/export/home /home", "ro,X-mount.mkdir"),
    ("mount -t nfs \\\n  -o ro \\\n  nas01:/export/home /home\n", "ro"),
])  # fmt: skip
def test_mount_commands(text: str, options: str) -> None:
    reading = read_any(text)
    assert reading.form == "a mount command"
    assert told(reading.entry) == PLAIN
    assert str(reading.entry.options) == options
    assert reading.untranslated == []


def test_what_stands_behind_is_told() -> None:
    reading = read_any("mount nas01:/export/home /home && df -h")
    assert reading.untranslated == ["What stands behind the command was left out: && df -h"]
    assert "-f" in read_any("mount -f nas01:/export/home /home").untranslated[0]


@pytest.mark.parametrize(("text", "options"), [
    ("nas01:/export/home\t/home\tnfs\tdefaults\t0\t0\n", ""),
    ("# my server\n\n  nas01:/export/home /home nfs ro,noauto 0 0", "ro,noauto"),
    ("nas01:/export/home /home nfs4 rw", "rw,vers=4"),
    ("nas01:/export/home /home nfs\r\n", ""),
    ("nas01:/export/h\\157me /home nfs a\\040b", "a b"),
])  # fmt: skip
def test_fstab_lines(text: str, options: str) -> None:
    reading = read_any(text)
    assert reading.form == "an fstab line"
    assert told(reading.entry) == PLAIN
    assert str(reading.entry.options) == options
    assert reading.untranslated == []


def test_the_other_lines_are_told() -> None:
    reading = read_any("UUID=1 / ext4 defaults 0 1\nnas01:/export/home /home nfs ro 0 2\nb:/c /d nfs\n")
    assert told(reading.entry) == PLAIN
    assert len(reading.untranslated) == 3
    assert any("0 2" in note for note in reading.untranslated)


UNIT = """[Unit]
Description=Home
After=network-online.target openvpn.service
Requires=wg0.service
After=wg0.service

[Mount]
What=nas01:/export/home
Where=/home
Type=nfs
Options=vers=4.2,made=100%%
TimeoutSec=30
DirectoryMode=0700

[Install]
WantedBy=multi-user.target
"""


def test_units() -> None:
    reading = read_any(UNIT)
    assert reading.form == "a systemd mount unit"
    assert told(reading.entry) == PLAIN
    assert str(reading.entry.options) == (
        "vers=4.2,made=100%,x-systemd.after=openvpn.service,x-systemd.requires=wg0.service,"
        "x-systemd.mount-timeout=30,nofail"
    )
    assert reading.untranslated == ["DirectoryMode=0700 in [Mount] has no word in fstab."]
    assert reading.entry.when == "start-up"
    for told_so, last in (
        ("WantedBy=remote-fs.target multi-user.target", "nofail"),
        ("WantedBy=default.target", "nofail"),
        ("RequiredBy=remote-fs.target\nWantedBy=multi-user.target", "x-systemd.mount-timeout=30"),
        ("RequiredBy=multi-user.target", "x-systemd.mount-timeout=30"),
        ("WantedBy=backup.target", "x-systemd.wanted-by=backup.target"),
    ):
        other = read_any(UNIT.replace("WantedBy=multi-user.target", told_so))
        assert list(other.entry.options)[-1] == last
    assert read_any(UNIT.partition("[Install]")[0]).entry.when == "by-hand"
    both = UNIT.partition("[Install]")[0] + "[Automount]\nWhere=/home\nTimeoutIdleSec=90\n"
    assert read_any(both).entry.when == "on-demand"
    assert read_any(both).entry.idle_timeout_s == 90


@pytest.mark.parametrize(("text", "options"), [
    ("mount_nfs -T -3 -s -i nas01:/export/home /home", "proto=tcp,vers=3,soft,intr"),
    ("mount_nfs -r 32768 -w16384 -t 10 -x 4 -T nas01:/export/home /home",
     "rsize=32768,wsize=16384,timeo=10,retrans=4,tcp"),
    ("doas mount_nfs -lTb nas01:/export/home /home", "rdirplus,tcp,bg"),
    ("mount_nfs -o nfsv4,minorversion=1,nolockd,tcp nas01:/export/home /home", "vers=4.1,nolock,tcp"),
    ("mount_nfs -T -U -P -o rdonly,port=20049 nas01:/export/home /home",
     "tcp,mountproto=udp,resvport,ro,port=20049"),
])  # fmt: skip
def test_mount_nfs(text: str, options: str) -> None:
    reading = read_any(text)
    assert "mount_nfs" in reading.form
    assert told(reading.entry) == PLAIN
    assert str(reading.entry.options).replace("proto=tcp", "tcp") == options.replace("proto=tcp", "tcp")
    assert reading.untranslated == []


@pytest.mark.parametrize(("flags", "said"), [
    ("-4", "-4"), ("-a 4", "readahead=4"), ("-I 8192", "readdirsize=8192"), ("-2", "version 2"),
    ("-d", "dumbtimer"), ("-K", "-K"), ("-g 8", "maxgroups=8"), ("-o nobrowse", "nobrowse"),
    ("-R 0", "for ever"), ("-R 5", "counts tries"), ("-s", "OpenBSD uses UDP"),
])  # fmt: skip
def test_what_linux_cannot_say_is_told(flags: str, said: str) -> None:
    reading = read_any(f"mount_nfs {flags} nas01:/export/home /home")
    assert any(said in note for note in reading.untranslated)


@pytest.mark.parametrize(("text", "form", "options"), [
    ("nas01:/export/home /home nfs rw,-T,-r=32768,-i 0 0", "BSD", "rw,tcp,rsize=32768,intr"),
    ("nas01:/export/home /home nfs rw,nfsv3,late,failok 0 0", "BSD", "rw,vers=3,_netdev,nofail"),
    ("mount -t nfs -o resvport,locallocks,rwsize=65536 nas01:/export/home /home", "macOS",
     "resvport,local_lock=all,rsize=65536,wsize=65536"),
    ("mount -t nfs -o noac,timeout=20,tls nas01:/export/home /home", "BSD", "actimeo=0,timeo=20,xprtsec=tls"),
    ("nas01:/export/home /home nfs rw,bg,noac,mnttimeo=30,retry=3 0 0", "NeXTSTEP",
     "rw,bg,actimeo=0,retry=2"),
    ("/- auto_nfs\n/home -fstype=nfs,resvport,nolocks nas01:/export/home", "autofs",
     "resvport,nolock,x-systemd.automount"),
    ("/home -fstype=nfs4,ro nas01:/export/home", "autofs", "ro,vers=4,x-systemd.automount"),
])  # fmt: skip
def test_words_of_others(text: str, form: str, options: str) -> None:
    reading = read_any(text)
    assert form in reading.form
    assert told(reading.entry) == PLAIN
    assert str(reading.entry.options) == options


@pytest.mark.parametrize(("text", "reason"), [
    ("", "nothing that says"),
    ("hello world", "nothing that says"),
    ("mount -t nfs nas01:/export/home", "one share and one mount point"),
    ("mount -t ext4 /dev/sda1 /mnt", "not nfs"),
    ("mount -t nfs 'nas01:/x /y", "quotation mark"),
    ("mount -t nfs nas01:/x relative", "absolute"),
    ("mount --frobnicate nas01:/x /y", "frobnicate"),
    ("nas01 /home nfs defaults", "not a share"),
    ("nas01:/x /home nfs defaults 0 # mine", "not a number"),
    ("[Mount]\nWhere=/x\n", "What="),
    ("[Mount]\nWhat=/dev/sda1\nWhere=/x\nType=ext4\n", "ext4"),
    ("[Automount]\nWhere=/x\n", "only where"),
    ("mount_nfs -Z nas:/x /y", "-Z"),
    ('nas:/x /m nfs4 context="a', "quotation mark"),
    ('/m -fstype=nfs,context="a nas:/x', "quotation mark"),
    ('[Mount]\nWhat=nas:/x\nWhere=/m\nOptions=context="a\n', "quotation mark"),
])  # fmt: skip
def test_refusals_say_why(text: str, reason: str) -> None:
    with pytest.raises(UnreadableMountError) as caught:
        read_any(text)
    assert reason in str(caught.value)
    assert caught.value.tried


def test_every_line_of_an_fstab_is_a_mount_to_choose_from() -> None:
    text = """# <file system> <mount point> <type> <options>
UUID=1234 / ext4 defaults 0 1
nas01:/a /mnt/a nfs ro 0 0
# nas01:/old /mnt/old nfs ro 0 0
nas01:/b\t/mnt/b\tnfs4\thard\t0\t0
"""
    assert [told(reading.entry) for reading in read_every(text)] == [
        ("nas01:/a", "/mnt/a"), ("nas01:/b", "/mnt/b")]  # fmt: skip


@pytest.mark.parametrize("text", [
    "mount -t nfs \\\n  -o ro \\\n  nas01:/export/home /home\n",
    "nas01:/export/home /home nfs ro 0 0\nUUID=1 / ext4 defaults 0 1",
    "[Unit]\nDescription=x\n[Mount]\nWhat=nas01:/export/home\nWhere=/home\nOptions=ro\n",
])  # fmt: skip
def test_a_single_mount_is_read_as_a_whole(text: str) -> None:
    assert read_every(text) == [read_any(text)]


def test_several_commands() -> None:
    text = "mount nas01:/a /a\nmount -o ro \\\n nas01:/b /b\n"
    assert [str(reading.entry.options) for reading in read_every(text)] == ["", "ro"]


def test_nothing_is_said_as_read_any_says_it() -> None:
    with pytest.raises(UnreadableMountError):
        read_every("Dear all,\nthe server is down.")


INDIRECT = "/nfs auto.nfs -ro --timeout=90\n# the map\ndata -fstype=nfs4 h:/d\nhome\tnas01:/export/&\n"


def test_an_indirect_map_behind_its_line_of_the_master_map() -> None:
    first, second = read_every(INDIRECT)
    assert told(first.entry) == ("h:/d", "/nfs/data")
    assert str(first.entry.options) == "ro,vers=4,x-systemd.automount,x-systemd.idle-timeout=90"
    assert told(second.entry) == ("nas01:/export/home", "/nfs/home")
    assert first.form == second.form == "an autofs map"
    assert read_any(INDIRECT).untranslated == ["Another mount was left out: nas01:/export/home on /nfs/home"]


def test_a_key_without_its_directory_is_refused_with_that_reason() -> None:
    with pytest.raises(UnreadableMountError, match=r"“data” is a key.*master map"):
        read_any("data -fstype=nfs4 h:/d")
    with pytest.raises(UnreadableMountError) as caught:
        read_any("Dear all")
    assert any("key of an indirect map" in reason for _, reason in caught.value.tried)


@pytest.mark.parametrize(("text", "reason"), [
    ("/nfs auto.nfs\n* -ro nas:/home/&", "any name"),
    ("/nfs auto.nfs\ndata -ro a:/x b:/x", "several places"),
    ("/nfs auto.nfs\ndata -fstype=cifs ://a/x", "cifs"),
])  # fmt: skip
def test_maps_that_only_autofs_can_say(text: str, reason: str) -> None:
    with pytest.raises(UnreadableMountError, match=reason):
        read_any(text)


def test_what_only_autofs_reads_is_told() -> None:
    reading = read_any("/m -fstype=nfs,nobind,soft nas:/home/$USER")
    assert str(reading.entry.options) == "soft,x-systemd.automount"
    assert any("nobind" in note for note in reading.untranslated)
    assert any("$USER" in note for note in reading.untranslated)
    assert any("+auto.more" in note for note in read_any("/m -ro nas:/x\n+auto.more\n").untranslated)
