/* A whole φ and its gradient on one core: see cpu_phi.py for the formulas. REAL is float or double.

   Rows are taken in blocks whose matrices stay in the cache, so that what stands between the products costs next to
   nothing. Widths are multiples of the numbers in a vector of 64 bytes. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef REAL V __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));
enum { LANES = 64 / sizeof(REAL), BLOCK = 48, PART = 64 };
#define INLINE static inline __attribute__((always_inline))

typedef struct {
  const int64_t *rows; /* the number of each row in the whole, or NULL */
  int64_t on, seed, whole;
  double p;
} Mask;

typedef struct {
  int64_t rows, start, d, code, orders, lasts; /* the first of the rows is row `start` of all */
  const REAL *x, *gamma, *beta, *first, *b1, *w2, *b2, *w3, *last, *codes;
  const int64_t *index, *last_index;
  Mask mask1, mask2;
  REAL *mean, *rstd, *h1, *h2; /* kept for the gradient, or NULL */
  REAL *y;
  const REAL *grad;
  REAL *dx, *sums; /* sums: the gradients of γ, β, first, b₁, W₂, b₂, W₃, last, one after another */
} Phi;

/* c[r] += Σ_k a[r, k] b[k] for R rows of C vectors. */
INLINE void tile(const int R, const int C, int64_t n, int64_t d, const REAL *a, int64_t a_row, int64_t a_step,
                 const REAL *b, REAL *c) {
  V sum[6][4];
#pragma GCC unroll 6
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int v = 0; v < C; v++) sum[r][v] = *(const V *)(c + r * d + v * LANES);
  for (int64_t k = 0; k < n; k++) {
    V right[4];
#pragma GCC unroll 4
    for (int v = 0; v < C; v++) right[v] = *(const V *)(b + k * d + v * LANES);
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) {
      const REAL left = a[r * a_row + k * a_step];
#pragma GCC unroll 4
      for (int v = 0; v < C; v++) sum[r][v] += left * right[v];
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int v = 0; v < C; v++) *(V *)(c + r * d + v * LANES) = sum[r][v];
}

INLINE void panel(const int C, int64_t m, int64_t n, int64_t d, const REAL *a, int64_t a_row, int64_t a_step,
                  const REAL *b, REAL *c) {
  int64_t i = 0;
  for (; i + 6 <= m; i += 6) tile(6, C, n, d, a + i * a_row, a_row, a_step, b, c + i * d);
  for (; i + 4 <= m; i += 4) tile(4, C, n, d, a + i * a_row, a_row, a_step, b, c + i * d);
  for (; i < m; i++) tile(1, C, n, d, a + i * a_row, a_row, a_step, b, c + i * d);
}

/* c [m, d] += a b, where b is [n, d] and a is [m, n] with any strides. */
INLINE void product(int64_t m, int64_t n, int64_t d, const REAL *a, int64_t a_row, int64_t a_step, const REAL *b,
                    REAL *c) {
  int64_t col = 0;
  for (; col + 4 * LANES <= d; col += 4 * LANES) panel(4, m, n, d, a, a_row, a_step, b + col, c + col);
  for (; col < d; col += LANES) panel(1, m, n, d, a, a_row, a_step, b + col, c + col);
}

/* z [rows, d] += x w */
INLINE void times(int64_t rows, int64_t d, const REAL *x, const REAL *w, REAL *z) { product(rows, d, d, x, d, 1, w, z); }

/* w [d, d] += Σ z hᵀ over rows */
INLINE void outer(int64_t rows, int64_t d, const REAL *z, const REAL *h, REAL *w) { product(d, rows, d, z, 1, d, h, w); }

static void transpose(int64_t d, const REAL *w, REAL *out) {
  for (int64_t i = 0; i < d; i += LANES)
    for (int64_t j = 0; j < d; j++)
      for (int k = 0; k < LANES; k++) out[j * d + i + k] = w[(i + k) * d + j];
}

