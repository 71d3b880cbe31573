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
//
// Sequences are visited in fixed groups (Wang, Sadhanala, Dai, Neiswanger, Sra and Xing, ICML 2016):
// the threads find the most violated labellings of a group's sequences at one w, which the steps on
// the earlier ones of the group have moved since when a later one has its own. Steps are those of
// the w of their moment: a labelling that is no longer the most violated one costs gain, never truth.

#include <cmath>
#include <new>

#include "chain/chain_bcfw.h"
#include "chain/chain_targets.h"
#include "core/crew.h"
#include "core/parallel.h"

namespace {

// a group is no larger part of all sequences than this: few visits see a w that is far from old
constexpr int64_t kGroupShare = 64;
constexpr int64_t kTagsAPiece = 8;  // a cache line of w in double

int64_t group_size(int64_t n_sequences) {
    return std::min<int64_t>(svmcut::kGroup, std::max<int64_t>(1, n_sequences / kGroupShare));
}

// Node scores of a sequence, with the losses, and its most violated labelling.
template <int B>
SVMCUT_INLINE void decode_body(const svmcut_bcfw& run, int64_t n, svmcut::ChainRoom<Real>& room) {
    const ChainLayout& at = run.at;
    const svmcut_chain* chain = run.chain;
    const int64_t begin = chain->sequences[n], T = chain->sequences[n + 1] - begin,
                  size = at.blocks * at.S;
    const int32_t* gold = chain->tags + begin;
    for (int64_t i = 0; i < T; ++i) {
        Real* node = room.nodes.data() + i * size;
        svmcut::score_token<B>(at, chain->X, begin + i, run.w.data(), Real(1), i == 0, node);
        node[gold[i]] -= Real(1);
    }
    Lattice<Real> lattice(at, room.nodes.data(), run.w.data() + at.emissions(), 0);
    lattice.read_ends(T, room, run.few);
    svmcut::viterbi<B>(lattice, T, room, room.tags.data());
}

void decode_portable(const svmcut_bcfw& run, int64_t n, svmcut::ChainRoom<Real>& room) {
    decode_body<16>(run, n, room);
}
#if defined(SVMCUT_FOR_TARGETS)
SVMCUT_AVX2 void decode_avx2(const svmcut_bcfw& run, int64_t n, svmcut::ChainRoom<Real>& room) {
    decode_body<32>(run, n, room);
}
SVMCUT_AVX512 void decode_avx512(const svmcut_bcfw& run, int64_t n, svmcut::ChainRoom<Real>& room) {
    decode_body<64>(run, n, room);
}
#endif

// The node score of an entry at w, added up as decoding does, so that an untouched w has its bytes.
Real node_score(const svmcut_bcfw& run, int64_t begin, const Entry& e) {
    const ChainLayout& at = run.at;
    const svmcut_csr& X = run.chain->X;
    const int64_t i = begin + e.token, row = at.blocks * at.S;
    Real sum = e.column < at.S ? Real(1) : Real(0);
    for (int64_t k = X.indptr[i]; k < X.indptr[i + 1] && X.indices[k] < at.D; ++k)
        sum += X.data[k] * run.w[X.indices[k] * row + e.column];
    return e.column == run.chain->tags[i] ? sum - Real(1) : sum;
}

// The step of a sequence on w as it is now, with the labelling that decoding has found; moved: w is
// another one since.
void step(svmcut_bcfw& run, int64_t n, svmcut::ChainRoom<Real>& room, bool moved) {
    const ChainLayout& at = run.at;
    const svmcut_chain* chain = run.chain;
    const int64_t begin = chain->sequences[n], T = chain->sequences[n + 1] - begin,
                  size = at.blocks * at.S;
    const int32_t* gold = chain->tags + begin;
    const Real* V = run.w.data() + at.emissions();
    if (moved) {
        if (static_cast<int64_t>(run.fresh.size()) < T * size) run.fresh.resize(T * size);
        ++run.stamp;
    }
    auto node = [&](const Entry& e) {
        const int64_t place = e.token * size + e.column;
        if (moved && run.fresh[place] != run.stamp) {
            run.fresh[place] = run.stamp;
            room.nodes[place] = node_score(run, begin, e);
        }
        return room.nodes[place];
    };
    auto value_of = [&](const Labelling& y) {
        double sum = 0;
        for (const Entry& e : y.emissions) sum -= e.sign * node(e);
        for (const Entry& e : y.transitions) sum -= e.sign * V[e.column];
        return sum;
    };
    Block& block = run.blocks[n];
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

// Makes room for the decoding of a sequence, which must not throw.
void reserve(const svmcut_bcfw& run, int64_t n, svmcut::ChainRoom<Real>& room) {
    const ChainLayout& at = run.at;
    const int64_t T = run.chain->sequences[n + 1] - run.chain->sequences[n];
    const auto grow = [](auto& numbers, int64_t count) {
        if (static_cast<int64_t>(numbers.size()) < count) numbers.resize(count);
    };
    const Lattice<Real> lattice(at, nullptr, run.w.data() + at.emissions(), 0);
    grow(room.nodes, T * at.blocks * at.S);
    grow(room.tags, T);
    grow(room.states, lattice.total(T));
    grow(room.alive, at.K);
    room.ends.reserve(2 * at.K);
    room.tops.reserve(at.K);
    room.sorted.reserve(at.S);
}

// The next sequences that are due, as many as a group and `most` allow, of one pass.
void gather(svmcut_bcfw& run, int64_t most) {
    const int64_t n = run.chain->n_sequences;
    run.group.clear();
    do {
        if (run.place == 0) {
            for (int64_t i = n - 1; i > 0; --i)
                std::swap(run.order[i], run.order[run.random.next() % (i + 1)]);
            run.mean_gap = run.counted > 0 ? run.gaps / static_cast<double>(n) : 0;
            run.gaps = run.counted = 0;
            ++run.pass;
        }
        const int64_t i = run.order[run.place];
        if (run.blocks[i].due <= run.pass) run.group.push_back(static_cast<int32_t>(i));
        else run.gaps += run.blocks[i].gap;
        run.place = (run.place + 1) % n;
    } while (run.place != 0 && static_cast<int64_t>(run.group.size()) < most);
}

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

int svmcut_bcfw_visit(svmcut_bcfw* run, int64_t count, svmcut_bcfw_state* state, int threads,
                      const volatile int* cancel) {
    const auto decode = SVMCUT_PICK(decode);
    const int64_t size = group_size(run->chain->n_sequences);
    int status = SVMCUT_OK;
    try {
        read_sparse(run->at, run->w.data() + run->at.emissions(), run->few);
        svmcut::Crew crew(static_cast<int>(std::min<int64_t>(threads, size)));
        for (int64_t done = 0; done < count;) {
            if (cancel && *cancel) {
                status = SVMCUT_CANCELLED;
                break;
            }
            gather(*run, std::min(size, count - done));
            const int64_t visits = static_cast<int64_t>(run->group.size());
            for (int64_t k = 0; k < visits; ++k) reserve(*run, run->group[k], run->rooms[k]);
            crew.run(visits, [&](int64_t k) { decode(*run, run->group[k], run->rooms[k]); });
            for (int64_t k = 0; k < visits; ++k) {
                const int64_t i = run->group[k];
                step(*run, i, run->rooms[k], k > 0);
                Block& block = run->blocks[i];
                const bool quiet = block.gap < svmcut::kSmallGap * run->mean_gap;
                block.rest =
                    quiet ? std::min<int32_t>(2 * block.rest + 1, svmcut::kLongestRest) : 0;
                block.due = static_cast<int32_t>(run->pass) + 1 + block.rest;
            }
            run->visits += visits;
            done += visits;
        }
    } catch (...) {
        status = SVMCUT_NO_MEMORY;
    }
    *state = run->state();
    return status;
}

int svmcut_bcfw_weights(svmcut_bcfw* run, int afresh, double* w, int threads) {
    const int64_t dim = run->at.dim(), S = run->at.S;
    if (!afresh) {
        std::copy(run->w.begin(), run->w.end(), w);
        return SVMCUT_OK;
    }
    std::fill(w, w + dim, 0.0);
    // every piece has tags of its own, and adds to them in the order of the sequences
    const int64_t pieces = std::max<int64_t>(1, S / kTagsAPiece);
    svmcut::for_pieces(pieces, threads, [&](int64_t piece) {
        const int64_t first = piece * S / pieces, last = (piece + 1) * S / pieces;
        for (int64_t n = 0; n < run->chain->n_sequences; ++n)
            for (const Labelling& y : run->blocks[n].labellings)
                if (y.weight > 0)
                    run->add(run->chain->sequences[n], y, run->most(n) * y.weight, w, first, last);
    });
    for (int64_t k = 0; k < dim; ++k) run->w[k] = static_cast<Real>(w[k]);
    return SVMCUT_OK;
}

}  // extern "C"
