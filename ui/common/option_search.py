"""Option search: finds mount options by name, label, help text and synonyms. Plain data, no Qt."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from advisor.options import catalogue

if TYPE_CHECKING:
    from advisor.catalogue import Option, OptionGroup

#: Search terms of all options in a group, in addition to label and help.
_GROUP_WORDS: dict[OptionGroup, str] = {
    "general": "general",
    "transfer": "transfer network speed throughput bandwidth performance",
    "timing": "timing timeout time-out delay wait",
    "caching": "caching cache cached memory consistency coherence",
    "security": "security permission",
    "advanced": "advanced",
}
#: Search terms of single options, in addition to label and help.
_OPTION_WORDS = {
    "vers": "nfsv3 nfsv4 nfs3 nfs4 protocol",
    "auto": "boot start-up startup automount on demand by hand when",
    "x-systemd.automount": "boot start-up startup automount autofs on demand by hand when",
    "nofail": "boot start-up startup",
    "_netdev": "boot start-up startup",
    "rsize": "buffer block", "wsize": "buffer block",
    "proto": "tcp udp rdma infiniband ipv6", "nconnect": "parallel sessions", "port": "firewall",
    "ac": "cache", "cto": "close-to-open", "fsc": "fs-cache cachefilesd disk local",
    "rdirplus": "directory listing ls",
    "sec": "kerberos krb5 encryption privacy integrity authentication flavor flavour",
    "xprtsec": "tls encryption certificate", "resvport": "privileged firewall",
    "lock": "locking lockd", "local_lock": "locking flock", "atime": "access time",
    "lookupcache": "dentry negative", "hard": "hang interrupt timeout", "bg": "background foreground",
}  # fmt: skip


def find_options(query: str) -> frozenset[str]:
    """Return the canonical names of the options whose search text contains every word of the query."""
    words = query.casefold().split()
    return frozenset(
        option.name for option in catalogue() if all(word in _search_text(option.name) for word in words)
    )


@cache
def _search_text(name: str) -> str:
    option = catalogue()[name]
    return " ".join(
        [*_catalogue_words(option), _GROUP_WORDS[option.group], _OPTION_WORDS.get(name, "")]
    ).casefold()


def _catalogue_words(option: Option) -> tuple[str, ...]:
    return (option.label, option.name, *option.forms, option.negation or "", option.help, *option.values)
