/* Dropout by a hash of a seed and a place: the mask of dropout.py. */

#ifndef EHNN_DROPOUT
#define EHNN_DROPOUT

#include "../_native/vectors.h"

typedef struct {
  const int64_t *rows; /* the number of each row in the whole, or NULL */
  int64_t on, seed, whole;
  double p;
} Mask;

INLINE uint32_t hash(uint32_t v) {
  v = (v ^ (v >> 16)) * 0x7FEB352Du;
  v = (v ^ (v >> 16)) * 0x846CA68Bu;
  return v ^ (v >> 15);
}

/* One row, whose number in the whole is `name`; y may be x. */
INLINE void drop_row(int64_t d, int64_t name, const Mask *mask, const REAL *x, REAL *y) {
  const uint32_t key = (uint32_t)mask->seed + 0x9E3779B9u * (uint32_t)mask->whole, place = (uint32_t)(name * d);
  const float p = (float)mask->p;
  const REAL scale = (REAL)(1 / (1 - mask->p));
#pragma GCC ivdep
  for (int64_t c = 0; c < d; c++) {
    const float u = (float)hash((place + (uint32_t)c) * 0x85EBCA6Bu + key) * 0x1p-32f;
    y[c] = u >= p ? x[c] * scale : 0;
  }
}

#endif
