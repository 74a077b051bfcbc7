"""Everything read from the kernel and /etc: mountinfo, mountstats, netlink, utab, fstab, nfsmount.conf."""
