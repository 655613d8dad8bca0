"""What C kernels need: a compiler, threads, warnings where they are missing."""
