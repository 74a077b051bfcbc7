"""History: saved tests as a table, compared and drawn over each other."""
