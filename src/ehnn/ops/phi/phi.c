/* A whole φ and its gradient on one core: see cpu_phi.py for the formulas. REAL is float or double.

   Rows are taken in blocks whose matrices stay in the cache, so that what stands between the products costs next to
   nothing. Widths are multiples of the numbers in 64 bytes. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../dropout/dropout.h"

enum { BLOCK = 48, PART = 64 };
#if defined(__AVX512F__) && !defined(__clang__) /* elsewhere a number at a time is faster, or all there is */
#define TURN
#endif
#define ROOT(v) (sizeof(REAL) == 4 ? sqrtf(v) : sqrt(v))

typedef struct {
  int64_t rows, start, d, code, orders, lasts; /* the first of the rows is row `start` of all */
  const REAL *x, *gamma, *beta, *first, *b1, *w2, *b2, *w3, *last, *codes; /* without a norm γ is NULL */
  const int64_t *index, *last_index;
  Mask mask1, mask2;
  REAL *mean, *rstd, *h1, *h2; /* kept for the gradient, or NULL */
  REAL *y;
  const REAL *grad;
  REAL *dx, *sums; /* sums: the gradients of γ, β, first, b₁, W₂, b₂, W₃, last, one after another */
} Phi;

/* How a product begins: with 0, with what c holds, or with the row of a table for each row; and how it ends: with
   c, with what c held added (which rounds better in long sums), relu(c), c where `with` > 0, or c + `with`. */
enum { FROM_C = 1, FROM_TABLE = 2, ADD_C = 4, RELU = 8, GATE = 16, ADD_WITH = 32 };

typedef struct {
  const REAL *table;
  const int64_t *index; /* NULL: one row serves all */
  const REAL *with; /* as c */
  REAL scale; /* of what passes the gate */
} Ends;

typedef __typeof__((V){0} < (V){0}) Bits;

INLINE V where_not(Bits not, V v) { return (V)(~not & (Bits)v); }

/* c[i + r] = Σ_k a[r, k] b[k] for R rows of C vectors. Rows of b are d apart, those of c are c_row. */
INLINE void tile(const int R, const int C, const int HOW, int64_t i, int64_t n, int64_t d, const REAL *a,
                 int64_t a_row, int64_t a_step, const REAL *b, REAL *c, int64_t c_row, const Ends *e, int64_t col) {
  V sum[6][WIDE];
#pragma GCC unroll 6
  for (int r = 0; r < R; r++) {
    const REAL *from = HOW & FROM_TABLE ? e->table + (e->index ? e->index[i + r] : 0) * d + col : c + (i + r) * c_row;
#pragma GCC unroll 4
    for (int v = 0; v < C; v++) sum[r][v] = HOW & (FROM_C | FROM_TABLE) ? load(from + v * LANES) : (V){0};
  }
  for (int64_t k = 0; k < n; k++) {
    V right[WIDE];
#pragma GCC unroll 4
    for (int v = 0; v < C; v++) right[v] = load(b + k * d + v * LANES);
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) {
      const REAL left = a[(i + r) * a_row + k * a_step];
#pragma GCC unroll 4
      for (int v = 0; v < C; v++) sum[r][v] += left * right[v];
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int v = 0; v < C; v++) {
      REAL *to = c + (i + r) * c_row + v * LANES;
      const REAL *with = HOW & (GATE | ADD_WITH) ? e->with + (i + r) * c_row + col + v * LANES : NULL;
      V s = sum[r][v];
      if (HOW & ADD_C) s += load(to);
      if (HOW & RELU) s = where_not(s < (V){0}, s);
      if (HOW & GATE) s = where_not(load(with) <= (V){0}, s * e->scale);
      if (HOW & ADD_WITH) s += load(with);
      store(to, s);
    }
}

INLINE void panel(const int C, const int HOW, int64_t m, int64_t n, int64_t d, const REAL *a, int64_t a_row,
                  int64_t a_step, const REAL *b, REAL *c, int64_t c_row, const Ends *e, int64_t col) {
  int64_t i = 0;
  b += col, c += col;
  for (; i + 6 <= m; i += 6) tile(6, C, HOW, i, n, d, a, a_row, a_step, b, c, c_row, e, col);
  for (; i + 4 <= m; i += 4) tile(4, C, HOW, i, n, d, a, a_row, a_step, b, c, c_row, e, col);
  for (; i < m; i++) tile(1, C, HOW, i, n, d, a, a_row, a_step, b, c, c_row, e, col);
}

