// SPDX-License-Identifier: BSD-3-Clause
//
// The state of gdmm_labels.cc as two arrays, for runs that stop and go on.
#include <algorithm>
#include <new>

#include "core/saved.h"
#include "labels/label_factors.h"

using namespace svmcut;

extern "C" {

void svmcut_gdmm_labels_save(const svmcut_gdmm_labels* state, int64_t* integers, double* reals,
                             int64_t* counts) {
    Saver to(integers, reals);
    to.integer(static_cast<int64_t>(state->random.state));
    to.all_integers(state->order);
    to.all_reals(state->a);
    for (const auto& pairs : state->pairs) {
        to.integer(static_cast<int64_t>(pairs.size()));
        for (const LabelPair& f : pairs) {
            for (const int32_t x : {f.k, f.l, f.gold}) to.integer(x);
            to.all_reals(f.alpha);
            to.all_reals(f.lambda);
        }
    }
    to.count(counts);
}

int svmcut_gdmm_labels_load(svmcut_gdmm_labels* state, const int64_t* integers, const double* reals,
                            const int64_t* counts) {
    Loader from(integers, reals, counts);
    state->random.state = static_cast<uint64_t>(from.integer());
    const double most = state->unit * largest_weight(state->weights, state->X.n_rows) * (1 + 1e-6);
    try {
        from.permutation(state->order);
        from.all_reals(state->a, -most, most);
        for (auto& pairs : state->pairs) {
            pairs.clear();
            for (int64_t left = from.size(); left > 0 && from.ok(); --left) {
                LabelPair f{};
                for (int32_t* x : {&f.k, &f.l})
                    *x = static_cast<int32_t>(from.integer(0, state->K - 1));
                f.gold = static_cast<int32_t>(from.integer(0, 3));
                from.require(f.k < f.l);
                from.all_reals(f.alpha, -most, most);
                from.all_reals(f.lambda);
                pairs.push_back(f);
            }
        }
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return from.status();
}

}  // extern "C"
