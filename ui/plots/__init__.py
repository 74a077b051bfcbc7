"""Plots: the only home of pyqtgraph."""
