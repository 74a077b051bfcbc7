"""Client of the root helper: starts it through polkit, and explains its refusals and mount errors."""
