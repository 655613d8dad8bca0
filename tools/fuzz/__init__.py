"""Damaged and hostile files for every reader of the library: ``python -m tools.fuzz`` (see ``--help``)."""
