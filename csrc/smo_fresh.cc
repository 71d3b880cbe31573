/* SPDX-License-Identifier: BSD-3-Clause
 *
 * v of SMO formed anew from float64 kernel values: what a certificate is made of, and where iterative refinement goes on.
 */
#include <cmath>
#include <new>

#include "smo.h"

int svmcut_smo::refresh(double b, int threads) {
    if (const int status = make_whole(threads)) return status;
    std::vector<int64_t> rows, at, places;
    std::vector<double> change;
    double size = 0;
    for (int64_t p = 0; p < n; ++p)
        if (beta[p] != 0) {
            rows.push_back(order[p]);
            change.push_back(-beta[p]);
            size += std::abs(beta[p]);
        }
    /* v errs by one bound, and may have been formed afresh at another beta; b, a mean of v, errs as much. */
    const double hidden = -4 * points.value_error() * size;
    for (int64_t p = 0; p < n; ++p)
        if (exact || beta[p] != 0 || !(y[p] * (v[p] - b) <= hidden)) {
            at.push_back(p);
            places.push_back(order[p]);
        }
    if (places.empty()) return SVMCUT_OK;
    svmcut::Points fresh;
    const auto count = static_cast<int64_t>(places.size());
    if (!fresh.build(X, kernel, places.data(), count, layout)) return SVMCUT_NO_MEMORY;
    std::vector<double> sums(places.size());
    for (size_t k = 0; k < at.size(); ++k) sums[k] = y[at[k]];
    const int status = svmcut::accumulate_double(fresh, *rows_code, X, rows.data(), static_cast<int64_t>(rows.size()),
                                                 change.data(), sums.data(), threads);
    if (status) return status;
    evaluations += count * static_cast<int64_t>(rows.size());
    for (size_t k = 0; k < at.size(); ++k) v[at[k]] = sums[k];
    dual = 0;
    for (int64_t p = 0; p < n; ++p) dual += 0.5 * beta[p] * (y[p] + v[p]);
    whole_v = v;
    select();
    return SVMCUT_OK;
}

extern "C" int svmcut_smo_refresh(svmcut_smo* smo, double b, int threads) {
    try {
        return smo->refresh(b, threads);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}
