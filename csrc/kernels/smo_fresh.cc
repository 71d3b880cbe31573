// SPDX-License-Identifier: BSD-3-Clause
//
// v of SMO formed anew from float64 kernel values: what a certificate is made of, and where
// iterative refinement goes on.
#include <cmath>
#include <new>

#include "core/add_scaled.h"
#include "kernels/smo.h"

// sum + sum_r coef_r K(rows_r, .) at the point of position p, from shared values.
template <class Row>
double svmcut_smo::shared_sum(int64_t p, const std::vector<int64_t>& rows,
                              const std::vector<double>& coef, double sum) const {
    const Row* const values =
        static_cast<const Row*>(shared.values) + shared.place[order[p]] * shared.width;
    for (size_t r = 0; r < rows.size(); ++r) sum += coef[r] * values[shared.place[rows[r]]];
    return sum;
}

// sums[p] += sum_r coef_r K(rows_r, .) over all positions, by the float64 rows that steps have left.
int svmcut_smo::known_sums(const std::vector<double>& coef, double* sums) {
    std::vector<double> own(static_cast<size_t>(svmcut::padded_row(n)));
    size_t k = 0;
    for (int64_t p = 0; p < n; ++p) {
        if (beta[p] == 0) continue;
        const double* values = exact_cache.known(p);
        if (!values) {
            svmcut::Queries query;
            if (!query.build(points, X, &order[p], 1)) return SVMCUT_NO_MEMORY;
            rows_code->evaluate_double(points, query.query.get(), 1, 0, points.tiles, own.data(),
                                       n);
            evaluations += n;
            values = own.data();
        }
        svmcut::add_scaled(n, coef[k++], values, sums);
    }
    return SVMCUT_OK;
}

// v anew at the positions `at`, which where `sample` > 0 are so many of those that matter; `matter`
// counts all of these.
int svmcut_smo::fresh_values(double b, double rho, int64_t sample, int threads,
                             std::vector<int64_t>* at, std::vector<double>* sums, int64_t* matter) {
    std::vector<int64_t> rows, places;
    std::vector<double> change;
    double size = 0;
    for (int64_t p = 0; p < n; ++p)
        if (beta[p] != 0) {
            rows.push_back(order[p]);
            change.push_back(-beta[p]);
            size += std::abs(beta[p]);
        }
    // v errs by one bound, and may have been formed afresh at another beta; b, a mean of v, errs as
    // much.
    const double hidden = shared.given ? 0.0 : -4 * points.value_error() * size;
    for (int64_t p = 0; p < n; ++p)
        if (exact || beta[p] != 0 || !(excess(p, b, rho) <= hidden)) at->push_back(p);
    *matter = static_cast<int64_t>(at->size());
    if (sample > 0 && *matter > sample) {
        for (int64_t k = 0; k < sample; ++k) (*at)[k] = (*at)[k * *matter / sample];
        at->resize(static_cast<size_t>(sample));
    }
    for (int64_t p : *at) {
        places.push_back(order[p]);
        sums->push_back(origin(p));
    }
    if (at->empty()) return SVMCUT_OK;
    if (shared.given) {
        for (size_t k = 0; k < at->size(); ++k)
            (*sums)[k] += exact ? shared_sum<double>((*at)[k], rows, change, 0)
                                : shared_sum<float>((*at)[k], rows, change, 0);
        return SVMCUT_OK;
    }
    if (shared.values && exact) {  // float64 too, and known
        for (size_t k = 0; k < at->size(); ++k)
            (*sums)[k] = shared_sum<double>((*at)[k], rows, change, (*sums)[k]);
        return SVMCUT_OK;
    }
    if (exact && !shared.values && active == n && static_cast<int64_t>(at->size()) == n)
        return known_sums(change, sums->data());
    svmcut::Points fresh;
    if (!fresh.build(X, kernel, places.data(), static_cast<int64_t>(places.size()), layout))
        return SVMCUT_NO_MEMORY;
    evaluations += static_cast<int64_t>(places.size() * rows.size());
    return svmcut::accumulate_double(fresh, *rows_code, X, rows.data(),
                                     static_cast<int64_t>(rows.size()), change.data(), sums->data(),
                                     threads);
}

int svmcut_smo::refresh(double b, double rho, int threads) {
    if (const int status = make_whole(threads)) return status;
    std::vector<int64_t> at;
    std::vector<double> sums;
    int64_t matter = 0;
    if (const int status = fresh_values(b, rho, 0, threads, &at, &sums, &matter)) return status;
    for (size_t k = 0; k < at.size(); ++k) v[at[k]] = sums[k];
    dual = dual_value();
    whole_v = v;
    select();
    return SVMCUT_OK;
}

extern "C" int svmcut_smo_refresh(svmcut_smo* smo, double b, double rho, int threads) {
    try {
        return smo->refresh(b, rho, threads);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

extern "C" int svmcut_smo_probe(svmcut_smo* smo, double b, double rho, int64_t sample, int threads,
                                double* largest, double* total) {
    try {
        std::vector<int64_t> at;
        std::vector<double> sums;
        int64_t matter = 0;
        if (const int status = smo->fresh_values(b, rho, sample, threads, &at, &sums, &matter))
            return status;
        *largest = *total = 0;
        for (size_t k = 0; k < at.size(); ++k) {
            const double error = std::abs(sums[k] - smo->v[at[k]]);
            *largest = error > *largest ? error : *largest;
            *total += smo->weight.empty() ? error : smo->weight[static_cast<size_t>(at[k])] * error;
        }
        if (!at.empty()) *total *= static_cast<double>(matter) / static_cast<double>(at.size());
        return SVMCUT_OK;
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}
