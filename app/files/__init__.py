"""The user's files: XDG directories, state files of the program, and files that the user names."""
