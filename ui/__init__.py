"""The window of Mountwright (Qt 6). It composes, shows and asks; it never touches an NFS path."""
