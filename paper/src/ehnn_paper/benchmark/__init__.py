"""Node classification with modern competitors: one loop, one search, average ranks."""
