"""The cost of a layer: the time and memory table of the paper."""
