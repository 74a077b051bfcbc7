"""Overview: recommendations for a mount, with reasons, and the facts behind them."""
