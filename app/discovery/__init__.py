"""What servers offer, asked without root and without mounting: exports, versions, services, names."""
