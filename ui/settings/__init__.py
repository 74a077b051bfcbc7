"""Settings: the form of all mount options, the share field, drafts, and conversion to and from dialects."""
