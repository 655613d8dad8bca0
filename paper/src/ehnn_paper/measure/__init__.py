"""Timing, memory and tables of benchmarks."""
