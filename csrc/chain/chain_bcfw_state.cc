// SPDX-License-Identifier: BSD-3-Clause
//
// The state of block-coordinate ascent on chains, for runs that stop and go on. A labelling is kept
// as the tags that are wrong; the Gram matrices follow from the labellings.

#include "chain/chain_bcfw.h"
#include "core/saved.h"

namespace {

constexpr double kLargestShare = 1 + 1e-6;  // of a labelling: 1, and what rounding adds
constexpr double kLargestWeight = 1e37;     // a float32 with room to grow

}  // namespace

extern "C" {

void svmcut_bcfw_save(const svmcut_bcfw* run, int64_t* integers, double* reals, int64_t* counts) {
    svmcut::Saver to(integers, reals);
    for (const int64_t x :
         {static_cast<int64_t>(run->random.state), run->place, run->visits, run->pass})
        to.integer(x);
    for (const double x : {run->gaps, run->counted, run->mean_gap}) to.real(x);
    to.all_integers(run->order);
    to.all_reals(run->w);
    for (int64_t n = 0; n < run->chain->n_sequences; ++n) {
        const Block& block = run->blocks[n];
        const int32_t* gold = run->chain->tags + run->chain->sequences[n];
        to.real(block.gap);
        for (const int64_t x : {block.rest, block.due}) to.integer(x);
        to.integer(static_cast<int64_t>(block.labellings.size()));
        for (const Labelling& y : block.labellings) {  // as the tags that are wrong
            to.real(y.weight);
            to.integer(y.idle);
            to.integer(static_cast<int64_t>(y.loss));
            for (size_t i = 0; i < y.tags.size(); ++i)
                if (y.tags[i] != gold[i])
                    to.integer(static_cast<int64_t>(i)), to.integer(y.tags[i]);
        }
    }
    to.count(counts);
}

int svmcut_bcfw_load(svmcut_bcfw* run, const int64_t* integers, const double* reals,
                     const int64_t* counts) {
    svmcut::Loader from(integers, reals, counts);
    const int64_t N = run->chain->n_sequences;
    run->random.state = static_cast<uint64_t>(from.integer());
    run->place = from.integer(0, N - 1);
    run->visits = from.integer(0);
    run->pass = from.integer(0, INT32_MAX / 2);
    for (double* x : {&run->gaps, &run->counted, &run->mean_gap}) *x = from.real_or_infinity(0);
    try {
        from.permutation(run->order);
        from.all_reals(run->w, -kLargestWeight, kLargestWeight);
        for (int64_t n = 0; n < N && from.ok(); ++n) {
            Block& block = run->blocks[n] = Block();
            const int64_t begin = run->chain->sequences[n],
                          T = run->chain->sequences[n + 1] - begin;
            block.gap = from.real_or_infinity(0);
            block.rest = static_cast<int32_t>(from.integer(0, svmcut::kLongestRest));
            block.due = static_cast<int32_t>(from.integer(0, run->pass + 1 + svmcut::kLongestRest));
            for (int64_t left = from.size(); left > 0 && from.ok(); --left) {
                std::vector<int32_t> tags(run->chain->tags + begin, run->chain->tags + begin + T);
                const double weight = from.real(0, kLargestShare);
                const int64_t idle = from.integer(0, svmcut::kIdle);
                for (int64_t wrong = from.size(); wrong > 0 && from.ok(); --wrong) {
                    const int64_t i = from.integer(0, T - 1);
                    tags[i] = static_cast<int32_t>(from.integer(0, run->chain->K - 1));
                }
                Labelling y = run->labelling(begin, T, tags.data());
                y.weight = weight;
                y.idle = idle;
                // in the order they came: the Gram matrix is the same to the bit
                run->join(begin, block, std::move(y));
            }
        }
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    return from.status();
}

}  // extern "C"
