// SPDX-License-Identifier: BSD-3-Clause
//
// Pairs of coordinates of the one-class machine on features:
//
//   dual     min 1/2 |w|^2,   w = sum_i alpha_i x_i,   0 <= alpha_i <= C_i,   sum alpha given
//   pairs    in the order of their scores f = w.x: of those that may grow the lowest with, of those
//            that may shrink, the highest, and so on inwards
//   step     alpha_i += t, alpha_j -= t,   t = (f_j - f_i) / |x_i - x_j|^2 within the boxes, scores
//            formed anew
#include <algorithm>
#include <vector>

#include "include/linear.h"
#include "linear/sparse_row.h"

namespace {

constexpr double kFlat = 1e-12;  // a curvature below this is none

struct Pairs {
    const svmcut_csr* X;
    const double *norms, *top;
    double *alpha, *w;

    int64_t length(int64_t i) const { return X->indptr[i + 1] - X->indptr[i]; }

    double score(int64_t i) const {
        const int64_t at = X->indptr[i];
        return svmcut::row_dot(X->data + at, X->indices + at, length(i), w);
    }

    void add(int64_t i, double c) {
        const int64_t at = X->indptr[i];
        svmcut::row_add(X->data + at, X->indices + at, length(i), c, w);
    }

    // x_i.x_j; the columns of a row increase
    double product(int64_t i, int64_t j) const {
        double sum = 0;
        int64_t a = X->indptr[i], b = X->indptr[j];
        const int64_t a_end = X->indptr[i + 1], b_end = X->indptr[j + 1];
        while (a < a_end && b < b_end) {
            const int32_t p = X->indices[a], q = X->indices[b];
            if (p == q) sum += static_cast<double>(X->data[a]) * X->data[b];
            a += p <= q;
            b += q <= p;
        }
        return sum;
    }

    bool step(int64_t i, int64_t j) {
        const double room = std::min(top[i] - alpha[i], alpha[j]);
        const double slope = score(j) - score(i);
        if (!(slope > 0) || !(room > 0)) return false;
        const double bend = std::max(norms[i] + norms[j] - 2 * product(i, j), kFlat);
        const double t = std::min(slope / bend, room);
        alpha[i] = t == top[i] - alpha[i] ? top[i] : alpha[i] + t;
        alpha[j] = t == alpha[j] ? 0.0 : alpha[j] - t;
        add(i, t);
        add(j, -t);
        return true;
    }
};

}  // namespace

extern "C" int64_t svmcut_one_class_pairs(const svmcut_csr* X, const double* norms,
                                          const double* top, const int32_t* rows,
                                          const double* scores, int64_t count, double* alpha,
                                          double* w) {
    Pairs pairs{X, norms, top, alpha, w};
    std::vector<std::pair<double, int32_t>> order(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k)
        order[static_cast<size_t>(k)] = {scores ? scores[k] : pairs.score(rows[k]), rows[k]};
    std::sort(order.begin(), order.end());
    int64_t done = 0;
    size_t low = 0, high = order.size();
    while (low < high) {
        const int32_t i = order[low].second, j = order[high - 1].second;
        if (!(alpha[i] < top[i])) ++low;
        else if (!(alpha[j] > 0)) --high;
        else {
            if (!(order[low].first < order[high - 1].first)) break;
            done += pairs.step(i, j);
            ++low;
            --high;
        }
    }
    return done;
}
