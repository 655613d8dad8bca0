"""Simple and neural members that are compared on held-out labels and averaged: what `model="auto"` means."""
