"""Hyperedge prediction: candidates scored by their overlaps, pooled node embeddings and heuristics."""
