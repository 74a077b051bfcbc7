"""Apply: the preview of a change, its progress, and the questions during it."""
