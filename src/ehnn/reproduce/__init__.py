"""The paper's tables, one file each."""
