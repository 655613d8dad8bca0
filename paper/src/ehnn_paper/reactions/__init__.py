"""Reactions as directed hyperedges: which side is consumed, and which reactions are missing."""
