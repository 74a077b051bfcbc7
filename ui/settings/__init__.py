"""Settings: the form of all mount options, the share field, drafts, copy and paste."""