/* c [m, d] = a b, where b is [n, d] and a is [m, n] with any strides. */
INLINE void product(const int HOW, int64_t m, int64_t n, int64_t d, const REAL *a, int64_t a_row, int64_t a_step,
                    const REAL *b, REAL *c, int64_t c_row, const Ends *e) {
  int64_t col = 0;
  for (; col + WIDE * LANES <= d; col += WIDE * LANES) panel(WIDE, HOW, m, n, d, a, a_row, a_step, b, c, c_row, e, col);
  for (; col < d; col += LANES) panel(1, HOW, m, n, d, a, a_row, a_step, b, c, c_row, e, col);
}

/* z [rows, d] += x w */
static void add_times(int64_t rows, int64_t n, int64_t d, const REAL *x, const REAL *w, REAL *z) {
  product(FROM_C, rows, n, d, x, n, 1, w, z, d, NULL);
}

/* z [rows, d] = x w */
static void times(int64_t rows, int64_t d, const REAL *x, const REAL *w, REAL *z) {
  product(0, rows, d, d, x, d, 1, w, z, d, NULL);
}

/* h [rows, d] = relu(t + x w), where each row has its t in a table */
static void relu_times(int64_t rows, int64_t d, const REAL *x, const REAL *w, const Ends *e, REAL *h) {
  product(FROM_TABLE | RELU, rows, d, d, x, d, 1, w, h, d, e);
}

/* y [rows, d] = t + h w + x */
static void last_times(int64_t rows, int64_t d, const REAL *h, const REAL *w, const Ends *e, REAL *y) {
  product(FROM_TABLE | ADD_WITH, rows, d, d, h, d, 1, w, y, d, e);
}

/* z [rows, d] = act′ · (g w) */
static void gated_times(int64_t rows, int64_t d, const REAL *g, const REAL *w, const Ends *e, REAL *z) {
  product(GATE, rows, d, d, g, d, 1, w, z, d, e);
}

/* w [d, d] += Σ z hᵀ over rows */
static void outer(int64_t rows, int64_t d, const REAL *z, const REAL *h, REAL *w) {
  product(ADD_C, d, rows, d, z, 1, d, h, w, d, NULL);
}

/* w [d, code] += Σ z eᵀ over the codes e of orders, where the rows of w are `step` apart */
static void outer_codes(int64_t orders, int64_t d, int64_t code, const REAL *z, const REAL *codes, REAL *w,
                        int64_t step) {
  if (code % LANES == 0) {
    product(FROM_C, d, orders, code, z, 1, d, codes, w, step, NULL);
    return;
  }
  for (int64_t o = 0; o < orders; o++)
    for (int64_t i = 0; i < d; i++)
      for (int64_t c = 0; c < code; c++) w[i * step + c] += z[o * d + i] * codes[o * code + c];
}

#ifdef TURN
/* A square of LANES × LANES turned over. A round sends the number at (r, c) to where the bits of r and c, one after
   another, are rotated by one. */
INLINE void turn(int64_t step, const REAL *w, int64_t rows, REAL *out) {
  V a[LANES], b[LANES];
  __typeof__((V){0} < (V){0}) low, high;
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) low[i] = i / 2 + i % 2 * LANES, high[i] = low[i] + LANES / 2;
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) a[i] = load(w + i * step);
#pragma GCC unroll 4
  for (int round = 1; round < LANES; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < LANES / 2; i++) {
      b[2 * i] = __builtin_shuffle(a[i], a[i + LANES / 2], low);
      b[2 * i + 1] = __builtin_shuffle(a[i], a[i + LANES / 2], high);
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) a[i] = b[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) store(out + i * rows, a[i]);
}
#endif

/* out [cols, rows] = wᵀ, where the rows of w, a multiple of LANES, are `step` apart. */
static void transpose(int64_t rows, int64_t cols, int64_t step, const REAL *w, REAL *out) {
  int64_t j = 0;
#ifdef TURN
  for (; j + LANES <= cols; j += LANES)
    for (int64_t i = 0; i < rows; i += LANES) turn(step, w + i * step + j, rows, out + j * rows + i);
#endif
  for (; j < cols; j++)
    for (int64_t i = 0; i < rows; i++) out[j * rows + i] = w[i * step + j];
}

/* Dropout of rows that begin at `first` of those given. */
static void drop(int64_t rows, int64_t d, int64_t first, int64_t start, const Mask *mask, REAL *h) {
  if (!mask->on) return;
  for (int64_t r = first; r < first + rows; r++, h += d) drop_row(d, mask->rows ? mask->rows[r] : start + r, mask, h, h);
}

