"""Every measurement, kept: a database of the person's own, comparing, reports, export and import."""
