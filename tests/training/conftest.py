"""bfloat16 products that every processor can do."""

import os

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # as in tests/nn/conftest.py
