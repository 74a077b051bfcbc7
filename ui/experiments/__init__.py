"""Experiments: recipes, plans, progress, rankings and charts."""
