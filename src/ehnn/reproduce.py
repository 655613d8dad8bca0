"""Moved to `ehnn_paper`, of the package ehnn-paper. This name goes in version 0.3."""

from ehnn._utils.moved import former_module

__getattr__ = former_module(__name__, "ehnn_paper")
