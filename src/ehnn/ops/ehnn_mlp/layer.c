/* A whole EHNN-MLP layer and its gradient on one core: see cpu_layer.py. REAL is float or double.

   Everything between the arithmetic is here, because around small tensors it costs more than the arithmetic. */

#include "../phi/phi.c"
#include "../segment_sum/sums.c"

/* A pattern of pairs and its transpose, with a factor of each row or NULL; no pattern if `ptr` is NULL. */
typedef struct {
  const int64_t *ptr, *index, *t_ptr, *t_index;
  const REAL *factors;
} Pattern;

/* The codes of distinct orders, and where each row finds its own (NULL if there is one). */
typedef struct {
  int64_t count;
  const int64_t *index;
  const REAL *codes;
} Orders;

typedef struct {
  int64_t d, code, sources, groups, members, targets; /* no members: there is no pool */
  int64_t hidden; /* whether hidden layers are kept, or made again for the gradient */
  /* source_to_group, group_to_target, everything and graph_to_target of Overlap */
  Pattern local, gather, pool, spread;
  Orders orders[3]; /* of sources, of groups and then members, of targets */
} Relation;

typedef struct {
  const REAL *gamma, *beta, *first, *b1, *w2, *b2, *w3, *b3; /* without a norm γ and β are NULL */
} Network;

typedef struct {
  const REAL *w1, *b1, *w2, *b2; /* all NULL without a bias */
} Bias;

typedef struct {
  const Relation *relation;
  const Mask *masks; /* two of each φ, or NULL */
  Network phi[3];
  Bias bias;
  const REAL *x;
  REAL *kept, *scratch, *y; /* kept: from forward to backward; scratch: only within a call */
  const REAL *grad;
  REAL *dx, *grads;
  const int64_t *offsets; /* where in `grads` are those of φ₁, φ₂, φ₃ and the bias, as their fields */
} Layer;

/* What one φ keeps of its rows; h₁ and h₂ are NULL if they are made again. */
typedef struct {
  REAL *mean, *rstd, *h1, *h2;
} Rows;

/* All that is kept: the inputs of φ₂ (groups, then members) and φ₃, their rows, the hidden layer of the bias. */
typedef struct {
  REAL *joined, *summed, *bias;
  Rows of1, of2, of3;
} Kept;

static REAL *take(REAL **next, int64_t count) {
  REAL *p = *next;
  *next += (count + LANES - 1) / LANES * LANES;
  return p;
}

static Rows take_rows(const Relation *r, REAL **next, int64_t rows) {
  REAL *mean = take(next, rows), *rstd = take(next, rows);
  if (!r->hidden) return (Rows){mean, rstd, NULL, NULL};
  REAL *h1 = take(next, rows * r->d);
  return (Rows){mean, rstd, h1, take(next, rows * r->d)};
}

static Kept keep(const Relation *r, REAL **next) {
  const int64_t d = r->d, joined = r->groups + r->members;
  Kept k;
  k.joined = take(next, joined * d);
  k.summed = take(next, r->targets * d);
  k.bias = take(next, r->orders[2].count * d);
  k.of1 = take_rows(r, next, r->sources);
  k.of2 = take_rows(r, next, joined);
  k.of3 = take_rows(r, next, r->targets);
  return k;
}

INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t most_orders(const Relation *r) {
  return most(r->orders[0].count, most(r->orders[1].count, r->orders[2].count));
}

static int64_t most_lasts(const Relation *r) { return most(1 + most(1, r->members), r->orders[2].count); }

/* Numbers in `kept`, and in `scratch` for either direction. */
int64_t kept_size(const Relation *r) {
  REAL *next = NULL;
  keep(r, &next);
  return next - (REAL *)NULL;
}

int64_t scratch_size(const Relation *r) {
  const int64_t d = r->d, orders = most_orders(r), lasts = most_lasts(r), padding = 8 * LANES;
  const int64_t rows = r->sources + r->groups + 2 * r->members + r->targets + lasts + orders + 6 * BLOCK;
  const int64_t size = rows * d + folded_size(d, r->code, orders) + 2 * sums_size(d, lasts, orders) + padding;
  return (size + LANES - 1) / LANES * LANES;
}

/* φ of `rows` rows, the first of which is row `start` of those it keeps; `number` is 0, 1 or 2. */
static Phi phi_of(const Layer *l, int number, int64_t start, int64_t rows, const REAL *x, Rows kept) {
  const Relation *r = l->relation;
  const Network *n = &l->phi[number];
  const Orders *o = &r->orders[number];
  const int64_t d = r->d;
  Phi f = {.rows = rows, .start = start, .d = d, .code = r->code, .orders = o->count, .lasts = 1};
  f.gamma = n->gamma, f.beta = n->beta, f.first = n->first, f.b1 = n->b1;
  f.w2 = n->w2, f.b2 = n->b2, f.w3 = n->w3, f.last = n->b3;
  f.codes = o->codes, f.index = o->index ? o->index + start : NULL;
  if (l->masks) f.mask1 = l->masks[2 * number], f.mask2 = l->masks[2 * number + 1];
  f.x = x + start * d, f.mean = kept.mean + start, f.rstd = kept.rstd + start;
  if (kept.h1) f.h1 = kept.h1 + start * d, f.h2 = kept.h2 + start * d;
  return f;
}

