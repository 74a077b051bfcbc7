"""Lint rules about risky, contradictory or useless combinations of options: one case per rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.facts import ClientFacts, Facts, ServerFacts
from advisor.lint import LintContext, apply_fix, lint
from advisor.options import MountOptions
from resources import read_toml

NOW = LintContext()
ENTRY = LintContext(place="fstab", fstab=True, share="nas01:/export/home", mount_point="/mnt/home")
NFS4 = LintContext(place="fstab", fstab=True, share="nas01:/", mount_point="/mnt", fstype="nfs4")
COMMAND = LintContext(place="command", share="nas01:/a", mount_point="/mnt/a")
VAR = LintContext(share="nas01:/var", mount_point="/var")
EFS = LintContext(share="fs-0123456789abcdef0.efs.eu-west-1.amazonaws.com:/", mount_point="/efs")
AZURE = LintContext(share="acct.file.core.windows.net:/acct/share", mount_point="/files")
ALIBABA = LintContext(share="0123-x1.cn-hangzhou.nas.aliyuncs.com:/", mount_point="/nas")
BLOB = LintContext(share="acct.blob.core.windows.net:/acct/container", mount_point="/blob")
FSX = LintContext(share="fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com:/data", mount_point="/fsx")
OCI = LintContext(share="fss1.sub1.vcn1.oraclevcn.com:/fs1", mount_point="/fss")
IPV4 = LintContext(share="192.0.2.7:/a", mount_point="/mnt/a")
IPV6 = LintContext(share="[2001:db8::7]:/a", mount_point="/mnt/a")

#: rule, options with the mistake, context, options after the fix (None without a fix)
CASES = [
    ("soft-timer", "ro,soft,timeo=3", NOW, "ro,soft"),
    ("soft-timer", "ro,soft,retrans=0", NOW, "ro,soft"),
    ("soft-timer", "ro,softerr,timeo=14,retrans=5", NOW, "ro,softerr"),
    ("soft-timer", "ro,soft,udp,timeo=2,vers=3", NOW, "ro,soft,udp,vers=3"),
    ("soft-endless", "ro,soft,timeo=600,retrans=100", NOW, "ro,soft,timeo=600"),
    ("retrans-zero", "hard,retrans=0", NOW, "hard"),
    ("udp-timer", "vers=3,udp,timeo=600", NOW, "vers=3,udp"),
    ("bg-retry-zero", "bg,retry=0", NOW, "bg"),
    ("nolock", "vers=3,nolock", NOW, "vers=3"),
    ("nolock", "nolock,hard", NOW, "hard"),
    ("local-lock", "vers=3,local_lock=all", NOW, "vers=3"),
    ("locks-in-var", "vers=3,hard", VAR, "vers=3,hard,nolock"),
    ("nocto-rw", "rw,nocto", NOW, "rw"),
    ("attributes-kept-long", "actimeo=3600", NOW, ""),
    ("attributes-kept-long", "rw,acdirmax=7200", NOW, "rw"),
    ("attributes-never-kept", "actimeo=0", NOW, None),
    ("attributes-never-kept", "acregmin=0,acregmax=0,acdirmin=0,acdirmax=0", NOW, None),
    ("attributes-never-kept", "ro,noac", NOW, None),
    ("names-never-kept", "lookupcache=none", NOW, None),
    ("kerberos-connections", "sec=krb5p,nconnect=8", NOW, "sec=krb5p"),
    ("kerberos-side-protocols", "vers=3,sec=krb5p", NOW, None),
    ("kerberos-or-not", "sec=krb5p:sys:krb5", NOW, "sec=krb5p:krb5"),
    ("flavor-none", "sec=null", NOW, ""),
    ("flavor-none", "sec=none:sys", NOW, "sec=sys"),
    ("flavor-gone", "sec=spkm3", NOW, ""),
    ("flavor-gone", "sec=lkey:sys", NOW, "sec=sys"),
    ("tls-transport", "xprtsec=tls,proto=rdma", NOW, "xprtsec=tls"),
    ("tls-transport", "vers=3,xprtsec=mtls,udp", NOW, "vers=3,xprtsec=mtls"),
    ("tls-by-address", "xprtsec=tls", LintContext(share="10.0.0.7:/a", mount_point="/a"), None),
    ("encrypted-twice", "xprtsec=tls,sec=krb5p", NOW, None),
    ("certificate-without-mtls", "xprtsec=tls,cert_serial=5", NOW, "xprtsec=tls"),
    ("connections-udp", "vers=3,udp,nconnect=4", NOW, "vers=3,udp"),
    ("rdma-port", "proto=rdma,port=2049", NOW, "proto=rdma,port=20049"),
    ("rdma-port-without-rdma", "port=20049,hard", NOW, None),
    ("other-service-port", "vers=4.2,port=111", NOW, "vers=4.2"),
    ("other-service-port", "vers=4.1,port=445", NOW, "vers=4.1"),
    ("other-service-port", "vers=4.1,port=22", NOW, "vers=4.1"),
    ("other-service-port", "vers=3,mountport=111", NOW, "vers=3"),
    ("other-service-port", "vers=3,mountport=2049", NOW, "vers=3"),
    ("mount-host", "vers=3,mounthost=nas1:/export", NOW, "vers=3"),
    ("mount-host", "vers=3,mounthost=10.0.0.300", NOW, "vers=3"),
    ("mount-host", "vers=3,mounthost=[2001:db8::9]", NOW, "vers=3"),
    ("client-family", "vers=4.0,clientaddr=2001:db8::9", IPV4, "vers=4.0"),
    ("client-family", "vers=4.0,clientaddr=192.0.2.9", IPV6, "vers=4.0"),
    ("client-family", "vers=4.0,proto=tcp6,clientaddr=192.0.2.9", NOW, "vers=4.0,proto=tcp6"),
    ("client-family", "vers=3,mountaddr=2001:db8::9", IPV4, "vers=3"),
    ("cache-tag", "fsc=yes", NOW, "fsc"),
    ("cache-tag", "ro,fsc=1", NOW, "ro,fsc"),
    ("cache-tag", "fsc=off,ro", NOW, "ro"),
    ("cache-tag", "fsc=/var/cache/fscache,ro", NOW, "fsc,ro"),
    ("value-after-comma", "vers=3,local_lock=flock,posix", NOW, None),
    ("read-only-anyway", "ro,x-systemd.rw-only", NOW, "ro"),
    ("context-form", "context=httpd_sys_content_t", NOW, None),
    ("context-form", "fscontext=system_u", NOW, None),
    ("transport-families", "vers=3,proto=tcp6,mountproto=udp", NOW, "vers=3,proto=tcp6,mountproto=udp6"),
    ("transport-families", "vers=3,mountproto=udp6", IPV4, "vers=3,mountproto=udp"),
    ("transport-families", "vers=3,mountproto=tcp", IPV6, "vers=3,mountproto=tcp6"),
    ("callback-address", "vers=4.0,clientaddr=127.0.0.1", NOW, "vers=4.0"),
    ("callback-address", "vers=4.0,clientaddr=fe80::7", NOW, "vers=4.0"),
    ("callback-address", "vers=4.0,clientaddr=224.0.0.1", NOW, "vers=4.0"),
    ("callback-address", "vers=4.0,clientaddr=192.0.2.7", IPV4, "vers=4.0"),
    ("minorversion-beside-minor", "vers=4.2,minorversion=1", NOW, "vers=4.2"),
    ("migration-settles", "vers=4,migration", NOW, "vers=4"),
    ("mountd-means-v3", "mountport=635", NOW, "mountport=635,vers=3"),
    ("mountvers", "vers=3,mountvers=4", NOW, "vers=3"),
    ("mountvers", "vers=3,mountvers=1", NOW, "vers=3"),
    ("name-length", "vers=3,namlen=1024", NOW, "vers=3"),
    ("type-against-version", "vers=3", NFS4, None),
    ("remount-in-table", "remount,ro", ENTRY, "ro"),
    ("remount-refused", "remount,nconnect=8", NOW, None),
    ("remount-both", "remount,ro", COMMAND, None),
    ("programs-of-server", "users,noauto,suid", ENTRY, "users,noauto,nosuid"),
    ("suid-said", "rw,dev", NOW, "rw,nodev"),
    ("user-order", "noauto,exec,users", ENTRY, "noauto,users,exec"),
    ("user-order", "suid,dev,user,noauto", ENTRY, "user,noauto,suid,dev"),
    ("idmap", "X-mount.idmap=b:0:1000:1,ro", ENTRY, "ro"),
    ("bind-share", "bind,ro", NOW, "ro"),
    ("owner-of-device", "owner,noauto", ENTRY, "noauto"),
    ("empty-value", "fsc=,ro", NOW, "ro"),
    ("empty-option", "rw,,hard", NOW, None),
    ("efs-version", "vers=3,noresvport", EFS, "vers=4.1,noresvport"),
    ("alibaba-nas-version", "vers=4.2", ALIBABA, "vers=4.0"),
    ("efs-security", "vers=4.1,noresvport,sec=krb5p", EFS, "vers=4.1,noresvport"),
    ("efs-connections", "vers=4.1,noresvport,nconnect=4", EFS, "vers=4.1,noresvport"),
    ("efs-sizes", "rsize=65536,noresvport", EFS, "rsize=1048576,noresvport"),
    ("azure-files-security", "vers=4.1,sec=krb5p", AZURE, "vers=4.1,sec=sys"),
    ("azure-files-version", "vers=4,minorversion=2,nconnect=4", AZURE, "vers=4.1,nconnect=4"),
    ("azure-files-connections", "vers=4.1,nconnect=8", AZURE, "vers=4.1,nconnect=4"),
    ("azure-path", "vers=4.1", replace(AZURE, share="acct.file.core.windows.net:/share"), None),
    ("azure-path", "vers=3,nolock", replace(BLOB, share="acct.blob.core.windows.net:/container"), None),
    ("azure-blob-security", "vers=3,nolock,sec=krb5", BLOB, "vers=3,nolock,sec=sys"),
    ("cloud-transport", "vers=4.1,rdma", AZURE, "vers=4.1"),
    ("cloud-transport", "vers=4.1,noresvport,xprtsec=tls", EFS, "vers=4.1,noresvport"),
    ("cloud-transport", "vers=4.1,noresvport,proto=rdma", EFS, "vers=4.1,noresvport"),
    ("cloud-transport", "vers=3,nolock,proto=udp", BLOB, "vers=3,nolock"),
    ("cloud-port", "vers=4.1,port=20490", AZURE, "vers=4.1"),
    (
        "efs-network",
        "vers=4.1,noresvport",
        replace(EFS, place="fstab", fstab=True),
        "vers=4.1,noresvport,_netdev",
    ),
    ("fsx-path", "vers=4.2", FSX, None),
    ("oci-version", "vers=4.1", OCI, "vers=3"),
    ("efs-short-name", "nfsvers=4.1", replace(EFS, share="fs-0123456789abcdef0:/"), None),
    ("efs-source-port", "vers=4.1", EFS, "vers=4.1,noresvport"),
    ("azure-files-version", "vers=3", AZURE, "vers=4.1"),
    ("azure-blob-version", "vers=4.1,nolock", BLOB, "vers=3,nolock"),
    ("azure-blob-lock", "vers=3", BLOB, "vers=3,nolock"),
]

#: Correct options that resemble one of the mistakes.
RIGHT = [
    ("ro,soft", NOW),
    ("ro,soft,timeo=100,retrans=3", NOW),
    ("ro,soft,timeo=50,retrans=1", NOW),
    ("ro,softerr,timeo=600,retrans=2", NOW),
    ("bg,retry=5", NOW),
    ("retry=10", NOW),
    ("ro,vers=3,nolock", NOW),
    ("vers=3,nolock", VAR),
    ("vers=3,nolock,hard,timeo=600", replace(VAR, mount_point="/hana/data/HN1/mnt00001")),
    ("bg,hard,nolock,noatime,nointr,vers=3", replace(VAR, mount_point="/var/lib/mongodb")),
    ("vers=3,nolock", LintContext(place="nfsmount.conf")),  # the mounts themselves may be read-only
    ("rw,bg,hard,tcp,vers=3,timeo=600,noac", replace(VAR, mount_point="/u02/oradata")),
    ("rw,hard,noac,actimeo=0", replace(VAR, mount_point="/u01/app/crs")),
    ("ro,private,hard", NOW),
    ("vers=3,local_lock=flock", NOW),  # for Samba
    ("vers=3,posix,local_lock=flock", NOW),
    ("sec=sys,rw,proto=tcp,hard", NOW),
    ("ro,nolock,nocto,actimeo=3600", LintContext(place="fstab", share="server:/export", mount_point="/usr")),
    ("ro,nocto,actimeo=600", NOW),
    ("rw,actimeo=120", NOW),
    ("sec=krb5p:krb5i", NOW),
    ("vers=4.2,sec=krb5i,nconnect=1", NOW),
    ("vers=3,sec=krb5", NOW),
    ("xprtsec=mtls,cert_serial=5,privkey_serial=6", NOW),
    ("proto=rdma,port=20049,nconnect=4", NOW),
    ("vers=3,proto=tcp,mountproto=udp", NOW),
    ("vers=3,proto=tcp6,mountproto=tcp6,mountport=0", NOW),
    ("vers=4.0,clientaddr=0.0.0.0", NOW),
    ("vers=4,minorversion=1", NOW),
    ("vers=4.0,migration", NOW),
    ("vers=3,mountvers=3", NOW),
    ("remount,ro", NOW),
    ("remount,ro", LintContext(place="command", mount_point="/mnt/a")),
    ("user,noauto,nosuid,nodev", ENTRY),
    ("noauto,users,exec", ENTRY),
    ("noexec,nosuid,noauto,user", ENTRY),
    (
        "vers=4.2,nconnect=16",
        replace(FSX, share="fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com:/fsx/vol1"),
    ),
    ("vers=3,nolock,local_lock=all,ro", NOW),
    ("vers=3,lock,local_lock=none", NOW),
    ("user,noauto", ENTRY),
    ("nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport", EFS),
    ("vers=4,minorversion=1,sec=sys,nconnect=4", AZURE),
    ("sec=sys,vers=3,nolock,proto=tcp,nconnect=16", BLOB),
    ("addr=nas01.example.org", NOW),
    ("vers=3,port=2049,mountport=20048,proto=tcp", NOW),
    ("vers=3,port=11111,mountport=11111,proto=tcp", NOW),
    ("vers=3,mounthost=nas2.example.org", NOW),
    ("vers=3,mounthost=2001:db8::9", IPV6),
    ("vers=3,mountaddr=192.0.2.8,mountproto=tcp", IPV4),
    ("vers=3,mountproto=tcp6,proto=tcp6", IPV6),
    ("vers=4.0,clientaddr=192.0.2.8", IPV4),
    ("ro,fsc=projects", NOW),
    ("ro,fsc", NOW),
    ("rw,x-systemd.rw-only", NOW),
    ("context=system_u:object_r:httpd_sys_content_t:s0", NOW),
    ("context=system_u:object_r:httpd_sys_content_t", NOW),
    ('context="system_u:object_r:nfs_t:s0:c1,c2"', NOW),
    ("vers=4.1,sec=sys,nconnect=4,noresvport,actimeo=30", AZURE),
    ("vers=4.1", replace(AZURE, share="acct.file.core.windows.net:/acct/share/team")),
    ("nosuid,resvport,vers=3", OCI),
    ("rw,bg,hard,nointr,rsize=32768,wsize=32768,tcp,vers=3,timeo=600,actimeo=0", NOW),
]


def rules(text: str, context: LintContext) -> list[str]:
    return [finding.rule for finding in lint(MountOptions.parse(text), context=context)]


@pytest.mark.parametrize(("rule", "text", "context", "fixed"), CASES)
def test_a_combination_is_told_and_its_fix_takes_it_away(
    rule: str, text: str, context: LintContext, fixed: str | None
) -> None:
    findings = lint(MountOptions.parse(text), context=context)
    finding = next(finding for finding in findings if finding.rule == rule)
    assert finding.source
    for sentence in (finding.title, finding.why):
        assert sentence.endswith(".")
        assert "{" not in sentence
    if fixed is None:
        assert finding.fix is None
        return
    assert str(apply_fix(MountOptions.parse(text), finding)) == fixed
    assert rule not in rules(fixed, context)


def test_every_rule_about_combinations_has_a_case() -> None:
    cases = {case[0] for case in CASES} | {"filestore-basic-version"}
    assert cases == set(read_toml("rules/lint-combinations.toml")["rule"])


@pytest.mark.parametrize(
    ("text", "kind", "fixed"),
    [
        ("vers=4.1,hard", "filestore-basic", "vers=3,hard"),
        ("vers=4,minorversion=1", "filestore-basic", "vers=3"),
        ("vers=3", "filestore-basic", None),
        ("hard", "filestore-basic", None),
        ("vers=4.1", "filestore", None),
        ("vers=4.1", None, None),
    ],
)
def test_a_basic_tier_of_filestore_has_version_3_alone(
    text: str, kind: str | None, fixed: str | None
) -> None:
    options, facts = MountOptions.parse(text), Facts(client=ClientFacts(), server=ServerFacts(kind=kind))
    found = [f for f in lint(options, context=IPV4, facts=facts) if f.rule == "filestore-basic-version"]
    assert [str(apply_fix(options, finding)) for finding in found] == ([fixed] if fixed else [])


@pytest.mark.parametrize(("text", "context"), RIGHT)
def test_what_only_looks_risky_gets_no_warning(text: str, context: LintContext) -> None:
    findings = lint(MountOptions.parse(text), context=context)
    assert [finding.rule for finding in findings if finding.severity != "info"] == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("no_root_squash", "exports(5)"),
        ("credentials=/root/c", "mount.cifs(8)"),
        ("errors=remount-ro", "other file systems"),
        ("llock", "local_lock=all"),
        ("read_ahead_kb=4096", "beside the mount"),
        ("sec=krb5,krb5p", "sec=krb5p:krb5i"),
    ],
)
def test_words_of_other_files_and_file_systems_are_named_as_such(text: str, word: str) -> None:
    finding = next(f for f in lint(MountOptions.parse(text), context=NOW) if f.rule == "foreign-option")
    assert finding.severity == "error"
    assert word in finding.title


@pytest.mark.parametrize("text", ["rw hard", "rw;hard"])
def test_options_without_commas_between_are_no_options(text: str) -> None:
    finding = lint(MountOptions.parse(text), context=NOW)[0]
    assert finding.severity == "error"
    assert "Write rw,hard." in finding.title


def test_a_change_is_told_in_the_words_that_are_written() -> None:
    finding = next(f for f in lint(MountOptions.parse("vers=3,nolock"), context=NOW) if f.rule == "nolock")
    assert finding.change == "remove nolock"
    finding = next(f for f in lint(MountOptions.parse("rsize=8192"), context=NOW))
    assert finding.change == "remove rsize"


def test_options_in_capitals_are_respelled() -> None:
    finding = next(f for f in lint(MountOptions.parse("HARD,Timeo=600"), context=NOW))
    assert finding.fix is not None
    assert finding.fix.set == ("hard",)
