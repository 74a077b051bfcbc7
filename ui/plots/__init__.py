"""Plots of tests, experiments and expected speeds; the only package that imports pyqtgraph."""