/* The member of each target, NULL if there is one, which sums take in one go. */
static const int64_t *member_of(const Relation *r) { return r->members == 1 ? NULL : r->spread.index; }

/* y [rows, d] = diag(factors) A x */
static void sums_of(const Pattern *p, int64_t rows, int64_t d, const REAL *x, REAL *y) {
  segment_sum(0, rows, d, x, p->ptr, p->index, p->factors, NULL, y);
}

/* y [cols, d] = Aᵀ diag(factors) x */
static void sums_back(const Pattern *p, int64_t cols, int64_t d, const REAL *x, REAL *y) {
  segment_sum(0, cols, d, x, p->t_ptr, p->t_index, NULL, p->factors, y);
}

/* 𝓑(l) + b₃ of each order, and the hidden layer of 𝓑. */
static void bias_of(const Layer *l, REAL *hidden, REAL *last, REAL *scratch) {
  const Relation *r = l->relation;
  const Bias *b = &l->bias;
  const int64_t d = r->d, orders = r->orders[2].count;
  if (!b->w1) {
    memcpy(last, l->phi[2].b3, d * sizeof(REAL));
    return;
  }
  for (int64_t o = 0; o < orders; o++) {
    memcpy(hidden + o * d, b->b1, d * sizeof(REAL));
    for (int64_t c = 0; c < d; c++) last[o * d + c] = b->b2[c] + l->phi[2].b3[c];
  }
  transpose(d, r->code, r->code, b->w1, scratch);
  add_times(orders, r->code, d, r->orders[2].codes, scratch, hidden);
  for (int64_t i = 0; i < orders * d; i++) hidden[i] = hidden[i] < 0 ? 0 : hidden[i];
  transpose(d, d, d, b->w2, scratch);
  add_times(orders, d, d, hidden, scratch, last);
}

void forward_layer(const Layer *l) {
  const Relation *r = l->relation;
  const int64_t d = r->d, joined = r->groups + r->members;
  REAL *next = l->kept, *free = l->scratch;
  const Kept k = keep(r, &next);
  REAL *rows = take(&free, most(r->sources, joined) * d), *last = take(&free, most_lasts(r) * d);
  REAL *folded = take(&free, folded_size(d, r->code, most_orders(r))), *scratch = free;

  Phi f = phi_of(l, 0, 0, r->sources, l->x, k.of1);
  Folded w = folded_at(&f, folded);
  f.y = rows;
  fold(&f, &w);
  forward_rows(&f, &w, scratch);
  sums_of(&r->local, r->groups, d, rows, k.joined);
  if (r->members) sums_of(&r->pool, r->members, d, rows, k.joined + r->groups * d);

  f = phi_of(l, 1, r->groups, r->members, k.joined, k.of2);
  w = folded_at(&f, folded);
  f.y = last;
  fold(&f, &w);
  forward_rows(&f, &w, scratch);
  f = phi_of(l, 1, 0, r->groups, k.joined, k.of2);
  if (r->gather.ptr) {
    f.y = rows;
    forward_rows(&f, &w, scratch);
    sums_of(&r->gather, r->targets, d, rows, k.summed);
    for (int64_t i = 0; r->members && i < r->targets; i++) add(d, last + r->spread.index[i] * d, k.summed + i * d);
  } else {
    for (int64_t m = 0; m < r->members; m++) add(d, l->phi[1].b3, last + m * d);
    if (r->members) f.last = last, f.last_index = member_of(r);
    f.y = k.summed;
    forward_rows(&f, &w, scratch);
  }

  f = phi_of(l, 2, 0, r->targets, k.summed, k.of3);
  w = folded_at(&f, folded);
  bias_of(l, k.bias, last, folded);
  f.last = last, f.last_index = l->bias.w1 ? r->orders[2].index : NULL, f.y = l->y;
  fold(&f, &w);
  forward_rows(&f, &w, scratch);
}

/* The gradients of W₁, b₁, W₂ and b₂ of 𝓑 from that of its value for each order. */
static void bias_back(const Layer *l, const REAL *hidden, const REAL *grad, REAL *scratch) {
  const Relation *r = l->relation;
  const int64_t d = r->d, code = r->code, orders = r->orders[2].count, *at = l->offsets + 24;
  REAL *w1 = l->grads + at[0], *b1 = l->grads + at[1], *w2 = l->grads + at[2], *b2 = l->grads + at[3];
  memset(w1, 0, d * code * sizeof(REAL));
  memset(b1, 0, d * sizeof(REAL));
  memset(w2, 0, d * d * sizeof(REAL));
  memset(b2, 0, d * sizeof(REAL));
  const Ends gate = {.with = hidden, .scale = 1};
  gated_times(orders, d, grad, l->bias.w2, &gate, scratch);
  outer_codes(orders, d, code, scratch, r->orders[2].codes, w1, code);
  add_rows(orders, d, scratch, NULL, b1);
  outer(orders, d, grad, hidden, w2);
  add_rows(orders, d, grad, NULL, b2);
}

