"""Window of Mountwright (Qt 6): widgets and controllers. It never accesses an NFS path."""
