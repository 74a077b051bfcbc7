"""The panels that the window is composed of."""