/* What the gradient of a hidden layer meets: it passes where h > 0, scaled as dropout scaled it. */
static Ends gate_of(const Mask *mask, const REAL *h) {
  return (Ends){.with = h, .scale = mask->on ? (REAL)(1 / (1 - mask->p)) : 1};
}

typedef REAL Quarter __attribute__((vector_size(16)));

INLINE REAL across(V v) {
  const union { V v; Quarter q[BYTES / 16]; } parts = {v};
  Quarter q = parts.q[0];
  for (int i = 1; i < BYTES / 16; i++) q += parts.q[i];
  REAL s = 0;
  for (int i = 0; i < (int)(16 / sizeof(REAL)); i++) s += q[i];
  return s;
}

INLINE REAL total(int64_t d, const REAL *a) {
  V sum = {0};
  for (int64_t c = 0; c < d; c += LANES) sum += load(a + c);
  return across(sum);
}

INLINE REAL dot(int64_t n, const REAL *a, const REAL *b) {
  V sum = {0};
  REAL s = 0;
  int64_t c = 0;
  for (; c + LANES <= n; c += LANES) sum += load(a + c) * load(b + c);
  for (; c < n; c++) s += a[c] * b[c];
  return s + across(sum);
}

INLINE void add(int64_t d, const REAL *a, REAL *to) {
  for (int64_t c = 0; c < d; c += LANES) store(to + c, load(to + c) + load(a + c));
}

/* x̂, by the mean and 1/σ of each row; x itself without a norm. */
static void standardise(const Phi *f, int64_t rows, const REAL *x, const REAL *mean, const REAL *rstd, REAL *xhat) {
  const int64_t d = f->d;
  if (!f->gamma) {
    memcpy(xhat, x, rows * d * sizeof(REAL));
    return;
  }
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = r * d; c < (r + 1) * d; c += LANES) store(xhat + c, (load(x + c) - mean[r]) * rstd[r]);
}

/* Loops of their own for the sums: each waits for itself, but not for those of other rows. */
static void normalise(const Phi *f, int64_t rows, const REAL *x, REAL *mean, REAL *rstd, REAL *xhat) {
  const int64_t d = f->d;
  if (!f->gamma) {
    memcpy(xhat, x, rows * d * sizeof(REAL));
    return;
  }
  for (int64_t r = 0; r < rows; r++) mean[r] = total(d, x + r * d) / d;
  for (int64_t r = 0; r < rows; r++) {
    V sum = {0};
    for (int64_t c = r * d; c < (r + 1) * d; c += LANES) {
      const V away = load(x + c) - mean[r];
      sum += away * away;
    }
    rstd[r] = across(sum) / d;
  }
  for (int64_t r = 0; r < rows; r++) rstd[r] = 1 / (REAL)ROOT(rstd[r] + (REAL)1e-5);
  standardise(f, rows, x, mean, rstd, xhat);
}

/* What all rows share: A = W₁ diag(γ) and transposes, and t of each order, the first layer of its code and of β. */
typedef struct {
  REAL *a, *a_t, *w2_t, *w3_t, *table, *codes_t;
} Folded;

static int64_t folded_size(int64_t d, int64_t code, int64_t orders) { return (4 * d + code + orders) * d; }

static Folded folded_at(const Phi *f, REAL *p) {
  const int64_t square = f->d * f->d;
  REAL *table = p + 4 * square;
  return (Folded){p, p + square, p + 2 * square, p + 3 * square, table, table + f->orders * f->d};
}

static void fold_first(const Phi *f, REAL *a) {
  const int64_t d = f->d, row = d + f->code;
  for (int64_t i = 0; i < d; i++)
    for (int64_t j = 0; j < d; j += LANES) {
      V w = load(f->first + i * row + j);
      if (f->gamma) w *= load(f->gamma + j);
      store(a + i * d + j, w);
    }
}

static void fold(const Phi *f, const Folded *w) {
  const int64_t d = f->d, code = f->code, row = d + code;
  fold_first(f, w->a);
  transpose(d, d, d, w->a, w->a_t);
  transpose(d, d, d, f->w2, w->w2_t);
  transpose(d, d, d, f->w3, w->w3_t);
  transpose(d, code, row, f->first + d, w->codes_t);
  for (int64_t i = 0; i < d; i++) w->table[i] = f->b1[i] + (f->gamma ? dot(d, f->first + i * row, f->beta) : 0);
  for (int64_t o = 1; o < f->orders; o++) memcpy(w->table + o * d, w->table, d * sizeof(REAL));
  if (code) add_times(f->orders, code, d, f->codes, w->codes_t, w->table);
}

