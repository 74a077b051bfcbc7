"""Discovery of NFS servers: names, exports, versions and services, without root and without mounting."""
