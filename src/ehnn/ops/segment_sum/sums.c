/* Sums over the rows of a pattern: y[r] = of_rows[r] Σ of_cols[c] x[c] over the columns c of row r. REAL is float
   or double; factors may be NULL. */

#include "../_native/vectors.h"

enum { AHEAD = 12, PAIRS = 256 };

/* C vectors of each row. Long rows are added up in parts, which rounds better. */
INLINE void columns(const int C, int64_t begin, int64_t end, int64_t d, const REAL *x, const int64_t *ptr,
                    const int64_t *index, const REAL *of_rows, const REAL *of_cols, REAL *y) {
  const int64_t last = ptr[end];
  for (int64_t r = begin; r < end; r++) {
    V whole[4] = {0};
    for (int64_t start = ptr[r]; start < ptr[r + 1]; start += PAIRS) {
      const int64_t stop = start + PAIRS < ptr[r + 1] ? start + PAIRS : ptr[r + 1];
      V sum[4] = {0};
      for (int64_t j = start; j < stop; j++) {
        if (j + AHEAD < last)
#pragma GCC unroll 4
          for (int v = 0; v < C; v++) __builtin_prefetch(x + index[j + AHEAD] * d + v * LANES);
        const REAL *row = x + index[j] * d, factor = of_cols ? of_cols[index[j]] : 1;
#pragma GCC unroll 4
        for (int v = 0; v < C; v++) sum[v] += factor * *(const V *)(row + v * LANES);
      }
#pragma GCC unroll 4
      for (int v = 0; v < C; v++) whole[v] += sum[v];
    }
    const REAL factor = of_rows ? of_rows[r] : 1;
#pragma GCC unroll 4
    for (int v = 0; v < C; v++) *(V *)(y + r * d + v * LANES) = factor * whole[v];
  }
}

static void column(int64_t begin, int64_t end, int64_t d, const REAL *x, const int64_t *ptr, const int64_t *index,
                   const REAL *of_rows, const REAL *of_cols, REAL *y) {
  for (int64_t r = begin; r < end; r++) {
    REAL whole = 0;
    for (int64_t start = ptr[r]; start < ptr[r + 1]; start += PAIRS) {
      const int64_t stop = start + PAIRS < ptr[r + 1] ? start + PAIRS : ptr[r + 1];
      REAL sum = 0;
      for (int64_t j = start; j < stop; j++) sum += (of_cols ? of_cols[index[j]] : 1) * x[index[j] * d];
      whole += sum;
    }
    y[r * d] = (of_rows ? of_rows[r] : 1) * whole;
  }
}

/* Rows begin to end of y. */
void segment_sum(int64_t begin, int64_t end, int64_t d, const REAL *x, const int64_t *ptr, const int64_t *index,
                 const REAL *of_rows, const REAL *of_cols, REAL *y) {
  int64_t c = 0;
  for (; c + 4 * LANES <= d; c += 4 * LANES)
    columns(4, begin, end, d, x + c, ptr, index, of_rows, of_cols, y + c);
  for (; c + LANES <= d; c += LANES) columns(1, begin, end, d, x + c, ptr, index, of_rows, of_cols, y + c);
  for (; c < d; c++) column(begin, end, d, x + c, ptr, index, of_rows, of_cols, y + c);
}
