"""Checked arguments, atomic and untrusted files, cached tensors, optional libraries: not public."""
