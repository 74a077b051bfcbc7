"""Widgets, texts and services shared by several pages."""
