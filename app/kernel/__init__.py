"""Readers of kernel interfaces and /etc: mountinfo, mountstats, netlink, utab, fstab, nfsmount.conf."""