static void hidden(const Phi *f, int64_t first, int64_t rows, const REAL *xhat, const Folded *w, REAL *h1, REAL *h2) {
  const int64_t d = f->d;
  const Ends orders = {.table = w->table, .index = f->index ? f->index + first : NULL}, second = {.table = f->b2};
  relu_times(rows, d, xhat, w->a_t, &orders, h1);
  drop(rows, d, first, f->start, &f->mask1, h1);
  relu_times(rows, d, h1, w->w2_t, &second, h2);
  drop(rows, d, first, f->start, &f->mask2, h2);
}

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* y of all rows, with scratch memory for three blocks. */
static void forward_rows(const Phi *f, const Folded *w, REAL *scratch) {
  const int64_t d = f->d, block = BLOCK * d;
  REAL *xhat = scratch, *own1 = xhat + block, *own2 = own1 + block, own_mean[BLOCK], own_rstd[BLOCK];
  for (int64_t i = 0; i < f->rows; i += BLOCK) {
    const int64_t rows = least(BLOCK, f->rows - i);
    const REAL *x = f->x + i * d;
    REAL *h1 = f->h1 ? f->h1 + i * d : own1, *h2 = f->h1 ? f->h2 + i * d : own2, *y = f->y + i * d;
    normalise(f, rows, x, f->mean ? f->mean + i : own_mean, f->mean ? f->rstd + i : own_rstd, xhat);
    hidden(f, i, rows, xhat, w, h1, h2);
    const Ends last = {.table = f->last, .index = f->last_index ? f->last_index + i : NULL, .with = x};
    last_times(rows, d, h2, w->w3_t, &last, y);
  }
}

/* Both return 0, or 1 if there was no memory. */
int forward(const Phi *f) {
  const int64_t size = folded_size(f->d, f->code, f->orders);
  REAL *scratch = malloc((size + 3 * BLOCK * f->d) * sizeof(REAL));
  if (!scratch) return 1;
  const Folded w = folded_at(f, scratch);
  fold(f, &w);
  forward_rows(f, &w, scratch + size);
  free(scratch);
  return 0;
}

/* dx = g + (n − mean(n) − x̂ mean(x̂ n)) / σ; g + n without a norm */
static void through_norm(const Phi *f, int64_t rows, const REAL *g, const REAL *n, const REAL *xhat, const REAL *rstd,
                         REAL *dx) {
  const int64_t d = f->d;
  REAL mean[BLOCK], along[BLOCK];
  if (!f->gamma) {
    for (int64_t i = 0; i < rows * d; i++) dx[i] = g[i] + n[i];
    return;
  }
  for (int64_t r = 0; r < rows; r++) mean[r] = total(d, n + r * d) / d;
  for (int64_t r = 0; r < rows; r++) along[r] = dot(d, n + r * d, xhat + r * d) / d;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = r * d; c < (r + 1) * d; c += LANES)
      store(dx + c, load(g + c) + rstd[r] * (load(n + c) - mean[r] - load(xhat + c) * along[r]));
}

/* Sums over rows: of a part of them, added to the whole now and then, since long sums in one go round badly. */
typedef struct {
  REAL *w3, *w2, *m, *b2, *last, *table;
} Sums;

static int64_t sums_size(int64_t d, int64_t lasts, int64_t orders) { return (3 * d + 1 + lasts + orders) * d; }

static Sums sums_at(const Phi *f, REAL *p) {
  const int64_t d = f->d, square = d * d;
  return (Sums){p, p + square, p + 2 * square, p + 3 * square, p + 3 * square + d, p + 3 * square + (1 + f->lasts) * d};
}

/* The rows of z added to the rows of sums that belong to them; neighbours that belong together at once. */
static void add_rows(int64_t rows, int64_t d, const REAL *z, const int64_t *index, REAL *sums) {
  for (int64_t r = 0, end; r < rows; r = end) {
    for (end = index ? r + 1 : rows; end < rows && index[end] == index[r]; end++);
    REAL *to = sums + (index ? index[r] * d : 0);
    for (int64_t c = 0; c < d; c += LANES) {
      V sum = {0};
      for (int64_t i = r; i < end; i++) sum += load(z + i * d + c);
      store(to + c, load(to + c) + sum);
    }
  }
}

static void write(REAL *to, const REAL *from, int64_t count) { memcpy(to, from, count * sizeof(REAL)); }

