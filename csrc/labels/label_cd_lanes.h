// SPDX-License-Identifier: BSD-3-Clause
//
// The loops over rows of machines side by side, in namespace SVMCUT_LANES; label_cd_code.cc
// includes this once for every set of instructions. A machine's sums do not know of the others, so
// they are the same whatever the instructions.
namespace svmcut {
namespace SVMCUT_LANES {

// L machines, a lane each, in registers of the machine: compilers compare wider vectors lane by
// lane.
template <int L>
struct Lanes {
    static constexpr int kWide = L * 8 < SVMCUT_LANE_BYTES ? L : SVMCUT_LANE_BYTES / 8;
    static constexpr int kParts = L / kWide;
    typedef double Doubles __attribute__((vector_size(8 * kWide)));
    typedef int64_t Longs __attribute__((vector_size(8 * kWide)));

    static Doubles load(const double* p) {
        Doubles x;
        __builtin_memcpy(&x, p, sizeof x);
        return x;
    }
    static void store(double* p, const Doubles& x) { __builtin_memcpy(p, &x, sizeof x); }
    static Longs bits() {
        int64_t each[kWide];
        for (int l = 0; l < kWide; ++l) each[l] = int64_t{1} << l;
        Longs x;
        __builtin_memcpy(&x, each, sizeof x);
        return x;
    }
    static int64_t any(const Longs& x) {
        int64_t each[kWide], all = 0;
        __builtin_memcpy(each, &x, sizeof x);
        for (int l = 0; l < kWide; ++l) all |= each[l];
        return all;
    }
};

// W.(x_i, bias)
template <int L>
inline void score(const svmcut_label_cd& run, const double* W, int64_t i,
                  typename Lanes<L>::Doubles* f) {
    typedef Lanes<L> V;
    constexpr int P = V::kParts, N = V::kWide;
    const float* x = run.X->data;
    const int32_t* j = run.X->indices;
    typename V::Doubles even[P]{}, odd[P]{};  // two sums hide the latency of the additions
    int64_t e = run.X->indptr[i];
    const int64_t end = run.X->indptr[i + 1];
    for (; e + 2 <= end; e += 2) {
        const double one = static_cast<double>(x[e]), two = static_cast<double>(x[e + 1]);
        const double *w = W + j[e] * L, *u = W + j[e + 1] * L;
        for (int p = 0; p < P; ++p) even[p] += one * V::load(w + p * N);
        for (int p = 0; p < P; ++p) odd[p] += two * V::load(u + p * N);
    }
    for (int p = 0; e < end && p < P; ++p)
        even[p] += static_cast<double>(x[e]) * V::load(W + j[e] * L + p * N);
    for (int p = 0; run.bias != 0 && p < P; ++p)
        odd[p] += run.bias * V::load(W + run.X->n_features * L + p * N);
    for (int p = 0; p < P; ++p) f[p] = even[p] + odd[p];
}

// W += (x_i, bias) (outer) d
template <int L>
inline void add(const svmcut_label_cd& run, int64_t i, const typename Lanes<L>::Doubles* d,
                double* W) {
    typedef Lanes<L> V;
    constexpr int P = V::kParts, N = V::kWide;
    for (int64_t e = run.X->indptr[i]; e < run.X->indptr[i + 1]; ++e) {
        double* w = W + run.X->indices[e] * L;
        const auto x = static_cast<double>(run.X->data[e]);
        for (int p = 0; p < P; ++p) V::store(w + p * N, V::load(w + p * N) + x * d[p]);
    }
    if (run.bias == 0) return;
    double* w = W + run.X->n_features * L;
    for (int p = 0; p < P; ++p) V::store(w + p * N, V::load(w + p * N) + run.bias * d[p]);
}

// Fetches the row and its alphas.
template <int L>
inline void fetch(const Group& group, int64_t i) {
    const svmcut_csr& X = *group.run.X;
    const int64_t start = X.indptr[i],
                  lines = std::min<int64_t>(12, (X.indptr[i + 1] - start + 15) / 16);
    prefetch(group.alpha + i * L);
    for (int64_t k = 0; k < lines; ++k) {
        prefetch(X.indices + start + 16 * k);
        prefetch(X.data + start + 16 * k);
    }
}

// What machines of a register know of an epoch.
template <int L>
struct Epoch {
    typename Lanes<L>::Doubles above, below, highest, lowest, sum, moves, visits;
};

// A row as every machine sees it.
struct Visit {
    double box, inverse;
};

// One row of the machines of a register at their scores f, which are on where they visit it: d is
// what the row is added by; those that moved, and those that leave it out.
template <int L>
inline void step(const Visit& row, int64_t mine, int64_t right, const typename Lanes<L>::Doubles& f,
                 double* alpha, Epoch<L>& now, typename Lanes<L>::Doubles& d, int64_t& moves,
                 int64_t& lost) {
    typedef Lanes<L> V;
    typedef typename V::Doubles Doubles;
    typedef typename V::Longs Longs;
    const Longs bits = V::bits();
    const Doubles zero{}, one = 1.0 - zero;
    const Longs on = (mine & bits) != 0, sign = (right & bits) != 0;
    const Doubles C = row.box - zero, y = sign ? one : -one, a = V::load(alpha), G = y * f - 1.0;
    const Doubles down = G < zero ? G : zero, up = G > zero ? G : zero;
    const Longs low = a == zero, full = a == C;
    const Longs left = on & ((low & (G > now.above)) | (~low & full & (G < now.below))),
                here = on & ~left;
    const Doubles projected = here ? (low ? down : full ? up : G) : zero;  // 0 is no extreme
    Doubles wanted = a - G * row.inverse;
    wanted = wanted > zero ? wanted : zero;
    wanted = wanted < C ? wanted : C;
    const Doubles next = (projected > kIdle) | (projected < -kIdle) ? wanted : a;
    const Longs moved = next != a;
    now.sum += on ? a * G - C * down : zero;
    now.visits += here ? one : zero;
    now.highest = now.highest > projected ? now.highest : projected;
    now.lowest = now.lowest < projected ? now.lowest : projected;
    now.moves += moved ? one : zero;
    lost = V::any(left & bits);
    moves |= V::any(moved);
    d = y * (next - a);
    V::store(alpha, next);
}

template <int L>
bool epoch(const Group& group, const volatile int* cancel) {
    typedef Lanes<L> V;
    constexpr int P = V::kParts, N = V::kWide;
    const svmcut_label_cd& run = group.run;
    Epoch<L> now[P];
    for (int l = 0; l < L; ++l) {
        const svmcut_label_machine& m = group.machines[l];
        Epoch<L>& own = now[l / N];
        const int k = l % N;
        own.above[k] = m.above, own.below[k] = m.below;
        own.highest[k] = m.highest, own.lowest[k] = m.lowest;
        own.sum[k] = m.sum, own.moves[k] = m.moves, own.visits[k] = m.visits;
    }
    const int64_t began = group.state.at, active = group.state.active;
    int64_t k = began, entries = 0;
    for (; k < active; ++k) {
        if (cancel && k % kPollEvery == 0 && k > began && *cancel) break;
        if (k + kRowsAhead < active) fetch<L>(group, group.order[group.visits[k + kRowsAhead]]);
        const int64_t i = group.order[group.visits[k]], mine = group.rows[i],
                      right = group.positive[i];
        const double norm = run.norms[i];
        const Visit row{group.box(i), norm > 0 ? 1.0 / norm : kInfinity};
        typename V::Doubles f[P], d[P];
        score<L>(run, group.W, i, f);
        entries += run.X->indptr[i + 1] - run.X->indptr[i];
        int64_t moved = 0, lost = 0;
        for (int p = 0; p < P; ++p) {
            int64_t left;
            step<L>(row, mine >> (p * N), right >> (p * N), f[p], group.alpha + i * L + p * N,
                    now[p], d[p], moved, left);
            lost |= left << (p * N);
        }
        if (lost) group.rows[i] = static_cast<uint8_t>(mine & ~lost);
        if (moved) add<L>(run, i, d, group.W);
    }
    for (int l = 0; l < L; ++l) {
        svmcut_label_machine& m = group.machines[l];
        const Epoch<L>& own = now[l / N];
        const int p = l % N;
        m.highest = own.highest[p], m.lowest = own.lowest[p];
        m.sum = own.sum[p], m.moves = own.moves[p], m.visits = own.visits[p];
    }
    group.state.at = k;
    group.state.entries += entries;
    return k == active;
}

template <int L>
void form(const Group& group, double* s) {
    typedef Lanes<L> V;
    typedef typename V::Doubles Doubles;
    constexpr int P = V::kParts, N = V::kWide;
    const typename V::Longs bits = V::bits();
    std::fill_n(group.W, group.dim * L, 0.0);
    for (int64_t i = 0; i < group.n; ++i) {
        const int64_t right = group.positive[i];
        Doubles d[P];
        int64_t some = 0;
        for (int p = 0; p < P; ++p) {
            const Doubles a = V::load(group.alpha + i * L + p * N);
            some |= V::any(a != Doubles{});
            d[p] = ((right >> (p * N)) & bits) != 0 ? a : -a;
        }
        if (some) add<L>(group.run, i, d, group.W);
    }
    for (int64_t i = 0; i < group.n; ++i) {
        Doubles f[P];
        score<L>(group.run, group.W, i, f);
        for (int p = 0; p < P; ++p) V::store(s + i * L + p * N, f[p]);
    }
}

const LabelCode code[] = {{epoch<4>, form<4>}, {epoch<8>, form<8>}};

}  // namespace SVMCUT_LANES
}  // namespace svmcut
