"""Knowledge of Mountwright: options, facts, rules and models. Pure functions: no I/O, clock or randomness.

Comments and rules cite five published studies as seeds (tests/data/seeds has their tables):

- seed 000: “NFS Performance Tuning”, Wayde Schroeder, 1993;
- seed 001: “A Comparison of NFSv4 rsize and wsize Values”, 2012;
- seed 002: “OpenBSD NFS Performance Tuning”, Dan F., 2019;
- seed 003: “noac against actimeo=0”, SAP community, about 2014;
- seed 004: “Performance Difference Between NFS Versions”, 2015.
"""
