// SPDX-License-Identifier: BSD-3-Clause
//
// One example at a time by its whole relaxed argmax: block-coordinate Frank-Wolfe (Lacoste-Julien,
// Jaggi, Schmidt and Pletscher, ICML 2013, Algorithm 4) and stochastic subgradients (weighted
// averages of Pegasos' steps) on label sets.
//
//   psi_n(p, q) = gold features - features of (p, q): per label (gold - p_k) x_n,
//         per pair gold - q_kl
//   BCFW  alpha_n <- (1 - gamma) alpha_n + gamma C_n psi_n(argmax),
//         gamma = clip(gap_n / |change|^2, 0, 1), exact on the line
//   SSG   z += v_n psi_n(argmax at w),  w = C n z / visits;  C_n = C v_n, v_n the example's weight
//
// (I1) W and v are the sums of the alphas (BCFW) or of all psi (SSG) after every visit. (I2) v is
// symmetric.

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "core/random.h"
#include "core/saved.h"
#include "include/labels.h"
#include "labels/label_row.h"
#include "labels/roof_dual.h"

using namespace svmcut;

namespace {

struct PairShare {
    int32_t k, l;
    double alpha;
    bool operator<(const PairShare& other) const {
        return k < other.k || (k == other.k && l < other.l);
    }
};

}  // namespace

struct svmcut_label_blocks {
    svmcut_csr X;
    svmcut_label_sets sets;
    int64_t K, visits = 0;
    double bias, C, loss = 0;
    const double* weights;  // of the examples, or null for 1 each
    bool with_pairs;
    Random random;
    std::vector<double> a, squared, losses;      // (n, K), (n,), (n,)
    std::vector<std::vector<PairShare>> shares;  // of each example, in order of (k, l)
    std::vector<double> scores, theta, change, rise, fall;
    std::vector<int8_t> doubled;
    std::vector<int32_t> order, on;
    std::vector<PairShare> found;
    std::vector<char> gold;
    RoofDual roof;

    double weight(int64_t n) const { return weights ? weights[n] : 1.0; }

    void sum_rows(const double* v) {
        std::fill(rise.begin(), rise.end(), 0.0);
        std::fill(fall.begin(), fall.end(), 0.0);
        for (int64_t k = 0; with_pairs && k < K; ++k)
            for (int64_t l = 0; l < K; ++l) (v[k * K + l] > 0 ? rise : fall)[k] += v[k * K + l];
    }

    void move_pair(double* v, int32_t k, int32_t l, double by) {
        const double old = v[k * K + l], now = old + by;
        v[k * K + l] = v[l * K + k] = now;
        const double up = std::max(0.0, now) - std::max(0.0, old),
                     down = std::min(0.0, now) - std::min(0.0, old);
        rise[k] += up;
        rise[l] += up;
        fall[k] += down;
        fall[l] += down;
    }

    // The argmax at (W, v) times 1 / unit; change = gold - p, found = gold - q of the pairs where
    // that is not 0. Returns its loss.
    double separate(int64_t n, const double* W, const double* v, double unit) {
        const svmcut_label_weights model{W, nullptr, X.n_features, K, bias, nullptr};
        label_scores(X, n, model, scores.data());
        std::copy_n(scores.data(), K, theta.data());
        augment(sets, n, K, unit, theta.data());
        for (int64_t e = sets.indptr[n]; e < sets.indptr[n + 1]; ++e) gold[sets.labels[e]] = 1;
        roof.solve(K, theta.data(), with_pairs ? v : nullptr, rise.data(), fall.data(),
                   doubled.data());
        double wrong = 0;
        on.clear();
        found.clear();
        for (int64_t k = 0; k < K; ++k) {
            change[k] = gold[k] - 0.5 * doubled[k];
            wrong += std::fabs(change[k]);
            if (doubled[k] || gold[k]) on.push_back(static_cast<int32_t>(k));
        }
        for (size_t i = 0; with_pairs && i < on.size(); ++i)
            for (size_t j = i + 1; j < on.size(); ++j) {
                const int32_t k = on[i], l = on[j];
                const int p = doubled[k], r = doubled[l];
                const int q = v[k * K + l] > 0 ? std::min(p, r) : std::max(0, p + r - 2);
                const double share = (gold[k] && gold[l]) - 0.5 * q;
                if (share != 0) found.push_back({k, l, share});
            }
        for (int64_t e = sets.indptr[n]; e < sets.indptr[n + 1]; ++e) gold[sets.labels[e]] = 0;
        return wrong;
    }

    void add_row(int64_t n, double c, const double* by, double* W) const {
        for (int64_t e = X.indptr[n]; e < X.indptr[n + 1]; ++e)
            add_scaled(K, c * X.data[e], by, W + X.indices[e] * K);
        if (bias != 0) add_scaled(K, c * bias, by, W + X.n_features * K);
    }

