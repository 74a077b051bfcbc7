"""Overview: recommendations for a mount with their reasons, and the facts that they depend on."""