INLINE uint32_t hash(uint32_t v) {
  v = (v ^ (v >> 16)) * 0x7FEB352Du;
  v = (v ^ (v >> 16)) * 0x846CA68Bu;
  return v ^ (v >> 15);
}

/* dropout(relu(h)) of rows that begin at `first` of those given */
static void act(int64_t rows, int64_t d, int64_t first, int64_t start, const Mask *mask, REAL *h) {
  for (int64_t i = 0; i < rows * d; i++) h[i] = h[i] < 0 ? 0 : h[i];
  if (!mask->on) return;
  const uint32_t key = (uint32_t)mask->seed + 0x9E3779B9u * (uint32_t)mask->whole;
  const float p = (float)mask->p;
  const REAL scale = (REAL)(1 / (1 - mask->p));
  for (int64_t r = 0; r < rows; r++) {
    const int64_t name = mask->rows ? mask->rows[first + r] : start + first + r;
    const uint32_t place = (uint32_t)(name * d);
    REAL *row = h + r * d;
    for (int64_t c = 0; c < d; c++) {
      const float u = (float)hash((place + (uint32_t)c) * 0x85EBCA6Bu + key) * 0x1p-32f;
      row[c] = u >= p ? row[c] * scale : 0;
    }
  }
}

/* act′ times a gradient */
static void gate(int64_t count, const Mask *mask, const REAL *h, REAL *z) {
  const REAL scale = mask->on ? (REAL)(1 / (1 - mask->p)) : 1;
  for (int64_t i = 0; i < count; i++) z[i] = h[i] <= 0 ? 0 : z[i] * scale;
}

INLINE REAL across(V sum) {
  REAL s = 0;
  for (int i = 0; i < LANES; i++) s += sum[i];
  return s;
}

INLINE REAL total(int64_t d, const REAL *a) {
  V sum = {0};
  for (int64_t c = 0; c < d; c += LANES) sum += *(const V *)(a + c);
  return across(sum);
}

INLINE REAL dot(int64_t n, const REAL *a, const REAL *b) {
  V sum = {0};
  REAL s = 0;
  int64_t c = 0;
  for (; c + LANES <= n; c += LANES) sum += *(const V *)(a + c) * *(const V *)(b + c);
  for (; c < n; c++) s += a[c] * b[c];
  return s + across(sum);
}

INLINE void add(int64_t d, const REAL *a, REAL *to) {
  for (int64_t c = 0; c < d; c += LANES) *(V *)(to + c) += *(const V *)(a + c);
}

/* Loops of their own for the sums: each waits for itself, but not for those of other rows. */
static void normalise(int64_t rows, int64_t d, const REAL *x, REAL *mean, REAL *rstd, REAL *xhat) {
  for (int64_t r = 0; r < rows; r++) mean[r] = total(d, x + r * d) / d;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < d; c++) xhat[r * d + c] = x[r * d + c] - mean[r];
  for (int64_t r = 0; r < rows; r++) rstd[r] = dot(d, xhat + r * d, xhat + r * d) / d;
  for (int64_t r = 0; r < rows; r++) rstd[r] = 1 / (REAL)sqrt(rstd[r] + (REAL)1e-5);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < d; c++) xhat[r * d + c] *= rstd[r];
}

/* γ, β and the codes of the orders in the first layer: A = W₁ diag(γ), its transpose, and t′ of each order */
static void fold(const Phi *f, REAL *a, REAL *a_t, REAL *table) {
  const int64_t d = f->d, code = f->code;
  for (int64_t i = 0; i < d; i++) {
    const REAL *w = f->first + i * (d + code), shift = dot(d, w, f->beta) + f->b1[i];
    for (int64_t j = 0; j < d; j++) a[i * d + j] = w[j] * f->gamma[j];
    for (int64_t o = 0; o < f->orders; o++) table[o * d + i] = dot(code, w + d, f->codes + o * code) + shift;
  }
  transpose(d, a, a_t);
}