    // One Frank-Wolfe step of example n.
    void step(int64_t n, double* W, double* v) {
        const double C_n = C * weight(n), wrong = separate(n, W, v, 1.0);
        double* row = a.data() + n * K;
        double gap = C_n * wrong - losses[n], length = 0;
        for (int64_t k = 0; k < K; ++k) {
            change[k] = C_n * change[k] - row[k];
            gap -= change[k] * scores[k];
            length += change[k] * change[k];
        }
        length *= squared[n];
        std::vector<PairShare> merged;  // the shares with the change of each in `found`
        size_t i = 0, j = 0;
        const auto& own = shares[n];
        std::vector<double> moves;
        while (i < own.size() || j < found.size()) {
            const bool first = j == found.size() || (i < own.size() && own[i] < found[j]);
            const bool second = i == own.size() || (j < found.size() && found[j] < own[i]);
            const PairShare& at = second ? found[j] : own[i];
            const double old = second ? 0.0 : own[i].alpha,
                         now = first ? 0.0 : C_n * found[j].alpha;
            merged.push_back({at.k, at.l, old});
            moves.push_back(now - old);
            gap -= (now - old) * v[at.k * K + at.l];
            length += (now - old) * (now - old);
            if (!second) ++i;
            if (!first) ++j;
        }
        if (!(gap > 0) || !(length > 0)) return;
        const double gamma = std::min(1.0, gap / length);
        for (int64_t k = 0; k < K; ++k) row[k] += gamma * change[k];
        add_row(n, gamma, change.data(), W);
        size_t kept = 0;
        for (size_t m = 0; m < merged.size(); ++m) {
            merged[m].alpha += gamma * moves[m];
            move_pair(v, merged[m].k, merged[m].l, gamma * moves[m]);
            if (merged[m].alpha != 0) merged[kept++] = merged[m];
        }
        merged.resize(kept);
        shares[n].swap(merged);
        losses[n] += gamma * (C_n * wrong - losses[n]);
    }
};

extern "C" {

svmcut_label_blocks* svmcut_label_blocks_new(const svmcut_csr* X, const svmcut_label_sets* gold,
                                             int64_t K, double bias, int pairs, double C,
                                             const double* weights, uint64_t seed) {
    try {
        auto run = std::make_unique<svmcut_label_blocks>();
        const auto n = static_cast<size_t>(X->n_rows), k = static_cast<size_t>(K);
        run->X = *X;
        run->sets = *gold;
        run->K = K;
        run->bias = bias;
        run->C = C;
        run->weights = weights;
        run->with_pairs = pairs != 0;
        run->random.state = seed;
        run->a.assign(n * k, 0);
        run->losses.assign(n, 0);
        run->shares.resize(n);
        run->squared.assign(n, bias * bias);
        for (auto* array : {&run->scores, &run->theta, &run->change, &run->rise, &run->fall})
            array->assign(k, 0);
        run->doubled.assign(k, 0);
        run->gold.assign(k, 0);
        run->order.resize(n);
        for (size_t i = 0; i < n; ++i) {
            run->order[i] = static_cast<int32_t>(i);
            for (int64_t e = X->indptr[i]; e < X->indptr[i + 1]; ++e)
                run->squared[i] += static_cast<double>(X->data[e]) * X->data[e];
        }
        return run.release();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void svmcut_label_blocks_delete(svmcut_label_blocks* run) { delete run; }

int svmcut_label_bcfw(svmcut_label_blocks* run, double* W, double* v, double* loss) {
    try {
        shuffle(run->order.data(), run->X.n_rows, run->random);
        run->sum_rows(v);
        for (int32_t n : run->order) run->step(n, W, v);
        *loss = 0;
        for (double x : run->losses) *loss += x;
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}

int svmcut_label_ssg(svmcut_label_blocks* run, double* z, double* zv, double* weighted,
                     double* weighted_v, double* loss) {
    try {
        shuffle(run->order.data(), run->X.n_rows, run->random);
        run->sum_rows(zv);
        const auto n = static_cast<double>(run->X.n_rows);
        for (int32_t i : run->order) {
            const auto k = static_cast<double>(run->visits);
            // the argmax of C n z / k plus the loss is that of z plus k / (C n) times the loss; z =
            // 0 before the first
            const double unit = run->visits ? k / (run->C * n) : 1.0;
            const double own = run->weight(i);
            *loss += own * run->separate(i, z, zv, unit);
            run->add_row(i, own, run->change.data(), z);
            run->add_row(i, k * own, run->change.data(), weighted);
            for (const PairShare& f : run->found) {
                run->move_pair(zv, f.k, f.l, own * f.alpha);
                weighted_v[f.k * run->K + f.l] += k * own * f.alpha;
                weighted_v[f.l * run->K + f.k] += k * own * f.alpha;
            }
            ++run->visits;
        }
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}

void svmcut_label_blocks_save(const svmcut_label_blocks* run, int64_t* integers, double* reals,
                              int64_t* counts) {
    Saver to(integers, reals);
    to.integer(static_cast<int64_t>(run->random.state));
    to.integer(run->visits);
    to.all_integers(run->order);
    to.all_reals(run->a);
    to.all_reals(run->losses);
    for (const auto& shares : run->shares) {
        to.integer(static_cast<int64_t>(shares.size()));
        for (const PairShare& f : shares) {
            to.integer(f.k);
            to.integer(f.l);
            to.real(f.alpha);
        }
    }
    to.count(counts);
}

int svmcut_label_blocks_load(svmcut_label_blocks* run, const int64_t* integers, const double* reals,
                             const int64_t* counts) {
    Loader from(integers, reals, counts);
    run->random.state = static_cast<uint64_t>(from.integer());
    run->visits = from.integer(0);
    const double most = run->C * largest_weight(run->weights, run->X.n_rows) * (1 + 1e-6);
    try {
        from.permutation(run->order);
        from.all_reals(run->a, -most, most);
        from.all_reals(run->losses);
        for (auto& shares : run->shares) {
            shares.clear();
            for (int64_t left = from.size(); left > 0 && from.ok(); --left) {
                const auto k = static_cast<int32_t>(from.integer(0, run->K - 1));
                const auto l = static_cast<int32_t>(from.integer(0, run->K - 1));
                from.require(k < l);
                shares.push_back({k, l, from.real()});
            }
        }
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return from.status();
}

}  // extern "C"
