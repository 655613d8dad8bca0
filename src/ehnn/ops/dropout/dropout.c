/* Dropout of runs × rows × d numbers, a seed for each run. REAL is float or double. */

#include "dropout.h"

/* Rows begin to end of all runs, one run after the other. Rows of x are `row` numbers apart, runs are `run`. */
void dropout(int64_t begin, int64_t end, int64_t rows, int64_t d, int64_t whole, double p, const int64_t *seeds,
             const int64_t *names, const REAL *x, int64_t run, int64_t row, REAL *y) {
  for (int64_t i = begin; i < end; i++) {
    const int64_t r = i / rows, at = i % rows;
    const Mask mask = {.seed = seeds[r], .whole = whole, .p = p};
    drop_row(d, names ? names[at] : at, &mask, x + r * run + at * row, y + i * d);
  }
}
