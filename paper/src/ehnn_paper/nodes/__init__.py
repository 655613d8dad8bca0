"""Node classification: Table 2 of the paper."""
