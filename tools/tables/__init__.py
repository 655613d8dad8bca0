"""The tables of README and docs, generated from ``results/*.json``: ``make tables`` writes them.

A table stands between ``<!-- table NAME -->`` and ``<!-- end -->``. A test compares every page with the rows.
"""
