/* Vectors as wide as the registers of the processor. REAL is float or double. */

#ifndef EHNN_VECTORS
#define EHNN_VECTORS

#include <stdint.h>

/* Bytes of a vector, and how many stand side by side in a tile of a product, so that its sums stay in registers. */
#if defined(__AVX512F__)
#define BYTES 64
#define WIDE 4
#elif defined(__AVX__)
#define BYTES 32
#define WIDE 2
#else
#define BYTES 16
#define WIDE 2
#endif

typedef REAL V __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
enum { LANES = BYTES / sizeof(REAL) };
#define INLINE static inline __attribute__((always_inline))

INLINE V load(const REAL *p) { return *(const V *)p; }
INLINE void store(REAL *p, V v) { *(V *)p = v; }

#endif