typedef struct {
  REAL *gamma, *beta, *first, *b1, *w2, *b2, *w3;
} Grads;

static void write_sums(const Phi *f, const Sums *sums, Grads to) {
  const int64_t d = f->d, code = f->code, row = d + code, norm = f->gamma ? d : 0;
  memset(to.gamma, 0, norm * sizeof(REAL));
  memset(to.beta, 0, norm * sizeof(REAL));
  memset(to.first, 0, d * row * sizeof(REAL));
  memset(to.b1, 0, d * sizeof(REAL));
  add_rows(f->orders, d, sums->table, NULL, to.b1);
  for (int64_t i = 0; i < d; i++) {
    const REAL *w = f->first + i * row, *m = sums->m + i * d, b1 = to.b1[i];
    if (!norm) write(to.first + i * row, m, d);
    for (int64_t j = 0; j < norm; j += LANES) {
      store(to.first + i * row + j, load(m + j) * load(f->gamma + j) + b1 * load(f->beta + j));
      store(to.gamma + j, load(to.gamma + j) + load(w + j) * load(m + j));
      store(to.beta + j, load(to.beta + j) + load(w + j) * b1);
    }
  }
  outer_codes(f->orders, d, code, sums->table, f->codes, to.first + d, row);
  write(to.w2, sums->w2, d * d);
  write(to.b2, sums->b2, d);
  write(to.w3, sums->w3, d * d);
}

/* dx of all rows, and what they add to sums: to a part of `sizes` numbers that goes into the whole now and then.
   Room for six blocks. */
static void backward_rows(const Phi *f, const Folded *w, const Sums *part, const Sums *whole, int64_t sizes,
                          REAL *scratch) {
  const int64_t d = f->d, block = BLOCK * d;
  REAL *xhat = scratch, *own1 = xhat + block, *own2 = own1 + block, *z2 = own2 + block, *z1 = z2 + block, *n = z1 + block;
  for (int64_t i = 0; i < f->rows; i += BLOCK) {
    const int64_t rows = least(BLOCK, f->rows - i);
    const REAL *g = f->grad + i * d;
    REAL *h1 = f->h1 ? f->h1 + i * d : own1, *h2 = f->h1 ? f->h2 + i * d : own2;
    standardise(f, rows, f->x + i * d, f->mean + i, f->rstd + i, xhat);
    if (!f->h1) hidden(f, i, rows, xhat, w, h1, h2);
    const Ends gate2 = gate_of(&f->mask2, h2), gate1 = gate_of(&f->mask1, h1);
    gated_times(rows, d, g, f->w3, &gate2, z2);
    gated_times(rows, d, z2, f->w2, &gate1, z1);
    times(rows, d, z1, w->a, n);
    outer(rows, d, g, h2, part->w3);
    outer(rows, d, z2, h1, part->w2);
    outer(rows, d, z1, xhat, part->m);
    add_rows(rows, d, g, f->last_index ? f->last_index + i : NULL, part->last);
    add_rows(rows, d, z2, NULL, part->b2);
    add_rows(rows, d, z1, f->index ? f->index + i : NULL, part->table);
    through_norm(f, rows, g, n, xhat, f->rstd + i, f->dx + i * d);
    if ((i / BLOCK) % PART == PART - 1 || i + BLOCK >= f->rows)
      for (int64_t c = 0; c < sizes; c++) whole->w3[c] += part->w3[c], part->w3[c] = 0;
  }
}

int backward(const Phi *f) {
  const int64_t folded = folded_size(f->d, f->code, f->orders), sizes = sums_size(f->d, f->lasts, f->orders);
  REAL *scratch = malloc((folded + 2 * sizes + 6 * BLOCK * f->d) * sizeof(REAL));
  if (!scratch) return 1;
  REAL *some = scratch + folded, *all = some + sizes;
  const Folded w = folded_at(f, scratch);
  const Sums part = sums_at(f, some), whole = sums_at(f, all);
  if (f->h1)
    fold_first(f, w.a);
  else
    fold(f, &w);
  memset(some, 0, 2 * sizes * sizeof(REAL));
  backward_rows(f, &w, &part, &whole, sizes, all + sizes);
  const int64_t d = f->d, square = d * d;
  REAL *first = f->sums + 2 * d, *b1 = first + d * (d + f->code), *w2 = b1 + d, *b2 = w2 + square, *w3 = b2 + d;
  write_sums(f, &whole, (Grads){f->sums, f->sums + d, first, b1, w2, b2, w3});
  write(w3 + square, whole.last, f->lasts * d);
  free(scratch);
  return 0;
}
