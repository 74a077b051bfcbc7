"""Lint rules about entries (fstab, units, maps, neighbors): one case per rule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from advisor.lint import LintContext, NeighborEntry, apply_fix, lint
from advisor.options import MountOptions
from advisor.systemd_syntax import parse_time_span
from resources import read_toml

if TYPE_CHECKING:
    from advisor.finding import Finding

FSTAB = LintContext(place="fstab", fstab=True, share="nas01:/export/home", mount_point="/mnt/home")
UNIT = LintContext(
    place="unit",
    share="nas01:/a",
    mount_point="/mnt/a",
    unit_file="mnt-a.mount",
    settings=(
        ("Mount", "What", "nas01:/a"),
        ("Mount", "Where", "/mnt/a"),
        ("Mount", "Type", "nfs"),
        ("Install", "WantedBy", "remote-fs.target"),
    ),
)
AUTOMOUNT = LintContext(
    place="unit",
    mount_point="/mnt/a",
    unit_file="mnt-a.automount",
    settings=(("Unit", "Description", "a"), ("Automount", "Where", "/mnt/a")),
)
MAP = LintContext(place="autofs", share="nas01:/home/&", mount_point="*")
COMMAND = LintContext(place="command", share="nas01:/a", mount_point="/mnt/a")


def before(share: str, point: str, options: str, fstype: str = "nfs") -> LintContext:
    one = NeighborEntry(line=3, share=share, mount_point=point, options=options, fstype=fstype)
    return replace(FSTAB, before=(one,))


def unit(*settings: tuple[str, str, str]) -> LintContext:
    return replace(UNIT, settings=(*UNIT.settings, *settings))


def automount(*settings: tuple[str, str, str]) -> LintContext:
    return replace(AUTOMOUNT, settings=(*AUTOMOUNT.settings, ("Install", "WantedBy", "a.target"), *settings))


#: rule, options, context, proposed changes of fields or options
CASES = [
    ("share-cifs", "hard", replace(FSTAB, share="//nas/b"), {"share": "nas:/b"}),
    ("share-cifs", "hard", replace(FSTAB, share="\\\\nas\\b\\c"), {"share": "nas:/b/c"}),
    ("share-url", "hard", replace(FSTAB, share="nfs://nas:2049/b"), {"share": "nas:/b"}),
    ("share-url", "hard", replace(FSTAB, share="http://nas/b"), {"share": "nas:/b"}),
    ("share-port", "hard", replace(FSTAB, share="nas:2049:/b"), {"share": "nas:/b"}),
    ("share-ipv6", "hard", replace(FSTAB, share="fd00::7:/p"), {"share": "[fd00::7]:/p"}),
    ("share-link-local", "hard", replace(FSTAB, share="[fe80::1]:/p"), {}),
    ("share-link-local", "hard", replace(FSTAB, share="[fec0::1]:/p"), {}),
    ("share-no-server", "hard", replace(FSTAB, share="nas"), {}),
    ("share-no-server", "hard", replace(FSTAB, share="nas/export/home"), {"share": "nas:/export/home"}),
    ("share-no-server", "hard", replace(FSTAB, share="/export"), {}),
    ("share-no-server", "hard", replace(FSTAB, share=":/export"), {}),
    ("share-relative", "hard", replace(FSTAB, share="nas:export"), {"share": "nas:/export"}),
    ("share-unreadable", "hard", replace(FSTAB, share="10.0.0.300:/a"), {}),
    ("share-relative", "hard", replace(FSTAB, share="nas:"), {"share": "nas:/"}),
    (
        "swapped",
        "hard",
        replace(FSTAB, share="/mnt/a", mount_point="nas:/a"),
        {"share": "nas:/a", "mount point": "/mnt/a"},
    ),
    (
        "swapped",
        "hard",
        replace(COMMAND, share="/mnt/a", mount_point="nas:/a"),
        {"share": "nas:/a", "mount point": "/mnt/a"},
    ),
    ("share-blank", "hard", replace(FSTAB, share="nas:/my%20files"), {"share": "nas:/my files"}),
    ("share-blank", "hard", replace(FSTAB, mount_point='/mnt/"a"'), {"mount point": "/mnt/a"}),
    ("share-blank", "hard", replace(FSTAB, mount_point="/mnt/my\\x20a"), {"mount point": "/mnt/my a"}),
    ("share-blank", "hard", replace(FSTAB, share="nas:/my\\40files"), {"share": "nas:/my files"}),
    ("share-blank", "hard", replace(FSTAB, share="nas:/my\\ files"), {"share": "nas:/my files"}),
    ("share-blank", "ro", replace(UNIT, share="nas:/my\\040files"), {"share": "nas:/my files"}),
    ("share-blank", "ro", replace(UNIT, mount_point="/mnt/my\\x20a"), {"mount point": "/mnt/my a"}),
    ("share-url", "hard", replace(FSTAB, share="file://nas/b"), {"share": "nas:/b"}),
    ("options-in-field", "hard", replace(FSTAB, share="nas:/b:ro"), {"share": "nas:/b"}),
    ("options-in-field", "hard", replace(FSTAB, share="nas:/b,vers=4.2,ro"), {"share": "nas:/b"}),
    ("options-in-field", "hard", replace(FSTAB, mount_point="/mnt/a:rw"), {"mount point": "/mnt/a"}),
    ("options-in-field", "hard", replace(FSTAB, mount_point="/mnt/a,rw"), {"mount point": "/mnt/a"}),
    ("options-in-field", "hard", replace(FSTAB, mount_point="/mnt/a:"), {"mount point": "/mnt/a"}),
    ("options-in-field", "hard", replace(FSTAB, share="nas:/b:2049"), {"share": "nas:/b"}),
    ("share-address", "hard", replace(FSTAB, share="0.0.0.0:/a"), {}),
    ("share-address", "hard", replace(FSTAB, share="255.255.255.255:/a"), {}),
    ("share-address", "hard", replace(FSTAB, share="224.0.0.7:/a"), {}),
    ("share-address", "hard", replace(FSTAB, share="[::]:/a"), {}),
    ("not-expanded", "hard", replace(FSTAB, share="$NAS:/a"), {}),
    ("not-expanded", "hard", replace(FSTAB, share="nas:/home/$USER"), {}),
    ("not-expanded", "hard", replace(FSTAB, share="nas:/home/&"), {}),
    ("not-expanded", "hard", replace(FSTAB, share="nas:/home/*"), {}),
    ("not-expanded", "hard", replace(FSTAB, share="nas:/<export>"), {}),
    ("not-expanded", "hard", replace(FSTAB, mount_point="/home/$USER/nas"), {}),
    ("not-expanded", "ro", replace(UNIT, share="nas:/home/$USER"), {}),
    ("entry-type", "hard", replace(FSTAB, fstype="squashfs"), {"type": "nfs"}),
    ("entry-type", "hard", replace(FSTAB, fstype="nfs:rw"), {"type": "nfs"}),
    ("entry-type", "hard", replace(FSTAB, fstype="nfsd"), {"type": "nfs"}),
    ("entry-type", "hard", replace(FSTAB, fstype="fuse"), {"type": "nfs"}),
    ("point-of-system", "ro", replace(FSTAB, mount_point="/usr/bin"), {}),
    ("point-of-system", "ro", replace(FSTAB, mount_point="/var/run"), {}),
    ("point-of-system", "ro", replace(FSTAB, mount_point="/tmp"), {}),
    ("depends-on-itself", "x-systemd.requires=/mnt/home", FSTAB, {}),
    ("depends-on-itself", "x-systemd.after=mnt-home.mount", FSTAB, {}),
    ("depends-on-itself", "x-systemd.requires-mounts-for=/mnt/home/ann", FSTAB, {}),
    ("depends-on-itself", "ro", unit(("Unit", "After", "mnt-a.mount")), {}),
    ("unit-misspelled", "x-systemd.after=network-onlin.target", FSTAB, {}),
    ("unit-misspelled", "x-systemd.wanted-by=multiuser.target", FSTAB, {}),
    ("unit-misspelled", "ro", unit(("Unit", "After", "network_online.target")), {}),
    ("unit-misspelled", "ro", unit(("Install", "RequiredBy", "remotefs.target")), {}),
    ("unit-list", "ro", unit(("Unit", "After", "network-online.target,nss-lookup.target")), {}),
    ("unit-list", "ro", unit(("Install", "WantedBy", "multi-user.target;a.target")), {}),
    ("unit-comment", "ro", unit(("Mount", "Where", "/mnt/a # the data")), {"Where": "/mnt/a"}),
    ("unit-comment", "ro", unit(("Mount", "TimeoutSec", "30 ; seconds")), {"TimeoutSec": "30"}),
    ("unit-alias", "ro", unit(("Install", "Alias", "data.mount")), {}),
    ("ordering-cycle", "", automount(("Unit", "After", "NetworkManager-wait-online.service")), {}),
    ("ordering-cycle", "", automount(("Unit", "Requires", "wg-quick@wg0.service")), {}),
    ("ordering-cycle", "", automount(("Unit", "After", "nss-lookup.target")), {}),
    ("share-several", "ro", replace(FSTAB, share="nas1:/a,nas2:/a"), {}),
    ("share-several", "ro", replace(MAP, share="nas1:/a,nas2:/a"), {}),
    ("unit-path", "ro", unit(("Unit", "RequiresMountsFor", "mnt")), {}),
    ("unit-read-only", "ro", unit(("Mount", "ReadWriteOnly", "yes")), {}),
    ("unit-setting", "ro", unit(("Mount", "MountPoint", "/mnt/a")), {"MountPoint": "Where"}),
    ("unit-setting", "ro", unit(("Mount", "FSType", "nfs")), {"FSType": "Type"}),
    ("unit-user", "ro", unit(("Mount", "User", "ann")), {}),
    ("unit-user", "ro", unit(("Mount", "Group", "staff")), {}),
    ("unit-setting", "ro", unit(("Mount", "Device", "nas:/a")), {"Device": "What"}),
    ("unit-setting", "ro", unit(("Automount", "Where", "/mnt/a")), {}),
    ("unit-not-enabled", "", replace(UNIT, settings=(*UNIT.settings[:3], ("Install", "WantedBy", ""))), {}),
    ("unit-not-enabled", "", AUTOMOUNT, {}),
    ("point-missing", "", replace(AUTOMOUNT, settings=(("Automount", "TimeoutIdleSec", "9"),)), {}),
    ("point-relative", "hard", replace(FSTAB, mount_point="mnt/a"), {"mount point": "/mnt/a"}),
    ("point-relative", "hard", replace(FSTAB, mount_point="none"), {}),
    ("point-dots", "hard", replace(FSTAB, point_written="/mnt/../srv/"), {"mount point": "/srv"}),
    ("point-missing", "", replace(UNIT, settings=(("Mount", "What", "nas01:/a"),)), {}),
    ("point-of-kernel", "hard", replace(FSTAB, mount_point="/proc/nas"), {}),
    ("entry-type", "hard", replace(FSTAB, fstype="nfs3"), {"type": "nfs"}),
    ("entry-type", "hard", replace(FSTAB, fstype="cifs"), {"type": "nfs"}),
    ("entry-type", "hard", replace(FSTAB, fstype="NFS4"), {"type": "nfs"}),
    ("entry-type", "nfs", replace(FSTAB, fstype="defaults"), {"type": "nfs"}),
    ("systemd-word", "x-systemd.requires-mounts-for=mnt", FSTAB, {}),
    ("type-auto", "hard", replace(FSTAB, fstype="auto"), {"type": "nfs"}),
    ("fsck-pass", "hard", replace(FSTAB, passno=2), {"pass": "0"}),
    ("dump-field", "hard", replace(FSTAB, freq=1), {"dump": "0"}),
    ("point-twice", "hard", before("nas01:/x", "/mnt/home", "ro"), {}),
    ("point-twice", "hard", before("/dev/sdb1", "/mnt/home", "ro", "ext4"), {}),
    ("automount-nested", "x-systemd.automount", before("nas01:/x", "/mnt", "x-systemd.automount"), {}),
    ("point-below-later", "hard", before("nas01:/x", "/mnt/home/ann", "ro"), {}),
    ("shared-options", "timeo=100", before("nas01:/export/home", "/mnt/x", "timeo=600"), {}),
    ("caches-apart", "fsc,rsize=65536", before("nas01:/x", "/mnt/x", "fsc,rsize=32768"), {}),
    ("caches-apart", "fsc,acregmax=30,actimeo=5", before("nas01:/x", "/mnt/x", "fsc"), {}),
    ("shared-connections", "nconnect=8,vers=4.2", before("nas01:/x", "/mnt/x", "vers=4.2"), {}),
    ("systemd-word", "x-systemd.auto-mount,ro", FSTAB, "ro,x-systemd.automount"),
    ("systemd-word", "X-systemd.automount", FSTAB, "x-systemd.automount"),
    ("systemd-word", "x-systemd.automount=yes", FSTAB, {}),
    ("systemd-word", "x-systemd.idle-timeout", FSTAB, {}),
    ("systemd-word", "x-systemd.timeout=30", FSTAB, {}),
    ("systemd-time", "x-systemd.automount,x-systemd.idle-timeout=10mins", FSTAB, {}),
    ("systemd-time", "x-systemd.automount,x-systemd.idle-timeout=10M", FSTAB, {}),
    ("systemd-time", "x-systemd.mount-timeout=30ms", FSTAB, {}),
    ("systemd-time", "ro", unit(("Mount", "TimeoutSec", "1 minut")), {}),
    ("systemd-unit-suffix", "x-systemd.requires=wg-quick@wg0", FSTAB, {}),
    ("ordering-cycle", "x-systemd.after=remote-fs.target", FSTAB, {}),
    ("ordering-cycle", "x-systemd.requires=multi-user.target", FSTAB, {}),
    ("ordering-cycle", "x-systemd.wanted-by=local-fs.target", FSTAB, {}),
    ("ordering-cycle", "ro", unit(("Unit", "After", "remote-fs.target")), {}),
    ("ordering-cycle", "ro", unit(("Unit", "Before", "local-fs.target")), {}),
    ("waits-for-ever", "x-systemd.mount-timeout=infinity", FSTAB, "x-systemd.mount-timeout=infinity,nofail"),
    ("time-limit-short", "x-systemd.mount-timeout=5s,nofail", FSTAB, "nofail"),
    ("time-limit-short", "ro", unit(("Mount", "TimeoutSec", "1")), {}),
    ("idle-short", "x-systemd.automount,x-systemd.idle-timeout=1", FSTAB, "x-systemd.automount"),
    ("idle-short", "", automount(("Automount", "TimeoutIdleSec", "2s")), {}),
    ("time-limit-of-bg", "bg,x-systemd.mount-timeout=30", FSTAB, "bg"),
    ("directory-open", "ro", unit(("Mount", "DirectoryMode", "0777")), {"DirectoryMode": "0755"}),
    ("directory-open", "ro", unit(("Mount", "DirectoryMode", "rwxr-xr-x")), {"DirectoryMode": "0755"}),
    ("directory-open", "X-mount.mkdir=777,ro", FSTAB, "X-mount.mkdir=0755,ro"),
    ("point-of-system", "ro", replace(FSTAB, mount_point="/etc"), {}),
    ("shared-context", "context=a:b:c:s0", before("nas01:/export/home", "/mnt/x", "context=a:b:d:s0"), {}),
    ("shared-context", "ro", before("nas01:/export/home", "/mnt/x", "context=a:b:d:s0,ro"), {}),
    ("needed-place-late", "nofail,ro", replace(FSTAB, mount_point="/usr"), "ro"),
    ("needed-place-late", "noauto", replace(FSTAB, mount_point="/var"), ""),
    ("unit-suffix", "ro", unit(("Unit", "After", "network-online")), {}),
    ("unit-suffix", "ro", unit(("Install", "WantedBy", "multi-user")), {}),
    ("unit-switch", "ro", unit(("Mount", "LazyUnmount", "maybe")), {}),
    ("unit-switch", "ro", unit(("Mount", "SloppyOptions", "yes")), {}),
    ("words-for-fstab-in-map", "noauto,ro", LintContext(place="nfsmount.conf"), "ro"),
    ("words-for-start-up", "nofail,ro", LintContext(place="nfsmount.conf"), "ro"),
    ("unit-name", "ro", replace(UNIT, unit_file="mnt-b.mount"), {"file": "mnt-a.mount"}),
    ("unit-template", "ro", replace(UNIT, unit_file="mnt-a@.mount"), {}),
    ("unit-template", "ro", replace(UNIT, unit_file="mnt@a.mount"), {}),
    ("unit-template", "", replace(AUTOMOUNT, unit_file="mnt-a@.automount"), {}),
    ("unit-specifier", "ro", unit(("Mount", "What", "nas:/50%off")), {}),
    ("unit-setting", "ro", unit(("Mount", "Option", "ro")), {"Option": "Options"}),
    ("unit-setting-twice", "ro", unit(("Mount", "Options", "rw"), ("Mount", "Options", "ro")), {}),
    ("unit-not-ordered", "ro", unit(("Unit", "DefaultDependencies", "no")), {}),
    ("unit-setting", "ro", unit(("Install", "WantBy", "x.target")), {"WantBy": "WantedBy"}),
    ("unit-setting", "ro", unit(("Mount", "TimeoutIdleSec", "60")), {}),
    ("unit-setting", "ro", unit(("mount", "What", "nas:/a")), {"[mount]": "[Mount]"}),
    ("unit-setting", "ro", unit(("Service", "Type", "oneshot")), {}),
    ("unit-setting", "ro", unit(("Mount", "ExecStart", "/bin/true")), {}),
    ("unit-section-missing", "", replace(UNIT, settings=(("Unit", "Description", "x"),)), {}),
    ("words-for-fstab", "noauto,ro", UNIT, "ro"),
    ("words-for-fstab", "x-systemd.automount,ro", UNIT, "ro"),
    ("words-for-fstab-in-map", "x-systemd.automount,ro", MAP, "ro"),
    ("words-for-fstab-in-map", "noauto,ro", COMMAND, "ro"),
    ("words-for-start-up", "_netdev,ro", MAP, "ro"),
    ("nofail-in-unit", "nofail,ro", UNIT, {}),
    ("background-elsewhere", "bg,ro", UNIT, "ro"),
    ("background-elsewhere", "bg,ro", MAP, "ro"),
    ("unit-not-enabled", "ro", replace(UNIT, settings=UNIT.settings[:3]), {}),
    ("unit-type", "ro", replace(UNIT, settings=(*UNIT.settings[:2], UNIT.settings[3])), {"Type": "nfs"}),
    ("map-options", "", replace(MAP, share="fstype=nfs,rw"), {}),
    ("map-wildcard", "ro", replace(MAP, share="nas01:/home"), {}),
    ("map-ghost", "ro", replace(MAP, map_flags=("--timeout=60", "--ghost")), {"--ghost": "browse"}),
]

#: Unusual but correct entries, which must have no warning.
RIGHT = [
    ("hard", replace(FSTAB, share="[fd00::7]:/p")),
    ("hard", replace(FSTAB, share="[fe80::215:c5ff:fb3e:e2b1%eth0]:/export")),
    ("hard", replace(FSTAB, share="nas01:/")),
    ("hard", replace(FSTAB, share="mon1:6789:/", fstype="ceph")),
    ("x-systemd.wanted-by=network-online.target", FSTAB),
    ("hard", replace(FSTAB, share="nas_01:/my files", mount_point="/mnt/my files")),
    ("hard", replace(FSTAB, share="10.0.0.7:/vol/vol0/data_1%2")),
    ("hard", before("nas01:/x", "/mnt", "ro")),
    ("hard", before("nas01:/x", "/mnt/home2", "ro")),
    ("noauto,hard", before("nas01:/x", "/mnt/home/ann", "ro")),
    ("timeo=100,nosuid,ro", before("nas01:/export/home", "/mnt/x", "timeo=600,rw")),
    ("nconnect=8,vers=4.2", before("nas01:/x", "/mnt/x", "vers=3")),
    ("fsc,rsize=65536", before("nas01:/x", "/mnt/x", "fsc")),
    ("fsc,rsize=65536", before("nas01:/x", "/mnt/x", "rsize=32768")),
    ("fsc,rsize=65536", before("nas02:/x", "/mnt/x", "fsc,rsize=32768")),
    ("fsc,rsize=65536,ro", before("nas01:/x", "/mnt/x", "fsc,rsize=32768")),
    ("fsc=a,rsize=65536", before("nas01:/x", "/mnt/x", "fsc=b,rsize=32768")),
    ("fsc,rsize=65536,vers=3", before("nas01:/x", "/mnt/x", "fsc,rsize=32768,vers=4.2")),
    ("nconnect=8,vers=4.2", before("nas02:/x", "/mnt/x", "vers=4.2")),
    ("x-systemd.automount,x-systemd.idle-timeout=1min 30s,noauto", FSTAB),
    ("x-systemd.automount,x-systemd.idle-timeout=0", FSTAB),
    ("x-systemd.mount-timeout=infinity,nofail", FSTAB),
    ("x-systemd.requires=/mnt/a,x-systemd.after=wg-quick@wg0.service", FSTAB),
    ("x-systemd.after=remote-fs.target,nofail", FSTAB),
    ("x-systemd.after=network-online.target,x-systemd.requires=network-online.target", FSTAB),
    ("x-systemd.before=docker.service,x-systemd.wanted-by=docker.service", FSTAB),
    ("x-gvfs-show,x-gvfs-name=Home,x-initrd.mount,comment=systemd.automount,x-backup=no", FSTAB),
    ("X-mount.mkdir=0755,x-mount.mkdir", FSTAB),
    ("X-mount.mkdir=1777", FSTAB),
    ("context=a:b:c:s0", before("nas01:/export/home", "/mnt/x", "context=a:b:c:s0")),
    ("context=a:b:c:s0", before("nas01:/export/x", "/mnt/x", "context=a:b:d:s0")),
    ("ro", replace(FSTAB, mount_point="/usr")),
    ("ro", replace(FSTAB, mount_point="/usr/local")),
    ("ro", unit(("Mount", "LazyUnmount", "True"), ("Unit", "Wants", "wg-quick@wg0.service"))),
    ("ro", unit(("Mount", "DirectoryMode", "0775"), ("Mount", "TimeoutSec", "0"))),
    ("bg,x-systemd.mount-timeout=infinity", FSTAB),
    ("bg,noauto,x-systemd.mount-timeout=30", FSTAB),
    ("nofail,x-systemd.mount-timeout=10", FSTAB),
    ("defaults,_netdev", FSTAB),
    ("bg,_netdev", FSTAB),
    ("ro,nofail,_netdev", UNIT),
    ("ro", replace(UNIT, mount_point="/mnt/my-data", unit_file="mnt-my\\x2ddata.mount")),
    ("ro", unit(("Unit", "After", "network-online.target"), ("Unit", "ConditionPathExists", "/x"))),
    ("ro", unit(("Mount", "TimeoutSec", "30"), ("Mount", "LimitNOFILE", "5"), ("Unit", "X-Note", "a"))),
    ("ro", unit(("Unit", "After", "remote-fs.target"), ("Unit", "DefaultDependencies", "no"))),
    ("hard", replace(FSTAB, share="nas01:/R&D/c$", mount_point="/mnt/R&D")),
    ("hard", replace(FSTAB, share="nas01:/a\\b")),
    ("hard", replace(FSTAB, share="nas01:/vol1:data", mount_point="/mnt/a:b")),
    ("hard", replace(FSTAB, share="nas01:/a,b", mount_point="/mnt/a,b")),
    ("hard", replace(FSTAB, share="s3bucket:/x", fstype="fuse.s3fs")),
    ("hard", replace(FSTAB, share="vol1:/x", fstype="glusterfs")),
    ("hard", replace(FSTAB, share="127.0.0.1:/a", mount_point="/run/media/nas")),
    ("hard", replace(FSTAB, mount_point="/usr/lib/python3/site-packages")),
    ("defaults,vers=3", replace(FSTAB, mount_point="/boot")),  # a Raspberry Pi that boots from the network
    ("x-systemd.requires=/mnt/home2,x-systemd.requires-mounts-for=/mnt", FSTAB),
    ("x-systemd.after=nas.target,x-systemd.after=networking.service", FSTAB),
    ("x-systemd.after=nfs-client.target,x-systemd.wanted-by=multi-user.target,nofail", FSTAB),
    ("ro", unit(("Unit", "After", "openvpn-client@office.service"), ("Unit", "Description", "Data # 1"))),
    ("ro", unit(("Unit", "Documentation", "https://example.org/#a"), ("Unit", "RequiresMountsFor", "/mnt"))),
    ("ro", unit(("Unit", "After", "dev-disk-by\\x2dlabel-a.device"), ("Unit", "Wants", "rpc-statd.service"))),
    ("rw", unit(("Mount", "ReadWriteOnly", "yes"), ("Unit", "After", "network-online.target"))),
    ("", replace(AUTOMOUNT, settings=(*AUTOMOUNT.settings, ("Install", "WantedBy", "local-fs.target")))),
    ("ro", unit(("Unit", "PartOf", "nas.target"))),
    (
        "",
        automount(("Unit", "Wants", "network-online.target"), ("Unit", "After", "systemd-networkd.service")),
    ),
    ("defaults", replace(FSTAB, share="/dev/nfs", mount_point="/")),
    ("rw", replace(MAP, share="$HOST:/home/&")),
    ("rw", replace(COMMAND, share="$NAS:/a", mount_point="$POINT")),
    ("rw,hard", COMMAND),
    ("rw,nofail,_netdev", COMMAND),
]


def findings_of(text: str, context: LintContext) -> list[Finding]:
    return lint(MountOptions.parse(text), context=context)


@pytest.mark.parametrize(("rule", "text", "context", "change"), CASES)
def test_a_broken_entry_is_told_with_what_to_write(
    rule: str, text: str, context: LintContext, change: dict[str, str] | str
) -> None:
    finding = next(finding for finding in findings_of(text, context) if finding.rule == rule)
    assert finding.source
    for sentence in (finding.title, finding.why):
        assert sentence.endswith((".", "?"))
        assert "{" not in sentence
    if isinstance(change, str):
        assert str(apply_fix(MountOptions.parse(text), finding)) == change
    else:
        assert finding.fields == change


def test_every_rule_about_the_entry_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(read_toml("rules/lint-entry.toml")["rule"])


@pytest.mark.parametrize(("text", "context"), RIGHT)
def test_what_only_looks_broken_gets_no_warning(text: str, context: LintContext) -> None:
    assert [f.rule for f in findings_of(text, context) if f.severity != "info"] == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1min 30s", 90), ("1.5h", 5400), ("2d", 172800), ("500ms", 0.5), ("infinity", float("inf")),
     ("", None), ("10mins", None), ("ten", None), ("-5", None), ("5 M", 13149000)],
)  # fmt: skip
def test_time_spans_are_read_as_systemd_does(text: str, seconds: float | None) -> None:
    assert parse_time_span(text) == seconds
