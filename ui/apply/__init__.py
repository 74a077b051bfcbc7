"""Apply: preview of a change to a mount, its progress, and the dialogs during it."""