static void hidden(const Phi *f, int64_t first, int64_t rows, const REAL *xhat, const REAL *a_t, const REAL *table,
                   const REAL *w2_t, REAL *h1, REAL *h2) {
  const int64_t d = f->d;
  for (int64_t r = 0; r < rows; r++) {
    memcpy(h1 + r * d, table + (f->index ? f->index[first + r] : 0) * d, d * sizeof(REAL));
    memcpy(h2 + r * d, f->b2, d * sizeof(REAL));
  }
  times(rows, d, xhat, a_t, h1);
  act(rows, d, first, f->start, &f->mask1, h1);
  times(rows, d, h1, w2_t, h2);
  act(rows, d, first, f->start, &f->mask2, h2);
}

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Both return 0, or 1 if there was no memory. */
int forward(const Phi *f) {
  const int64_t d = f->d, square = d * d, block = BLOCK * d;
  REAL *room = malloc((4 * square + f->orders * d + 3 * block) * sizeof(REAL));
  if (!room) return 1;
  REAL *a = room, *a_t = a + square, *w2_t = a_t + square, *w3_t = w2_t + square, *table = w3_t + square;
  REAL *xhat = table + f->orders * d, *own1 = xhat + block, *own2 = own1 + block, own_mean[BLOCK], own_rstd[BLOCK];
  fold(f, a, a_t, table);
  transpose(d, f->w2, w2_t);
  transpose(d, f->w3, w3_t);
  for (int64_t i = 0; i < f->rows; i += BLOCK) {
    const int64_t rows = least(BLOCK, f->rows - i);
    const REAL *x = f->x + i * d;
    REAL *h1 = f->h1 ? f->h1 + i * d : own1, *h2 = f->h1 ? f->h2 + i * d : own2, *y = f->y + i * d;
    normalise(rows, d, x, f->mean ? f->mean + i : own_mean, f->mean ? f->rstd + i : own_rstd, xhat);
    hidden(f, i, rows, xhat, a_t, table, w2_t, h1, h2);
    for (int64_t r = 0; r < rows; r++) {
      const REAL *last = f->last + (f->last_index ? f->last_index[i + r] : 0) * d;
      for (int64_t c = 0; c < d; c++) y[r * d + c] = x[r * d + c] + last[c];
    }
    times(rows, d, h2, w3_t, y);
  }
  free(room);
  return 0;
}

/* dx = g + (n − mean(n) − x̂ mean(x̂ n)) / σ */
static void through_norm(int64_t rows, int64_t d, const REAL *g, const REAL *n, const REAL *xhat, const REAL *rstd,
                         REAL *dx) {
  REAL mean[BLOCK], along[BLOCK];
  for (int64_t r = 0; r < rows; r++) mean[r] = total(d, n + r * d) / d;
  for (int64_t r = 0; r < rows; r++) along[r] = dot(d, n + r * d, xhat + r * d) / d;
  for (int64_t r = 0; r < rows; r++, g += d, n += d, xhat += d, dx += d)
    for (int64_t c = 0; c < d; c++) dx[c] = g[c] + rstd[r] * (n[c] - mean[r] - xhat[c] * along[r]);
}

/* Sums over rows: of a part of them, added to the whole now and then, since long sums in one go round badly. */
typedef struct {
  REAL *w3, *w2, *m, *b2, *last, *table;
} Sums;

static Sums sums_at(const Phi *f, REAL *p) {
  const int64_t d = f->d, square = d * d;
  return (Sums){p, p + square, p + 2 * square, p + 3 * square, p + 3 * square + d, p + 3 * square + (1 + f->lasts) * d};
}

/* The rows of z added to the rows of sums that belong to them. */
static void add_rows(int64_t rows, int64_t d, const REAL *z, const int64_t *index, REAL *sums) {
  if (index) {
    for (int64_t r = 0; r < rows; r++) add(d, z + r * d, sums + index[r] * d);
    return;
  }
  for (int64_t c = 0; c < d; c += LANES) {
    V sum = {0};
    for (int64_t r = 0; r < rows; r++) sum += *(const V *)(z + r * d + c);
    *(V *)(sums + c) += sum;
  }
}

