// SPDX-License-Identifier: BSD-3-Clause
//
// The loops over rows of many machines in step, in namespace SVMCUT_LANES; wide_cd_code.cc includes
// this once for every set of instructions. A machine's sums do not know of the others, so they are
// the same whatever the instructions.
namespace svmcut {
namespace SVMCUT_LANES {

// The lanes of a chunk.
typedef float Floats __attribute__((vector_size(4 * kChunk)));
typedef int32_t Ints __attribute__((vector_size(4 * kChunk)));
typedef double Doubles __attribute__((vector_size(4 * kChunk)));  // of half a chunk
typedef float Halves __attribute__((vector_size(2 * kChunk)));
constexpr int kHalf = kChunk / 2;

template <class V, class T>
inline V take(const T* p) {
    V x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
template <class V, class T>
inline void put(T* p, const V& x) {
    __builtin_memcpy(p, &x, sizeof x);
}
inline Ints bits_of_lanes() {
    int32_t each[kChunk];
    for (int l = 0; l < kChunk; ++l) each[l] = int32_t{1} << l;
    return take<Ints>(each);
}
inline uint32_t any(const Ints& x) {
    int32_t each[kChunk], all = 0;
    put(each, x);
    for (int l = 0; l < kChunk; ++l) all |= each[l];
    return static_cast<uint32_t>(all);
}
inline Doubles widened(const float* p) { return __builtin_convertvector(take<Halves>(p), Doubles); }

// W.(x_i, bias) of N chunks from this one on, in single precision: a step need not be exact.
template <int N>
inline void score(const svmcut_wide_cd& run, const float* W, int64_t i, Floats* f) {
    constexpr int L = SVMCUT_WIDE_LANES;
    const float* x = run.X->data;
    const int32_t* j = run.X->indices;
    Floats even[N]{}, odd[N]{};
    int64_t e = run.X->indptr[i];
    const int64_t end = run.X->indptr[i + 1];
    for (; e + 2 <= end; e += 2) {
        const float *w = W + int64_t{j[e]} * L, *u = W + int64_t{j[e + 1]} * L;
        for (int c = 0; c < N; ++c) even[c] += x[e] * take<Floats>(w + c * kChunk);
        for (int c = 0; c < N; ++c) odd[c] += x[e + 1] * take<Floats>(u + c * kChunk);
    }
    if (e < end) {
        const float* w = W + int64_t{j[e]} * L;
        for (int c = 0; c < N; ++c) even[c] += x[e] * take<Floats>(w + c * kChunk);
    }
    if (run.bias != 0) {
        const float *w = W + run.X->n_features * L, bias = static_cast<float>(run.bias);
        for (int c = 0; c < N; ++c) odd[c] += bias * take<Floats>(w + c * kChunk);
    }
    for (int c = 0; c < N; ++c) f[c] = even[c] + odd[c];
}

// W += (x_i, bias) (outer) d
inline void add(const svmcut_wide_cd& run, int64_t i, const Floats& d, float* W) {
    constexpr int L = SVMCUT_WIDE_LANES;
    for (int64_t e = run.X->indptr[i]; e < run.X->indptr[i + 1]; ++e) {
        float* w = W + int64_t{run.X->indices[e]} * L;
        put(w, take<Floats>(w) + run.X->data[e] * d);
    }
    if (run.bias == 0) return;
    float* w = W + run.X->n_features * L;
    put(w, take<Floats>(w) + static_cast<float>(run.bias) * d);
}

// Fetches the row and its alphas.
inline void fetch(const WideGroup& group, int64_t i) {
    const svmcut_csr& X = *group.run.X;
    const int64_t start = X.indptr[i],
                  lines = std::min<int64_t>(16, (X.indptr[i + 1] - start + 15) / 16);
    for (int c = 0; c < kChunks; ++c) prefetch(group.alpha + i * SVMCUT_WIDE_LANES + c * kChunk);
    for (int64_t k = 0; k < lines; ++k) {
        prefetch(X.indices + start + 16 * k);
        prefetch(X.data + start + 16 * k);
    }
}

// What machines of a chunk know of an epoch.
struct Epoch {
    Floats above, below, highest, lowest, sum;
    Ints moves, visits;
};

// One row of one chunk at its scores f: the machines that it belongs to, those that leave it out.
inline uint32_t step(const WideGroup& group, int64_t i, int c, const Floats& f, Epoch& now) {
    const Ints bits = bits_of_lanes();
    const Floats zero{}, one = 1.0f - zero;
    const auto mine = static_cast<int32_t>(group.rows[i] >> (c * kChunk) & 0xffff),
               right = static_cast<int32_t>(group.positive[i] >> (c * kChunk) & 0xffff);
    const float box = group.box(i);
    const double q = group.diagonal(i), norm = group.run.norms[i] + q;
    const float inverse = norm > 0 ? static_cast<float>(1.0 / norm) : 3e38f;
    float* alpha = group.alpha + i * SVMCUT_WIDE_LANES + c * kChunk;
    const Ints on = (mine & bits) != 0, sign = (right & bits) != 0;
    const Floats C = box - zero, y = sign ? one : -one, a = take<Floats>(alpha),
                 G = y * f - 1.0f + a * static_cast<float>(q);
    const Floats down = G < zero ? G : zero, up = G > zero ? G : zero;
    const Ints low = a == zero, full = a == C;
    const Ints left = on & ((low & (G > now.above)) | (~low & full & (G < now.below))),
               here = on & ~left;
    const Floats projected = here ? (low ? down : full ? up : G) : zero;  // 0 is no extreme
    Floats wanted = a - G * inverse;
    wanted = wanted > zero ? wanted : zero;
    wanted = wanted < C ? wanted : C;
    const Floats next = projected != zero ? wanted : a;
    const Ints moved = next != a;
    // the part of the gap that a row has at W
    Floats part;
    if (group.squared()) {
        const Floats m = y * f, slack = m < one ? one - m : zero,
                     apart = slack - a * static_cast<float>(q);
        part = static_cast<float>(q > 0 ? 0.5 / q : 0.0) * apart * apart + a * (slack - (one - m));
    } else {
        part = a * G - C * down;
    }
    now.sum += on ? part : zero;
    now.visits -= here;
    now.highest = now.highest > projected ? now.highest : projected;
    now.lowest = now.lowest < projected ? now.lowest : projected;
    now.moves -= moved;
    if (any(moved & bits)) {
        put(alpha, next);
        add(group.run, i, y * (next - a), group.W + c * kChunk);
    }
    return any(left & bits);
}

bool epoch(const WideGroup& group, const volatile int* cancel) {
    Epoch now[kChunks];
    for (int c = 0; c < kChunks; ++c)
        for (int l = 0; l < kChunk; ++l) {
            const svmcut_label_machine& m = group.machines[c * kChunk + l];
            now[c].above[l] = static_cast<float>(m.above);
            now[c].below[l] = static_cast<float>(m.below);
            now[c].highest[l] = static_cast<float>(m.highest);
            now[c].lowest[l] = static_cast<float>(m.lowest);
            now[c].sum[l] = static_cast<float>(m.sum);
            now[c].moves[l] = static_cast<int32_t>(m.moves);
            now[c].visits[l] = static_cast<int32_t>(m.visits);
        }
    const int64_t began = group.state.at, active = group.state.active;
    int64_t k = began, entries = 0;
    for (; k < active; ++k) {
        if (cancel && k % kPollRows == 0 && k > began && *cancel) break;
        if (k + kRowsFetched < active) fetch(group, group.order[group.visits[k + kRowsFetched]]);
        const int64_t i = group.order[group.visits[k]],
                      nonzeros = group.run.X->indptr[i + 1] - group.run.X->indptr[i];
        const uint64_t mine = group.rows[i];
        Floats f[kChunks];
        int32_t in_use = 0;
        for (int c = 0; c < kChunks; ++c) in_use |= (mine >> (c * kChunk) & 0xffff ? 1 : 0) << c;
        if (in_use == (1 << kChunks) - 1) {
            score<kChunks>(group.run, group.W, i, f);
        } else {
            for (int c = 0; c < kChunks; ++c)
                if (in_use >> c & 1) score<1>(group.run, group.W + c * kChunk, i, f + c);
        }
        uint64_t lost = 0;
        for (int c = 0; c < kChunks; ++c) {
            if (!(in_use >> c & 1)) continue;
            lost |= uint64_t{step(group, i, c, f[c], now[c])} << (c * kChunk);
            entries += nonzeros;
        }
        group.rows[i] = mine & ~lost;
    }
    for (int c = 0; c < kChunks; ++c)
        for (int l = 0; l < kChunk; ++l) {
            svmcut_label_machine& m = group.machines[c * kChunk + l];
            m.highest = static_cast<double>(now[c].highest[l]);
            m.lowest = static_cast<double>(now[c].lowest[l]);
            m.sum = static_cast<double>(now[c].sum[l]);
            m.moves = static_cast<double>(now[c].moves[l]);
            m.visits = static_cast<double>(now[c].visits[l]);
        }
    group.state.at = k;
    group.state.entries += entries;
    return k == active;
}

// V.(x_i, bias) of both halves of a chunk, in double precision.
inline void exact_score(const svmcut_wide_cd& run, const double* V, int64_t i, Doubles* s) {
    Doubles first{}, second{};
    for (int64_t e = run.X->indptr[i]; e < run.X->indptr[i + 1]; ++e) {
        const double* v = V + int64_t{run.X->indices[e]} * kChunk;
        const auto x = static_cast<double>(run.X->data[e]);
        first += x * take<Doubles>(v);
        second += x * take<Doubles>(v + kHalf);
    }
    if (run.bias != 0) {
        const double* v = V + run.X->n_features * kChunk;
        first += run.bias * take<Doubles>(v);
        second += run.bias * take<Doubles>(v + kHalf);
    }
    s[0] = first, s[1] = second;
}

inline Doubles loss_of(bool squared, const Doubles& m) {
    const Doubles slack = m < 1.0 ? 1.0 - m : Doubles{};
    return squared ? slack * slack : slack;
}

// The margins of a row at the weights of a chunk.
inline void margins(const WideGroup& group, int64_t chunk, const double* V, int64_t i, Doubles* m) {
    exact_score(group.run, V, i, m);
    const auto right = static_cast<uint32_t>(group.positive[i] >> (chunk * kChunk));
    for (int l = 0; l < kChunk; ++l)
        if (!(right >> l & 1)) m[l / kHalf][l % kHalf] = -m[l / kHalf][l % kHalf];
}

void form(const WideGroup& group, int64_t chunk, double* V) {
    const svmcut_wide_cd& run = group.run;
    std::fill_n(V, group.dim * kChunk, 0.0);
    for (int64_t i = 0; i < group.n; ++i) {
        const float* a = group.alpha + i * SVMCUT_WIDE_LANES + chunk * kChunk;
        if (!any(take<Floats>(a) != Floats{})) continue;
        Doubles d[2] = {widened(a), widened(a + kHalf)};
        const auto right = static_cast<uint32_t>(group.positive[i] >> (chunk * kChunk));
        for (int l = 0; l < kChunk; ++l)
            if (!(right >> l & 1)) d[l / kHalf][l % kHalf] = -d[l / kHalf][l % kHalf];
        for (int64_t e = run.X->indptr[i]; e <= run.X->indptr[i + 1]; ++e) {
            const bool last = e == run.X->indptr[i + 1];
            if (last && run.bias == 0) break;
            const double x = last ? run.bias : static_cast<double>(run.X->data[e]);
            double* v = V + (last ? run.X->n_features : run.X->indices[e]) * kChunk;
            put(v, take<Doubles>(v) + x * d[0]);
            put(v + kHalf, take<Doubles>(v + kHalf) + x * d[1]);
        }
    }
}

void look(const WideGroup& group, int64_t chunk, uint32_t open, double* V, WideSums& sums) {
    constexpr int L = SVMCUT_WIDE_LANES;
    float* W = group.W + chunk * kChunk;
    form(group, chunk, V);
    Doubles squared[2]{}, rise[2]{}, bent[2]{}, risk[kTried][2]{};
    for (int64_t j = 0; j < group.dim; ++j)
        for (int h = 0; h < 2; ++h) {
            const Doubles v = take<Doubles>(V + j * kChunk + h * kHalf);
            put(W + j * L + h * kHalf, __builtin_convertvector(v, Halves));
            squared[h] += v * v;
        }
    double above[kChunk], below[kChunk];
    for (int l = 0; l < kChunk; ++l) {
        above[l] = group.machines[chunk * kChunk + l].above;
        below[l] = group.machines[chunk * kChunk + l].below;
    }
    for (int64_t i = 0; i < group.n; ++i) {
        Doubles m[2];
        margins(group, chunk, V, i, m);
        const float* a = group.alpha + i * L + chunk * kChunk;
        const double q = group.diagonal(i), weight = group.weight(i);
        const auto box = static_cast<double>(group.box(i));
        uint64_t bits = 0;
        for (int h = 0; h < 2; ++h) {
            const Doubles has = widened(a + h * kHalf), G = m[h] - 1.0 + q * has;
            rise[h] += has;
            bent[h] += q * has * has;
            for (int t = 0; t < kTried; ++t)
                risk[t][h] += weight * loss_of(group.squared(), kMultiples[t] * m[h]);
            const auto left = box == 0 ? has == has
                                       : (((has == 0.0) & (G > take<Doubles>(above + h * kHalf))) |
                                          ((has == box) & (G < take<Doubles>(below + h * kHalf))));
            for (int l = 0; l < kHalf; ++l)
                bits |= static_cast<uint64_t>(left[l] == 0) << (h * kHalf + l);
        }
        bits = (bits & open) << (chunk * kChunk);
        group.rows[i] = (group.rows[i] & ~(uint64_t{0xffff} << (chunk * kChunk))) | bits;
    }
    for (int l = 0; l < kChunk; ++l) {
        const int h = l / kHalf, k = l % kHalf;
        sums.squared[l] = squared[h][k], sums.rise[l] = rise[h][k], sums.bent[l] = bent[h][k];
        for (int t = 0; t < kTried; ++t) sums.risk[t][l] = risk[t][h][k];
    }
}

void risk(const WideGroup& group, int64_t chunk, const float* W, double* V, double* out) {
    Doubles sums[2]{};
    for (int64_t j = 0; j < group.dim; ++j)
        for (int l = 0; l < kChunk; ++l)
            V[j * kChunk + l] = static_cast<double>(W[j * SVMCUT_WIDE_LANES + l]);
    for (int64_t i = 0; i < group.n; ++i) {
        Doubles m[2];
        margins(group, chunk, V, i, m);
        for (int h = 0; h < 2; ++h) sums[h] += group.weight(i) * loss_of(group.squared(), m[h]);
    }
    for (int l = 0; l < kChunk; ++l) out[l] = sums[l / kHalf][l % kHalf];
}

// Rows that have a label of a chunk: which, and 1 less the score without the constant feature.
struct Positive {
    int lane;
    double apart, weight;
};

// The machines of a chunk as functions of the constant's part p of the scores.
struct OfConstant {
    const WideGroup& group;
    const double* apart;  // (n, 16): a row without the label has the loss of p - apart; else inf
    std::vector<Positive> positives;

    // Losses at p, and what they rise by where p does.
    void at(const double* p, double* risk, double* slope) const {
        const bool squared = group.squared();
        const Doubles given[2] = {take<Doubles>(p), take<Doubles>(p + kHalf)};
        Doubles sums[2]{}, slopes[2]{};
        for (int64_t i = 0; i < group.n; ++i) {
            const double v = group.weight(i);
            for (int h = 0; h < 2; ++h) {
                const Doubles slack = given[h] - take<Doubles>(apart + i * kChunk + h * kHalf),
                              in = slack > 0.0 ? slack : Doubles{};
                sums[h] += v * (squared ? in * in : in);
                slopes[h] += slack > 0.0 ? (squared ? 2 * v * in : v - Doubles{}) : Doubles{};
            }
        }
        put(risk, sums[0]), put(risk + kHalf, sums[1]);
        put(slope, slopes[0]), put(slope + kHalf, slopes[1]);
        for (const Positive& one : positives) {
            const double slack = one.apart - p[one.lane];
            if (slack <= 0) continue;
            risk[one.lane] += one.weight * (squared ? slack * slack : slack);
            slope[one.lane] -= one.weight * (squared ? 2 * slack : 1.0);
        }
    }
};

OfConstant of_constant(const WideGroup& group, int64_t chunk, const float* W, double* V,
                       double* apart) {
    for (int64_t j = 0; j < group.dim; ++j)
        for (int l = 0; l < kChunk; ++l)
            V[j * kChunk + l] = static_cast<double>(W[j * SVMCUT_WIDE_LANES + l]);
    std::fill_n(V + group.run.X->n_features * kChunk, kChunk, 0.0);
    OfConstant found{group, apart, {}};
    for (int64_t i = 0; i < group.n; ++i) {
        Doubles s[2];
        exact_score(group.run, V, i, s);
        double* own = apart + i * kChunk;
        put(own, -1.0 - s[0]), put(own + kHalf, -1.0 - s[1]);
        auto right = static_cast<uint32_t>(group.positive[i] >> (chunk * kChunk) & 0xffff);
        for (int l = 0; right; ++l, right >>= 1) {
            if (!(right & 1)) continue;
            found.positives.push_back({l, 2 + own[l], group.weight(i)});
            own[l] = std::numeric_limits<double>::infinity();
        }
    }
    return found;
}

void refit(const WideGroup& group, int64_t chunk, float* W, double* V, double* apart, double* out) {
    const double bias = group.run.bias, C = group.run.C;
    const OfConstant losses = of_constant(group, chunk, W, V, apart);
    float* constant = W + group.run.X->n_features * SVMCUT_WIDE_LANES;
    double b[kChunk], p[kChunk], slope[kChunk], low[kChunk], high[kChunk], before[kChunk];
    const auto value = [&](int l) { return 0.5 * b[l] * b[l] + C * out[l]; };
    const auto take_losses = [&] {
        for (int l = 0; l < kChunk; ++l) p[l] = bias * b[l];
        losses.at(p, out, slope);
    };
    for (int l = 0; l < kChunk; ++l) b[l] = static_cast<double>(constant[l]);
    take_losses();
    for (int l = 0; l < kChunk; ++l) {
        before[l] = value(l);
        high[l] = std::sqrt(2 * before[l]);  // the objective is above it beyond
        low[l] = -high[l];
    }
    for (int step = 0; step < kRefitSteps; ++step) {
        for (int l = 0; l < kChunk; ++l) b[l] = 0.5 * (low[l] + high[l]);
        take_losses();
        for (int l = 0; l < kChunk; ++l) (b[l] + C * bias * slope[l] > 0 ? high[l] : low[l]) = b[l];
    }
    for (int l = 0; l < kChunk; ++l)
        b[l] = static_cast<double>(static_cast<float>(0.5 * (low[l] + high[l])));
    take_losses();
    for (int l = 0; l < kChunk; ++l)
        if (value(l) > before[l]) b[l] = static_cast<double>(constant[l]);
    take_losses();
    for (int l = 0; l < kChunk; ++l) constant[l] = static_cast<float>(b[l]);
}

const WideCode code[] = {{epoch, look, risk, refit}};

}  // namespace SVMCUT_LANES
}  // namespace svmcut
