"""Dialogs of the menu: preferences, keyboard shortcuts, help, about, and the command palette."""
