"""The person's files: their directories, the program's state files, and files written by name."""