static REAL *write(REAL *to, const REAL *from, int64_t count) {
  memcpy(to, from, count * sizeof(REAL));
  return to + count;
}

static void write_sums(const Phi *f, const Sums *sums) {
  const int64_t d = f->d, code = f->code, row = d + code;
  REAL *gamma = f->sums, *beta = gamma + d, *first = beta + d, *b1 = first + d * row;
  memset(gamma, 0, (2 * d + d * row + d) * sizeof(REAL));
  for (int64_t o = 0; o < f->orders; o++) add(d, sums->table + o * d, b1);
  for (int64_t i = 0; i < d; i++) {
    const REAL *w = f->first + i * row, *m = sums->m + i * d;
    for (int64_t j = 0; j < d; j++) {
      first[i * row + j] = m[j] * f->gamma[j] + b1[i] * f->beta[j];
      gamma[j] += w[j] * m[j];
      beta[j] += w[j] * b1[i];
    }
    for (int64_t o = 0; o < f->orders; o++)
      for (int64_t c = 0; c < code; c++) first[i * row + d + c] += sums->table[o * d + i] * f->codes[o * code + c];
  }
  REAL *next = write(b1 + d, sums->w2, d * d);
  next = write(next, sums->b2, d);
  next = write(next, sums->w3, d * d);
  write(next, sums->last, f->lasts * d);
}

int backward(const Phi *f) {
  const int64_t d = f->d, square = d * d, block = BLOCK * d, table_size = f->orders * d;
  const int64_t sizes = 3 * square + (1 + f->lasts + f->orders) * d;
  REAL *room = malloc((3 * square + table_size + 6 * block + 2 * sizes) * sizeof(REAL));
  if (!room) return 1;
  REAL *a = room, *a_t = a + square, *w2_t = a_t + square, *table = w2_t + square;
  REAL *xhat = table + table_size, *own1 = xhat + block, *own2 = own1 + block, *z2 = own2 + block, *z1 = z2 + block;
  REAL *n = z1 + block, *some = n + block, *all = some + sizes;
  const Sums part = sums_at(f, some), whole = sums_at(f, all);
  fold(f, a, a_t, table);
  transpose(d, f->w2, w2_t);
  memset(some, 0, 2 * sizes * sizeof(REAL));
  for (int64_t i = 0; i < f->rows; i += BLOCK) {
    const int64_t rows = least(BLOCK, f->rows - i);
    const REAL *x = f->x + i * d, *g = f->grad + i * d;
    REAL *h1 = f->h1 ? f->h1 + i * d : own1, *h2 = f->h1 ? f->h2 + i * d : own2;
    for (int64_t r = 0; r < rows; r++)
      for (int64_t c = 0; c < d; c++) xhat[r * d + c] = (x[r * d + c] - f->mean[i + r]) * f->rstd[i + r];
    if (!f->h1) hidden(f, i, rows, xhat, a_t, table, w2_t, h1, h2);
    memset(z2, 0, 3 * block * sizeof(REAL));
    times(rows, d, g, f->w3, z2);
    gate(rows * d, &f->mask2, h2, z2);
    times(rows, d, z2, f->w2, z1);
    gate(rows * d, &f->mask1, h1, z1);
    times(rows, d, z1, a, n);
    through_norm(rows, d, g, n, xhat, f->rstd + i, f->dx + i * d);
    outer(rows, d, g, h2, part.w3);
    outer(rows, d, z2, h1, part.w2);
    outer(rows, d, z1, xhat, part.m);
    add_rows(rows, d, g, f->last_index ? f->last_index + i : NULL, part.last);
    add_rows(rows, d, z2, NULL, part.b2);
    add_rows(rows, d, z1, f->index ? f->index + i : NULL, part.table);
    if ((i / BLOCK) % PART == PART - 1 || i + BLOCK >= f->rows) {
      for (int64_t c = 0; c < sizes; c++) all[c] += some[c], some[c] = 0;
    }
  }
  write_sums(f, &whole);
  free(room);
  return 0;
}
