"""History page: table, comparison and overlay plot of saved tests."""
