"""Tests of copy speed: the copy engine, its worker process and its results."""
