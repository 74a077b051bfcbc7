"""Analysis of experiments, and the search for the best settings: statistics on the outcomes of trials."""