/* Gradients of a φ; that of b₃ is the sum of those of its last shifts. */
static void write_network(const Layer *l, int number, const Phi *f, const Sums *sums) {
  const int64_t *at = l->offsets + 8 * number;
  REAL *g = l->grads, *b3 = g + at[7];
  write_sums(f, sums, (Grads){g + at[0], g + at[1], g + at[2], g + at[3], g + at[4], g + at[5], g + at[6]});
  memset(b3, 0, f->d * sizeof(REAL));
  add_rows(f->lasts, f->d, sums->last, NULL, b3);
}

/* Room for the gradient of a φ: for what all rows share, for sums over rows, and blocks. */
typedef struct {
  REAL *folded, *all, *some, *blocks;
  int64_t sizes;
} Work;

static void begin(const Phi *f, const Work *work) {
  const Folded w = folded_at(f, work->folded);
  if (f->h1)
    fold_first(f, w.a);
  else
    fold(f, &w);
  memset(work->all, 0, work->sizes * sizeof(REAL));
}

/* dx, and what the rows add to sums, the last shifts from row `shift` on; long sums in parts, which rounds better. */
static Sums go_back(const Phi *f, const Work *work, int64_t shift) {
  const int in_parts = f->rows > PART * BLOCK;
  const Folded w = folded_at(f, work->folded);
  const Sums whole = sums_at(f, work->all);
  Sums to = whole, part = in_parts ? sums_at(f, work->some) : whole;
  to.last += shift * f->d, part.last += shift * f->d;
  if (in_parts) memset(work->some, 0, work->sizes * sizeof(REAL));
  backward_rows(f, &w, &part, &to, in_parts ? work->sizes : 0, work->blocks);
  return whole;
}

void backward_layer(const Layer *l) {
  const Relation *r = l->relation;
  const int64_t d = r->d, joined = r->groups + r->members, own = r->gather.ptr || !r->members ? 0 : r->members;
  REAL *next = l->kept, *free = l->scratch;
  const Kept k = keep(r, &next);
  REAL *at_targets = take(&free, r->targets * d), *at_joined = take(&free, joined * d);
  REAL *at_sources = take(&free, r->sources * d), *at_members = take(&free, r->members * d);
  Work work = {.sizes = sums_size(d, most_lasts(r), most_orders(r))};
  work.folded = take(&free, folded_size(d, r->code, most_orders(r)));
  work.all = take(&free, work.sizes), work.some = take(&free, work.sizes), work.blocks = take(&free, 6 * BLOCK * d);

  Phi f = phi_of(l, 2, 0, r->targets, k.summed, k.of3);
  f.grad = l->grad, f.dx = at_targets;
  if (l->bias.w1) f.last_index = r->orders[2].index, f.lasts = r->orders[2].count;
  begin(&f, &work);
  Sums sums = go_back(&f, &work, 0);
  write_network(l, 2, &f, &sums);
  if (l->bias.w1) bias_back(l, k.bias, sums.last, free);

  f = phi_of(l, 1, 0, r->groups, k.joined, k.of2);
  f.grad = r->gather.ptr ? at_joined : at_targets, f.dx = at_joined;
  if (r->gather.ptr) sums_back(&r->gather, r->groups, d, at_targets, at_joined);
  if (r->gather.ptr && r->members) sums_back(&r->spread, r->members, d, at_targets, at_members);
  if (own) f.last_index = member_of(r);
  f.lasts = most(own, 1) + 1; /* b₃, or what each member adds; last, b₃ of the pool */
  begin(&f, &work);
  sums = go_back(&f, &work, 0);
  if (r->members) {
    Phi p = phi_of(l, 1, r->groups, r->members, k.joined, k.of2);
    p.grad = at_members, p.dx = at_joined + r->groups * d, p.lasts = f.lasts;
    if (own) write(at_members, sums.last, own * d);
    go_back(&p, &work, f.lasts - 1);
  }
  write_network(l, 1, &f, &sums);

  sums_back(&r->local, r->sources, d, at_joined, at_sources);
  for (int64_t i = 0; r->members && i < r->sources; i++) {
    const int64_t m = r->pool.t_index[i];
    const REAL factor = r->pool.factors ? r->pool.factors[m] : 1, *from = at_joined + (r->groups + m) * d;
    REAL *to = at_sources + i * d;
    for (int64_t c = 0; c < d; c += LANES) store(to + c, load(to + c) + factor * load(from + c));
  }
  f = phi_of(l, 0, 0, r->sources, l->x, k.of1);
  f.grad = at_sources, f.dx = l->dx;
  begin(&f, &work);
  sums = go_back(&f, &work, 0);
  write_network(l, 0, &f, &sums);
}
