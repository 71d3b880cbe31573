// SPDX-License-Identifier: BSD-3-Clause
//
// The loops over rows of many machines in step, in namespace SVMCUT_LANES; wide_cd_code.cc includes
// this once for every set of instructions. A machine's sums do not know of the others, so they are
// the same whatever the instructions.
#include "core/widened.h"

namespace svmcut {
namespace SVMCUT_LANES {

// Vectors are as wide as the instructions': wider ones would be compared number by number.
constexpr int kWidth = SVMCUT_LANE_BYTES / 4, kVectors = SVMCUT_WIDE_LANES / kWidth;
constexpr int kWide = SVMCUT_LANE_BYTES / 8, kPieces = kChunk / kWide;  // doubles of a chunk
typedef float Floats __attribute__((vector_size(SVMCUT_LANE_BYTES)));
typedef int32_t Ints __attribute__((vector_size(SVMCUT_LANE_BYTES)));
typedef double Doubles __attribute__((vector_size(SVMCUT_LANE_BYTES)));
typedef int64_t Longs __attribute__((vector_size(SVMCUT_LANE_BYTES)));
typedef float Halves __attribute__((vector_size(SVMCUT_LANE_BYTES / 2)));

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

// The bit of every lane, and the lanes whose bit is on.
template <class V, class T>
inline V bits_of_lanes() {
    constexpr int lanes = sizeof(V) / sizeof(T);
    T each[lanes];
    for (int l = 0; l < lanes; ++l) each[l] = T{1} << l;
    return take<V>(each);
}
inline Ints lanes_of(uint64_t bits) {
    const Ints each = bits_of_lanes<Ints, int32_t>();
    return (static_cast<int32_t>(bits) & each) == each;
}
inline Longs wide_lanes_of(uint64_t bits) {
    const Longs each = bits_of_lanes<Longs, int64_t>();
    return (static_cast<int64_t>(bits) & each) == each;
}
// A bit for every lane that is on.
template <class V>
inline uint64_t joined(const V& bits) {
    uint64_t words[SVMCUT_LANE_BYTES / 8], all = 0;
    put(words, bits);
    for (uint64_t word : words) all |= word;
    return all;
}
inline uint64_t bits_of(const Ints& on) {
    const uint64_t all = joined(on & bits_of_lanes<Ints, int32_t>());
    return (all | all >> 32) & ((uint64_t{1} << kWidth) - 1);
}
inline uint64_t bits_of(const Longs& on) { return joined(on & bits_of_lanes<Longs, int64_t>()); }

// f[c] = W.(x_i, bias) of the lanes of the vector which[c], in single precision: a step need not be
// exact.
template <int N>
inline void score(const svmcut_wide_cd& run, const float* W, int64_t i, const int* which,
                  Floats* f) {
    constexpr int L = SVMCUT_WIDE_LANES;
    const float* x = run.X->data;
    const int32_t* j = run.X->indices;
    const float* from[N];
    for (int c = 0; c < N; ++c) from[c] = W + which[c] * kWidth;
    Floats even[N]{}, odd[N]{};
    int64_t e = run.X->indptr[i];
    const int64_t end = run.X->indptr[i + 1];
    for (; e + 2 <= end; e += 2) {
        const int64_t w = int64_t{j[e]} * L, u = int64_t{j[e + 1]} * L;
        for (int c = 0; c < N; ++c) even[c] += x[e] * take<Floats>(from[c] + w);
        for (int c = 0; c < N; ++c) odd[c] += x[e + 1] * take<Floats>(from[c] + u);
    }
    if (e < end)
        for (int c = 0; c < N; ++c) even[c] += x[e] * take<Floats>(from[c] + int64_t{j[e]} * L);
    if (run.bias != 0) {
        const auto bias = static_cast<float>(run.bias);
        for (int c = 0; c < N; ++c) odd[c] += bias * take<Floats>(from[c] + run.X->n_features * L);
    }
    for (int c = 0; c < N; ++c) f[c] = even[c] + odd[c];
}

// W += (x_i, bias) (outer) d in the lanes of the vectors which[c], of d[c] each
template <int N>
inline void add(const svmcut_wide_cd& run, int64_t i, const int* which, const Floats* d, float* W) {
    constexpr int L = SVMCUT_WIDE_LANES;
    float* to[N];
    Floats by[N];
    for (int c = 0; c < N; ++c) to[c] = W + which[c] * kWidth, by[c] = d[c];
    const float* x = run.X->data;
    const int32_t* j = run.X->indices;
    const int64_t end = run.X->indptr[i + 1];
    for (int64_t e = run.X->indptr[i]; e < end; ++e) {
        const int64_t w = int64_t{j[e]} * L;
        for (int c = 0; c < N; ++c) put(to[c] + w, take<Floats>(to[c] + w) + x[e] * by[c]);
    }
    if (run.bias == 0) return;
    const int64_t w = run.X->n_features * L;
    for (int c = 0; c < N; ++c)
        put(to[c] + w, take<Floats>(to[c] + w) + static_cast<float>(run.bias) * by[c]);
}

// work(vectors at a time, the first's place) over `count` vectors.
template <class Work>
inline void in_fours(int count, const Work& work) {
    int c = 0;
    for (; c + 4 <= count; c += 4) work(std::integral_constant<int, 4>{}, c);
    if (count - c >= 2) work(std::integral_constant<int, 2>{}, c), c += 2;
    if (count - c == 1) work(std::integral_constant<int, 1>{}, c);
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

// What machines of a vector know of an epoch.
struct Epoch {
    Floats above, below, highest, lowest, sum;
    Ints moves, visits;
};

// A row that is visited.
struct Visit {
    float box, inverse, q, half;  // half: 1/2 the inverse of q
    float* alpha;
    uint64_t mine, positive;  // machines that visit it; that have its label

    Visit(const WideGroup& group, int64_t i)
        : box(group.box(i)),
          alpha(group.alpha + i * SVMCUT_WIDE_LANES),
          mine(group.rows[i]),
          positive(group.positive[i]) {
        const double own = group.diagonal(i), norm = group.run.norms[i] + own;
        inverse = norm > 0 ? static_cast<float>(1.0 / norm) : 3e38f;
        q = static_cast<float>(own);
        half = static_cast<float>(own > 0 ? 0.5 / own : 0.0);
    }
};

// One row of the vector c at its scores f: the machines that leave it out. d: what its weights move
// by along the row; `moves` whether they do.
template <bool kSquared>
inline uint64_t step(const Visit& row, int c, const Floats& f, Epoch& now, Floats* d, bool* moves) {
    const Floats zero{}, one = 1.0f - zero;
    float* alpha = row.alpha + c * kWidth;
    const Ints on = lanes_of(row.mine >> (c * kWidth)),
               sign = lanes_of(row.positive >> (c * kWidth));
    const Floats C = row.box - zero, y = sign ? one : -one, a = take<Floats>(alpha),
                 G = y * f - 1.0f + a * row.q;
    const Floats down = G < zero ? G : zero, up = G > zero ? G : zero;
    const Ints low = a == zero, full = a == C;
    const Ints left = on & ((low & (G > now.above)) | (~low & full & (G < now.below))),
               here = on & ~left;
    const Floats projected = here ? (low ? down : full ? up : G) : zero;  // 0 is no extreme
    Floats wanted = a - G * row.inverse;
    wanted = wanted > zero ? wanted : zero;
    wanted = wanted < C ? wanted : C;
    const Floats next = projected != zero ? wanted : a;
    const Ints moved = next != a;
    // the part of the gap that a row has at W
    Floats part;
    if (kSquared) {
        const Floats m = y * f, slack = m < one ? one - m : zero, apart = slack - a * row.q;
        part = row.half * apart * apart + a * (slack - (one - m));
    } else {
        part = a * G - C * down;
    }
    now.sum += on ? part : zero;
    now.visits -= here;
    now.highest = now.highest > projected ? now.highest : projected;
    now.lowest = now.lowest < projected ? now.lowest : projected;
    now.moves -= moved;
    *moves = joined(moved) != 0;
    if (*moves) {
        put(alpha, next);
        *d = y * (next - a);
    }
    return bits_of(left);
}

// One row of all machines that visit it.
template <bool kSquared>
inline void visit(const WideGroup& group, int64_t i, Epoch* now) {
    constexpr uint64_t kLanes = (uint64_t{1} << kWidth) - 1;
    const Visit row(group, i);
    int which[kVectors], moved[kVectors], count = 0, moves = 0;
    for (int c = 0; c < kVectors; ++c) {
        which[count] = c;
        count += (row.mine >> (c * kWidth) & kLanes) != 0;
    }
    Floats f[kVectors], d[kVectors];
    in_fours(count,
             [&](auto n, int c) { score<n.value>(group.run, group.W, i, which + c, f + c); });
    uint64_t lost = 0;
    for (int k = 0; k < count; ++k) {
        const int c = which[k];
        bool on;
        lost |= step<kSquared>(row, c, f[k], now[c], d + moves, &on) << (c * kWidth);
        moved[moves] = c;
        moves += on;
    }
    in_fours(moves, [&](auto n, int c) { add<n.value>(group.run, i, moved + c, d + c, group.W); });
    group.rows[i] = row.mine & ~lost;
}

void read(const WideGroup& group, Epoch* now) {
    for (int k = 0; k < SVMCUT_WIDE_LANES; ++k) {
        const svmcut_label_machine& m = group.machines[k];
        Epoch& own = now[k / kWidth];
        const int l = k % kWidth;
        own.above[l] = static_cast<float>(m.above);
        own.below[l] = static_cast<float>(m.below);
        own.highest[l] = static_cast<float>(m.highest);
        own.lowest[l] = static_cast<float>(m.lowest);
        own.sum[l] = static_cast<float>(m.sum);
        own.moves[l] = static_cast<int32_t>(m.moves);
        own.visits[l] = static_cast<int32_t>(m.visits);
    }
}

void write(const WideGroup& group, const Epoch* now) {
    for (int k = 0; k < SVMCUT_WIDE_LANES; ++k) {
        svmcut_label_machine& m = group.machines[k];
        const Epoch& own = now[k / kWidth];
        const int l = k % kWidth;
        m.highest = static_cast<double>(own.highest[l]);
        m.lowest = static_cast<double>(own.lowest[l]);
        m.sum = static_cast<double>(own.sum[l]);
        m.moves = static_cast<double>(own.moves[l]);
        m.visits = static_cast<double>(own.visits[l]);
    }
}

inline int chunks_of(uint64_t machines) {
    int count = 0;
    for (int c = 0; c < kChunks; ++c) count += (machines >> (c * kChunk) & 0xffff) != 0;
    return count;
}

template <bool kSquared>
bool epoch_of(const WideGroup& group, const volatile int* cancel) {
    Epoch now[kVectors];
    read(group, now);
    const int64_t began = group.state.at, active = group.state.active;
    int64_t k = began, entries = 0;
    for (; k < active; ++k) {
        if (cancel && k % kPollRows == 0 && k > began && *cancel) break;
        if (k + kRowsFetched < active) fetch(group, group.order[group.visits[k + kRowsFetched]]);
        const int64_t i = group.order[group.visits[k]],
                      nonzeros = group.run.X->indptr[i + 1] - group.run.X->indptr[i];
        entries += nonzeros * chunks_of(group.rows[i]);
        visit<kSquared>(group, i, now);
    }
    write(group, now);
    group.state.at = k;
    group.state.entries += entries;
    return k == active;
}

bool epoch(const WideGroup& group, const volatile int* cancel) {
    return group.squared() ? epoch_of<true>(group, cancel) : epoch_of<false>(group, cancel);
}

// V.(x_i, bias) of a chunk, in double precision.
inline void exact_score(const svmcut_wide_cd& run, const double* V, int64_t i, Doubles* s) {
    Doubles sums[kPieces]{};
    for (int64_t e = run.X->indptr[i]; e < run.X->indptr[i + 1]; ++e) {
        const double* v = V + int64_t{run.X->indices[e]} * kChunk;
        const auto x = static_cast<double>(run.X->data[e]);
        for (int h = 0; h < kPieces; ++h) sums[h] += x * take<Doubles>(v + h * kWide);
    }
    if (run.bias != 0) {
        const double* v = V + run.X->n_features * kChunk;
        for (int h = 0; h < kPieces; ++h) sums[h] += run.bias * take<Doubles>(v + h * kWide);
    }
    for (int h = 0; h < kPieces; ++h) s[h] = sums[h];
}

inline Doubles loss_of(bool squared, const Doubles& m) {
    const Doubles zero{}, slack = m < 1.0 - zero ? 1.0 - m : zero;
    return squared ? slack * slack : slack;
}

// The margins of a row at the weights of a chunk.
inline void margins(const WideGroup& group, int64_t chunk, const double* V, int64_t i, Doubles* m) {
    exact_score(group.run, V, i, m);
    const uint64_t right = group.positive[i] >> (chunk * kChunk);
    for (int h = 0; h < kPieces; ++h) m[h] = wide_lanes_of(right >> (h * kWide)) ? m[h] : -m[h];
}

void form(const WideGroup& group, int64_t chunk, double* V) {
    const svmcut_wide_cd& run = group.run;
    const float* x = run.X->data;
    const int32_t* j = run.X->indices;
    std::fill_n(V, group.dim * kChunk, 0.0);
    for (int64_t i = 0; i < group.n; ++i) {
        const float* a = group.alpha + i * SVMCUT_WIDE_LANES + chunk * kChunk;
        const uint64_t right = group.positive[i] >> (chunk * kChunk);
        const int64_t end = run.X->indptr[i + 1];
        for (int h = 0; h < kPieces; ++h) {
            Doubles d = widened<Doubles>(a + h * kWide);
            if (!joined(d != Doubles{})) continue;
            d = wide_lanes_of(right >> (h * kWide)) ? d : -d;
            double* to = V + h * kWide;
            for (int64_t e = run.X->indptr[i]; e < end; ++e) {
                double* v = to + int64_t{j[e]} * kChunk;
                put(v, take<Doubles>(v) + static_cast<double>(x[e]) * d);
            }
            double* v = to + run.X->n_features * kChunk;
            if (run.bias != 0) put(v, take<Doubles>(v) + run.bias * d);
        }
    }
}

// Sums of a look, by pieces.
struct Looking {
    Doubles squared[kPieces]{}, rise[kPieces]{}, bent[kPieces]{}, risk[kTried][kPieces]{};
    Doubles above[kPieces], below[kPieces];

    Looking(const WideGroup& group, int64_t chunk) {
        for (int l = 0; l < kChunk; ++l) {
            above[l / kWide][l % kWide] = group.machines[chunk * kChunk + l].above;
            below[l / kWide][l % kWide] = group.machines[chunk * kChunk + l].below;
        }
    }
    void write(WideSums& sums) const {
        for (int l = 0; l < kChunk; ++l) {
            const int h = l / kWide, k = l % kWide;
            sums.squared[l] = squared[h][k], sums.rise[l] = rise[h][k], sums.bent[l] = bent[h][k];
            for (int t = 0; t < kTried; ++t) sums.risk[t][l] = risk[t][h][k];
        }
    }
};

// The machines of a chunk that visit row i after a look.
inline uint64_t look_at(const WideGroup& group, int64_t chunk, const double* V, int64_t i,
                        Looking& now) {
    Doubles m[kPieces];
    margins(group, chunk, V, i, m);
    const float* a = group.alpha + i * SVMCUT_WIDE_LANES + chunk * kChunk;
    const double q = group.diagonal(i), weight = group.weight(i);
    const auto box = static_cast<double>(group.box(i));
    uint64_t bits = 0;
    for (int h = 0; h < kPieces; ++h) {
        const Doubles zero{}, C = box - zero, has = widened<Doubles>(a + h * kWide),
                              G = m[h] - 1.0 + q * has;
        now.rise[h] += has;
        now.bent[h] += q * has * has;
        for (int t = 0; t < kTried; ++t)
            now.risk[t][h] += weight * loss_of(group.squared(), kMultiples[t] * m[h]);
        const Longs left = ((has == zero) & (G > now.above[h])) | ((has == C) & (G < now.below[h]));
        bits |= bits_of(~left) << (h * kWide);
    }
    return box == 0 ? 0 : bits;
}

void look(const WideGroup& group, int64_t chunk, uint32_t open, double* V, WideSums& sums) {
    constexpr int L = SVMCUT_WIDE_LANES;
    float* W = group.W + chunk * kChunk;
    form(group, chunk, V);
    Looking now(group, chunk);
    for (int64_t j = 0; j < group.dim; ++j)
        for (int h = 0; h < kPieces; ++h) {
            const Doubles v = take<Doubles>(V + j * kChunk + h * kWide);
            put(W + j * L + h * kWide, __builtin_convertvector(v, Halves));
            now.squared[h] += v * v;
        }
    for (int64_t i = 0; i < group.n; ++i) {
        const uint64_t bits = (look_at(group, chunk, V, i, now) & open) << (chunk * kChunk);
        group.rows[i] = (group.rows[i] & ~(uint64_t{0xffff} << (chunk * kChunk))) | bits;
    }
    now.write(sums);
}

void risk(const WideGroup& group, int64_t chunk, const float* W, double* V, double* out) {
    Doubles sums[kPieces]{};
    for (int64_t j = 0; j < group.dim; ++j)
        for (int l = 0; l < kChunk; ++l)
            V[j * kChunk + l] = static_cast<double>(W[j * SVMCUT_WIDE_LANES + l]);
    for (int64_t i = 0; i < group.n; ++i) {
        Doubles m[kPieces];
        margins(group, chunk, V, i, m);
        for (int h = 0; h < kPieces; ++h)
            sums[h] += group.weight(i) * loss_of(group.squared(), m[h]);
    }
    for (int h = 0; h < kPieces; ++h) put(out + h * kWide, sums[h]);
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
        Doubles given[kPieces], sums[kPieces]{}, slopes[kPieces]{};
        for (int h = 0; h < kPieces; ++h) given[h] = take<Doubles>(p + h * kWide);
        for (int64_t i = 0; i < group.n; ++i) {
            const double v = group.weight(i);
            for (int h = 0; h < kPieces; ++h) {
                const Doubles zero{},
                    slack = given[h] - take<Doubles>(apart + i * kChunk + h * kWide),
                    in = slack > zero ? slack : zero;
                sums[h] += v * (squared ? in * in : in);
                slopes[h] += slack > zero ? (squared ? 2 * v * in : v - zero) : zero;
            }
        }
        for (int h = 0; h < kPieces; ++h) put(risk + h * kWide, sums[h]);
        for (int h = 0; h < kPieces; ++h) put(slope + h * kWide, slopes[h]);
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
        Doubles s[kPieces];
        exact_score(group.run, V, i, s);
        double* own = apart + i * kChunk;
        for (int h = 0; h < kPieces; ++h) put(own + h * kWide, -1.0 - s[h]);
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
