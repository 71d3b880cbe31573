// SPDX-License-Identifier: BSD-3-Clause
//
// Scores, the relaxed argmax and decoding of label sets with pair weights.
//
// A row is scored for all labels at once: a feature touches K neighbouring weights. Most labels of
// a row are settled by bounds (theta plus all pair weights that could help), so that the pair part
// costs O(K) and a little graph.

#include "include/labels.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "core/parallel.h"
#include "labels/label_row.h"
#include "labels/roof_dual.h"

using namespace svmcut;

namespace {

// labels of a thread of its own, where they are added up
constexpr int64_t kLabelsApart = 16;

constexpr int64_t kRowsPerPiece = 64;

struct Sums {
    std::vector<double> rise, fall;

    explicit Sums(const svmcut_label_weights& model) {
        if (!model.v) return;
        rise.assign(static_cast<size_t>(model.K), 0);
        fall.assign(static_cast<size_t>(model.K), 0);
        for (int64_t k = 0; k < model.K; ++k)
            for (int64_t l = 0; l < model.K; ++l) {
                const double x = model.v[k * model.K + l];
                (x > 0 ? rise : fall)[static_cast<size_t>(k)] += x;
            }
    }
};

// Runs work(piece, scratch of K doubles, roof dual) over pieces of rows; NO_MEMORY when anything
// throws.
template <class Work>
int over_rows(int64_t n, int64_t K, int threads, Work&& work) {
    std::atomic<bool> failed{false};
    for_pieces((n + kRowsPerPiece - 1) / kRowsPerPiece, threads, [&](int64_t piece) {
        try {
            std::vector<double> row(static_cast<size_t>(K));
            RoofDual roof;
            const int64_t stop = std::min(n, (piece + 1) * kRowsPerPiece);
            for (int64_t i = piece * kRowsPerPiece; i < stop; ++i) work(i, row.data(), roof);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
    });
    return failed ? SVMCUT_NO_MEMORY : SVMCUT_OK;
}

// 2 q of a pair of weight x whose labels are at p / 2 and r / 2.
inline int together(double x, int p, int r) {
    return x > 0 ? std::min(p, r) : std::max(0, p + r - 2);
}

// The best score of the pairs given 2 p, over the labels with p > 0.
double pair_part(int64_t K, const double* v, const int32_t* on, size_t count,
                 const int8_t* doubled) {
    double sum = 0;
    for (size_t a = 0; a < count; ++a)
        for (size_t b = a + 1; b < count; ++b) {
            const double x = v[on[a] * K + on[b]];
            sum += 0.5 * x * together(x, doubled[on[a]], doubled[on[b]]);
        }
    return sum;
}

// The sums of a model's pair weights; null without memory.
std::unique_ptr<Sums> sums_of(const svmcut_label_weights& model) {
    try {
        return std::make_unique<Sums>(model);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

template <class Scores>
int relax(int64_t n, const svmcut_label_weights* model, const svmcut_label_sets* gold, double loss,
          int8_t* doubled, double* hinge, int threads, Scores&& scores) {
    const int64_t K = model->K;
    const std::unique_ptr<Sums> sums = sums_of(*model);
    if (!sums) return SVMCUT_NO_MEMORY;
    return over_rows(n, 2 * K, threads, [&](int64_t i, double* row, RoofDual& roof) {
        double* theta = row + K;
        int8_t* p = doubled + i * K;
        scores(i, row);
        if (gold) augment(*gold, i, K, loss, row);
        std::copy_n(row, K, theta);
        roof.solve(K, theta, model->v, sums->rise.data(), sums->fall.data(), p);
        if (!hinge) return;
        std::vector<int32_t> on;
        double value = 0;
        for (int64_t k = 0; k < K; ++k)
            if (p[k]) {
                value += 0.5 * p[k] * row[k];
                on.push_back(static_cast<int32_t>(k));
            }
        if (model->v) value += pair_part(K, model->v, on.data(), on.size(), p);
        if (gold) {
            const int32_t* labels = gold->labels + gold->indptr[i];
            const auto count = static_cast<size_t>(gold->indptr[i + 1] - gold->indptr[i]);
            for (size_t a = 0; a < count; ++a) {
                value -= row[labels[a]];  // theta of a gold label is its score - loss
                for (size_t b = a + 1; model->v && b < count; ++b)
                    value -= model->v[labels[a] * K + labels[b]];
            }
        }
        hinge[i] = std::max(0.0, value);
    });
}

// Flips single labels and pairs while the score grows. gain[k]: what label k adds to the others
// that are on.
void climb(int64_t K, const double* v, double* gain, int8_t* y) {
    auto flip = [&](int64_t k) {
        const double sign = y[k] ? -1 : 1;
        y[k] = !y[k];
        if (v)
            for (int64_t l = 0; l < K; ++l) gain[l] += sign * v[k * K + l];
    };
    for (int64_t round = 0; round < 4 * K + 16; ++round) {
        int64_t best = -1, other = -1;
        double most = 1e-12;
        for (int64_t k = 0; k < K; ++k) {
            const double change = y[k] ? -gain[k] : gain[k];
            if (change > most) most = change, best = k;
        }
        if (best < 0 && v) {
            for (int64_t k = 0; k < K; ++k)
                for (int64_t l = k + 1; l < K; ++l) {
                    const double x = v[k * K + l];
                    if (x == 0) continue;
                    const double change = (y[k] ? -gain[k] : gain[k]) +
                                          (y[l] ? -gain[l] : gain[l]) + (y[k] == y[l] ? x : -x);
                    if (change > most) most = change, best = k, other = l;
                }
        }
        if (best < 0) return;
        flip(best);
        if (other >= 0) flip(other);
    }
}

}  // namespace

extern "C" {

int svmcut_label_scores(const svmcut_csr* X, const svmcut_label_weights* model, double* s,
                        int threads) {
    return over_rows(X->n_rows, 0, threads, [&](int64_t i, double*, RoofDual&) {
        label_scores(*X, i, *model, s + i * model->K);
    });
}

int svmcut_label_relax(const svmcut_csr* X, const svmcut_label_weights* model,
                       const svmcut_label_sets* gold, double loss, int8_t* doubled, double* hinge,
                       int threads) {
    return relax(X->n_rows, model, gold, loss, doubled, hinge, threads,
                 [&](int64_t i, double* row) { label_scores(*X, i, *model, row); });
}

int svmcut_label_relax_scores(int64_t n, const double* s, const svmcut_label_weights* model,
                              const svmcut_label_sets* gold, double loss, int8_t* doubled,
                              double* hinge, int threads) {
    return relax(n, model, gold, loss, doubled, hinge, threads,
                 [&](int64_t i, double* row) { std::copy_n(s + i * model->K, model->K, row); });
}

int svmcut_label_together(int64_t n, int64_t K, const double* v, const int8_t* doubled,
                          const svmcut_label_sets* gold, const double* weights, double* out) {
    std::fill_n(out, K * K, 0.0);
    try {
        std::vector<int32_t> on;
        for (int64_t i = 0; i < n; ++i) {
            const int8_t* p = doubled + i * K;
            const double weight = weights ? weights[i] : 1.0;
            on.clear();
            for (int64_t k = 0; k < K; ++k)
                if (p[k]) on.push_back(static_cast<int32_t>(k));
            for (size_t a = 0; a < on.size(); ++a)
                for (size_t b = a + 1; b < on.size(); ++b) {
                    const int64_t place = on[a] * K + on[b];
                    out[place] += weight * (0.5 * together(v[place], p[on[a]], p[on[b]]));
                }
            for (int64_t a = gold->indptr[i]; a < gold->indptr[i + 1]; ++a)
                for (int64_t b = a + 1; b < gold->indptr[i + 1]; ++b)
                    out[gold->labels[a] * K + gold->labels[b]] -= weight;
        }
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}

void svmcut_label_adjoint(const svmcut_csr* X, const int64_t* rows, int64_t count,
                          const double* coef, int64_t K, double bias, double* W, int threads) {
    // a thread has some labels of every feature: each sum is in the order of the rows
    const int64_t pieces = std::max<int64_t>(1, std::min<int64_t>(threads, K / kLabelsApart));
    for_pieces(pieces, threads, [&](int64_t p) {
        const int64_t first = K * p / pieces, some = K * (p + 1) / pieces - first;
        for (int64_t r = 0; r < count; ++r) {
            const int64_t i = rows[r];
            const double* own = coef + r * K + first;
            for (int64_t e = X->indptr[i]; e < X->indptr[i + 1]; ++e)
                add_scaled(some, X->data[e], own, W + X->indices[e] * K + first);
            if (bias != 0) add_scaled(some, bias, own, W + X->n_features * K + first);
        }
    });
}

int svmcut_label_decode(int64_t n, const double* s, const svmcut_label_weights* model, int method,
                        int8_t* y, int32_t* halves, int threads) {
    const int64_t K = model->K;
    const std::unique_ptr<Sums> sums = sums_of(*model);
    if (!sums) return SVMCUT_NO_MEMORY;
    return over_rows(n, K, threads, [&](int64_t i, double* row, RoofDual& roof) {
        int8_t* out = y + i * K;
        std::copy_n(s + i * K, K, row);
        halves[i] = 0;
        if (method == SVMCUT_DECODE_LP) {
            roof.solve(K, row, model->v, sums->rise.data(), sums->fall.data(), out);
            for (int64_t k = 0; k < K; ++k) {
                halves[i] += out[k] == 1;
                out[k] = out[k] == 2;
            }
            if (!halves[i]) return;
            std::copy_n(s + i * K, K, row);
        } else {
            for (int64_t k = 0; k < K; ++k) out[k] = method == SVMCUT_DECODE_ICM && row[k] > 0;
        }
        if (model->v)
            for (int64_t k = 0; k < K; ++k)
                for (int64_t l = 0; out[k] && l < K; ++l) row[l] += model->v[k * K + l];
        if (method != SVMCUT_DECODE_GREEDY) return climb(K, model->v, row, out);
        for (;;) {
            int64_t best = -1;
            for (int64_t k = 0; k < K; ++k)
                if (!out[k] && row[k] > 0 && (best < 0 || row[k] > row[best])) best = k;
            if (best < 0) return;
            out[best] = 1;
            for (int64_t l = 0; model->v && l < K; ++l) row[l] += model->v[best * K + l];
        }
    });
}

}  // extern "C"
