// SPDX-License-Identifier: BSD-3-Clause
//
// Training anew in the memory of a run: kernel rows stay where they are, so that many problems
// which differ in their weights alone evaluate each of them once.
#include <algorithm>
#include <cstdint>
#include <new>

#include "kernels/smo.h"

extern "C" int svmcut_smo_again(svmcut_smo* smo, const double* weights, int threads) {
    try {
        if (smo->active < smo->n) {
            if (const int status = smo->make_whole(threads)) return status;
        }
        const auto n = static_cast<size_t>(smo->n);
        smo->weight.resize(n);
        for (size_t p = 0; p < n; ++p) {
            smo->weight[p] = weights[smo->order[p]];
            smo->beta[p] = 0;
            smo->v[p] = smo->y[p];
        }
        for (int64_t p = 0; p < smo->n; ++p) smo->mark(p);
        smo->whole_v = smo->v;
        smo->whole_beta = smo->beta;
        smo->dual = 0;
        smo->unshrunk = false;
        smo->until_shrinking = INT64_MAX;
        smo->select();
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}
