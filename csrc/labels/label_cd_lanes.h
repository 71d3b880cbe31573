// SPDX-License-Identifier: BSD-3-Clause
//
// The loops over rows of machines side by side, in namespace SVMCUT_LANES; label_cd_code.cc
// includes this once for every set of instructions. A machine's sums do not know of the others, so
// they are the same whatever the instructions.
namespace svmcut {
namespace SVMCUT_LANES {

// L machines, a lane each.
template <int L>
struct Lanes {
    typedef double Doubles __attribute__((vector_size(8 * L)));
    typedef int64_t Longs __attribute__((vector_size(8 * L)));

    static Doubles load(const double* p) {
        Doubles x;
        __builtin_memcpy(&x, p, sizeof x);
        return x;
    }
    static void store(double* p, const Doubles& x) { __builtin_memcpy(p, &x, sizeof x); }
    static Longs bits() {
        int64_t each[L];
        for (int l = 0; l < L; ++l) each[l] = int64_t{1} << l;
        Longs x;
        __builtin_memcpy(&x, each, sizeof x);
        return x;
    }
    static int64_t any(const Longs& x) {
        int64_t each[L], all = 0;
        __builtin_memcpy(each, &x, sizeof x);
        for (int l = 0; l < L; ++l) all |= each[l];
        return all;
    }
};

// W.(x_i, bias)
template <int L>
inline void score(const svmcut_label_cd& run, const double* W, int64_t i,
                  typename Lanes<L>::Doubles& f) {
    typedef Lanes<L> V;
    const float* x = run.X->data;
    const int32_t* j = run.X->indices;
    typename V::Doubles even{}, odd{};  // two sums hide the latency of the additions
    int64_t e = run.X->indptr[i];
    const int64_t end = run.X->indptr[i + 1];
    for (; e + 2 <= end; e += 2) {
        even += static_cast<double>(x[e]) * V::load(W + j[e] * L);
        odd += static_cast<double>(x[e + 1]) * V::load(W + j[e + 1] * L);
    }
    if (e < end) even += static_cast<double>(x[e]) * V::load(W + j[e] * L);
    if (run.bias != 0) odd += run.bias * V::load(W + run.X->n_features * L);
    f = even + odd;
}

// W += (x_i, bias) (outer) d
template <int L>
inline void add(const svmcut_label_cd& run, int64_t i, const typename Lanes<L>::Doubles& d,
                double* W) {
    typedef Lanes<L> V;
    for (int64_t e = run.X->indptr[i]; e < run.X->indptr[i + 1]; ++e) {
        double* w = W + run.X->indices[e] * L;
        V::store(w, V::load(w) + static_cast<double>(run.X->data[e]) * d);
    }
    if (run.bias == 0) return;
    double* w = W + run.X->n_features * L;
    V::store(w, V::load(w) + run.bias * d);
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

template <int L>
bool epoch(const Group& group, const volatile int* cancel) {
    typedef Lanes<L> V;
    typedef typename V::Doubles Doubles;
    typedef typename V::Longs Longs;
    const svmcut_label_cd& run = group.run;
    const Longs bits = V::bits();
    const Doubles zero{}, one = 1.0 - zero;
    Doubles above, below, highest, lowest, sum, moves, visits;
    for (int l = 0; l < L; ++l) {
        const svmcut_label_machine& m = group.machines[l];
        above[l] = m.above, below[l] = m.below, highest[l] = m.highest, lowest[l] = m.lowest;
        sum[l] = m.sum, moves[l] = m.moves, visits[l] = m.visits;
    }
    const int64_t began = group.state.at, active = group.state.active;
    int64_t k = began, entries = 0;
    for (; k < active; ++k) {
        if (cancel && k % kPollEvery == 0 && k > began && *cancel) break;
        if (k + kRowsAhead < active) fetch<L>(group, group.order[group.visits[k + kRowsAhead]]);
        const int64_t i = group.order[group.visits[k]], mine = group.rows[i],
                      right = group.positive[i];
        const double box = group.box(i), norm = run.norms[i],
                     inverse = norm > 0 ? 1.0 / norm : kInfinity;
        double* alpha = group.alpha + i * L;
        Doubles f;
        score<L>(run, group.W, i, f);
        entries += run.X->indptr[i + 1] - run.X->indptr[i];
        const Longs on = (mine & bits) != 0, sign = (right & bits) != 0;
        const Doubles C = box - zero, y = sign ? one : -one, a = V::load(alpha), G = y * f - 1.0;
        const Doubles down = G < zero ? G : zero, up = G > zero ? G : zero;
        const Longs low = a == zero, full = a == C;
        const Longs left = on & ((low & (G > above)) | (~low & full & (G < below))),
                    here = on & ~left;
        const Doubles projected = here ? (low ? down : full ? up : G) : zero;  // 0 is no extreme
        Doubles wanted = a - G * inverse;
        wanted = wanted > zero ? wanted : zero;
        wanted = wanted < C ? wanted : C;
        const Doubles next = (projected > kIdle) | (projected < -kIdle) ? wanted : a;
        const Longs moved = next != a;
        sum += on ? a * G - C * down : zero;
        visits += here ? one : zero;
        highest = highest > projected ? highest : projected;
        lowest = lowest < projected ? lowest : projected;
        moves += moved ? one : zero;
        if (const int64_t lost = V::any(left & bits))
            group.rows[i] = static_cast<uint8_t>(mine & ~lost);
        if (!V::any(moved)) continue;
        V::store(alpha, next);
        add<L>(run, i, y * (next - a), group.W);
    }
    for (int l = 0; l < L; ++l) {
        svmcut_label_machine& m = group.machines[l];
        m.highest = highest[l], m.lowest = lowest[l], m.sum = sum[l], m.moves = moves[l],
        m.visits = visits[l];
    }
    group.state.at = k;
    group.state.entries += entries;
    return k == active;
}

template <int L>
void form(const Group& group, double* s) {
    typedef Lanes<L> V;
    typedef typename V::Doubles Doubles;
    const typename V::Longs bits = V::bits();
    std::fill_n(group.W, group.dim * L, 0.0);
    for (int64_t i = 0; i < group.n; ++i) {
        const int64_t right = group.positive[i];
        const Doubles a = V::load(group.alpha + i * L);
        if (V::any(a != Doubles{})) add<L>(group.run, i, (right & bits) != 0 ? a : -a, group.W);
    }
    for (int64_t i = 0; i < group.n; ++i) {
        Doubles f;
        score<L>(group.run, group.W, i, f);
        V::store(s + i * L, f);
    }
}

const LabelCode code[] = {{epoch<4>, form<4>}, {epoch<8>, form<8>}};

}  // namespace SVMCUT_LANES
}  // namespace svmcut
