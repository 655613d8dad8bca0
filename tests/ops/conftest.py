"""bfloat16 products on machines whose processor has tile registers that the system does not grant."""

import os

# Read by oneDNN at its first product, which comes after collection; AMX is the step above this one.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
