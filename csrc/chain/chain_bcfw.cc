// SPDX-License-Identifier: BSD-3-Clause
//
// Block-coordinate ascent of the dual of a chain machine, one sequence at a time.
//
//     max over q of  sum_n C_n sum_j q_nj Delta_nj - 1/2 |w|^2,
//     w = sum_n C_n sum_j q_nj psi_nj,    q_n in the simplex
//
// A visit finds the sequence's most violated labelling and joins it to those it has met (psi =
// Psi(right) - Psi(labelling); the right one, psi = 0, is always among them), then moves q_n to the
// optimum over these by steps between two labellings. The first such step is that of
// block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt, Pletscher, ICML 2013, Algorithm 4)
// with the pairwise direction of Osokin et al. (ICML 2016); the others read no features: the
// labellings' values follow from their Gram matrix.

#include <cmath>
#include <new>

#include "chain/chain_bcfw.h"
#include "chain/chain_targets.h"

namespace {

template <int B>
SVMCUT_INLINE void visit_body(svmcut_bcfw& run, int64_t n) {
    const ChainLayout& at = run.at;
    const svmcut_chain* chain = run.chain;
    const int64_t begin = chain->sequences[n], T = chain->sequences[n + 1] - begin,
                  size = at.blocks * at.S;
    auto& room = run.room;
    if (static_cast<int64_t>(room.nodes.size()) < T * size) room.nodes.resize(T * size);
    if (static_cast<int64_t>(room.tags.size()) < T) room.tags.resize(T);
    const int32_t* gold = chain->tags + begin;
    for (int64_t i = 0; i < T; ++i) {
        Real* node = room.nodes.data() + i * size;
        svmcut::score_token<B>(at, chain->X, begin + i, run.w.data(), Real(1), i == 0, node);
        node[gold[i]] -= Real(1);
    }
    const Real* V = run.w.data() + at.emissions();
    Lattice<Real> lattice(at, room.nodes.data(), V, 0);
    lattice.read_ends(T, room, run.few);
    svmcut::viterbi<B>(lattice, T, room, room.tags.data());

    Block& block = run.blocks[n];
    auto value_of = [&](const Labelling& y) {
        double sum = 0;
        for (const Entry& e : y.emissions) sum -= e.sign * room.nodes[e.token * size + e.column];
        for (const Entry& e : y.transitions) sum -= e.sign * V[e.column];
        return sum;
    };
    double mean = 0, most = 0;
    int64_t found = -1;
    for (size_t j = 0; j < block.labellings.size(); ++j) {
        Labelling& y = block.labellings[j];
        y.value = value_of(y);
        mean += y.weight * y.value;
        most = std::max(most, y.value);
        if (std::equal(y.tags.begin(), y.tags.end(), room.tags.begin()))
            found = static_cast<int64_t>(j);
    }
    if (found < 0 && !std::equal(gold, gold + T, room.tags.begin())) {
        Labelling y = run.labelling(begin, T, room.tags.data());
        y.value = value_of(y);
        if (y.value > most) {
            most = y.value;
            run.join(begin, block, std::move(y));
        }
    }
    block.gap = run.settle(n, most, mean);
    run.gaps += block.gap;
    run.counted += 1;
    if (block.gap > 0) run.drop_idle(block);
}

void visit_portable(svmcut_bcfw& run, int64_t n) { visit_body<16>(run, n); }
#if defined(SVMCUT_FOR_TARGETS)
SVMCUT_AVX2 void visit_avx2(svmcut_bcfw& run, int64_t n) { visit_body<32>(run, n); }
SVMCUT_AVX512 void visit_avx512(svmcut_bcfw& run, int64_t n) { visit_body<64>(run, n); }
#endif

}  // namespace

extern "C" {

svmcut_bcfw* svmcut_bcfw_new(const svmcut_chain* chain, double C, const double* v, uint64_t seed) {
    try {
        return new svmcut_bcfw(chain, C, v, seed);
    } catch (...) {
        return nullptr;
    }
}

void svmcut_bcfw_delete(svmcut_bcfw* run) { delete run; }

int svmcut_bcfw_visit(svmcut_bcfw* run, int64_t count, svmcut_bcfw_state* state,
                      const volatile int* cancel) {
    const int64_t n = run->chain->n_sequences;
    const auto visit = SVMCUT_PICK(visit);
    int status = SVMCUT_OK;
    try {
        read_sparse(run->at, run->w.data() + run->at.emissions(), run->few);
        for (int64_t done = 0; done < count;) {
            if (cancel && *cancel) {
                status = SVMCUT_CANCELLED;
                break;
            }
            if (run->place == 0) {
                for (int64_t i = n - 1; i > 0; --i)
                    std::swap(run->order[i], run->order[run->random.next() % (i + 1)]);
                run->mean_gap = run->counted > 0 ? run->gaps / static_cast<double>(n) : 0;
                run->gaps = run->counted = 0;
                ++run->pass;
            }
            const int64_t i = run->order[run->place];
            Block& block = run->blocks[i];
            if (block.due <= run->pass) {
                visit(*run, i);
                ++run->visits;
                ++done;
                const bool quiet = block.gap < svmcut::kSmallGap * run->mean_gap;
                block.rest =
                    quiet ? std::min<int32_t>(2 * block.rest + 1, svmcut::kLongestRest) : 0;
                block.due = static_cast<int32_t>(run->pass) + 1 + block.rest;
            } else {
                run->gaps += block.gap;
            }
            run->place = (run->place + 1) % n;
            if (run->place == 0 && done == 0) continue;
        }
    } catch (...) {
        status = SVMCUT_NO_MEMORY;
    }
    *state = run->state();
    return status;
}

int svmcut_bcfw_weights(svmcut_bcfw* run, int afresh, double* w) {
    const int64_t dim = run->at.dim();
    if (!afresh) {
        std::copy(run->w.begin(), run->w.end(), w);
        return SVMCUT_OK;
    }
    std::fill(w, w + dim, 0.0);
    for (int64_t n = 0; n < run->chain->n_sequences; ++n)
        for (const Labelling& y : run->blocks[n].labellings)
            if (y.weight > 0) run->add(run->chain->sequences[n], y, run->most(n) * y.weight, w);
    for (int64_t k = 0; k < dim; ++k) run->w[k] = static_cast<Real>(w[k]);
    return SVMCUT_OK;
}

}  // extern "C"
