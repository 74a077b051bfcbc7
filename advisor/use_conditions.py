"""Conditions of use: what only the user knows about a mount, and the advice and the lint need."""

from __future__ import annotations

import msgspec


class UseConditions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answers of the user about a mount; each is False as long as it is not given.

    Attributes:
        needed_at_boot: the computer cannot work without the mount.
        encrypted: the data must be encrypted on the network.
        travels: the computer sleeps or changes its network.
        server_sleeps: the server is off or asleep at times.
        firewall: only port 2049 of the server can be reached.
        rdma: client and server support RDMA.
        kerberos: Kerberos is set up; this can be observed, too.
        alone: no other computer uses the files.
        no_waiting: programs must get an error rather than wait.
        many_mounts: this computer mounts hundreds of shares.
    """

    needed_at_boot: bool = False
    encrypted: bool = False
    travels: bool = False
    server_sleeps: bool = False
    firewall: bool = False
    rdma: bool = False
    kerberos: bool = False
    alone: bool = False
    no_waiting: bool = False
    many_mounts: bool = False
