// SPDX-License-Identifier: BSD-3-Clause
//
// Chains, all sequences at once: emission scores, loss-augmented Viterbi, joint features. Sequences
// are shared out in pieces that do not depend on the number of threads, and nothing is summed
// across them.

#include "chain/chain.h"

#include <cstring>

#include "chain/chain_pieces.h"
#include "chain/chain_targets.h"

namespace {

using svmcut::ChainLayout;
using svmcut::ChainRoom;
using svmcut::Lattice;

struct Job {
    const svmcut_chain* chain;
    ChainLayout at;
    const double* w;
    const double* given;  // nodes, or null
    int loss;
    int64_t beam;
    int32_t* labels;
    double* values;
    double* losses;
    double* nodes;  // output of svmcut_chain_nodes
    // of a line: rates of the given nodes, the step, transitions at that step and their rates
    const double* node_rates = nullptr;
    double t = 0;
    const double* transitions = nullptr;
    const double* transition_rates = nullptr;
    double* rates = nullptr;
    const svmcut_chain_point* below = nullptr;
    const svmcut_chain_point* above = nullptr;
    const double *turned = nullptr, *ends = nullptr, *tops = nullptr;
    const svmcut::SparseTransitions* sparse = nullptr;
};

// The labelling of a sequence where two points of the line have the same one; whether they have.
inline bool between(const Job& job, int64_t n, int64_t begin, int64_t T) {
    if (!job.above || !std::equal(job.below->labels + begin, job.below->labels + begin + T,
                                  job.above->labels + begin))
        return false;
    std::copy_n(job.above->labels + begin, T, job.labels + begin);
    job.rates[n] = job.above->rates[n];
    job.values[n] = std::max(0.0, job.above->values[n] + (job.t - job.above->t) * job.rates[n]);
    return true;
}

inline double wrong_tags(const int32_t* gold, const int32_t* labels, int64_t T) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < T; ++i) wrong += gold[i] != labels[i];
    return static_cast<double>(wrong);
}

template <int B>
SVMCUT_INLINE void score_sequence(const Job& job, int64_t begin, int64_t T, double* nodes) {
    const ChainLayout& at = job.at;
    const double start = job.loss == SVMCUT_CHAIN_HAMMING ? 1.0 : 0.0;
    const int64_t size = at.blocks * at.S;
    for (int64_t i = 0; i < T; ++i) {
        double* node = nodes + i * size;
        if (job.given) {
            const double* given = job.given + (begin + i) * size;
            if (job.node_rates) {
                const double* rates = job.node_rates + (begin + i) * size;
                for (int64_t k = 0; k < size; ++k) node[k] = given[k] + job.t * rates[k];
            } else {
                std::memcpy(node, given, size * sizeof(double));
            }
            for (int64_t c = 0; c < at.K; ++c) node[c] += start;
            for (int64_t b = 0; b < at.blocks; ++b)
                for (int64_t c = at.K; c < at.S; ++c)
                    node[b * at.S + c] = -std::numeric_limits<double>::infinity();
        } else {
            svmcut::score_token<B>(at, job.chain->X, begin + i, job.w, start, i == 0, node);
        }
        if (start != 0.0) node[job.chain->tags[begin + i]] -= start;
    }
}

template <int B>
SVMCUT_INLINE void argmax_body(const Job& job, int64_t first, int64_t last,
                               ChainRoom<double>& room) {
    const ChainLayout& at = job.at;
    const double* transitions = job.transitions ? job.transitions : job.w + at.emissions();
    for (int64_t n = first; n < last; ++n) {
        const int64_t begin = job.chain->sequences[n], T = job.chain->sequences[n + 1] - begin;
        const int32_t* gold = job.chain->tags + begin;
        if (between(job, n, begin, T)) {
            job.losses[n] = wrong_tags(gold, job.labels + begin, T);
            continue;
        }
        if (static_cast<int64_t>(room.nodes.size()) < T * at.blocks * at.S)
            room.nodes.resize(T * at.blocks * at.S);
        score_sequence<B>(job, begin, T, room.nodes.data());
        Lattice<double> lattice(at, room.nodes.data(), transitions, job.beam);
        lattice.turned = job.turned;
        lattice.ends = job.ends;
        lattice.alive = &room.alive;
        lattice.sparse = job.sparse;
        lattice.tops = job.tops;
        double value = svmcut::viterbi<B>(lattice, T, room, job.labels + begin);
        if (job.loss == SVMCUT_CHAIN_HAMMING) {
            value = std::max(0.0, value - svmcut::score_of(lattice, T, gold));
            if (job.losses) job.losses[n] = wrong_tags(gold, job.labels + begin, T);
            if (job.rates) {
                const Lattice<double> rates(at, job.node_rates + begin * at.blocks * at.S,
                                            job.transition_rates, 0);
                job.rates[n] = svmcut::score_of(rates, T, job.labels + begin) -
                               svmcut::score_of(rates, T, gold);
            }
        }
        job.values[n] = value;
    }
}

template <int B>
SVMCUT_INLINE void nodes_body(const Job& job, int64_t first, int64_t last, ChainRoom<double>&) {
    const ChainLayout& at = job.at;
    const int64_t size = at.blocks * at.S;
    for (int64_t n = first; n < last; ++n)
        for (int64_t i = job.chain->sequences[n]; i < job.chain->sequences[n + 1]; ++i) {
            double* node = job.nodes + i * size;
            const bool start = i == job.chain->sequences[n];
            svmcut::score_token<B>(at, job.chain->X, i, job.w, 0.0, start, node);
            for (int64_t b = 0; b < at.blocks; ++b)
                std::fill(node + b * at.S + (start && b ? 0 : at.K), node + (b + 1) * at.S, 0.0);
        }
}

using Work = void (*)(const Job&, int64_t, int64_t, ChainRoom<double>&);

void argmax_portable(const Job& j, int64_t a, int64_t b, ChainRoom<double>& r) {
    argmax_body<16>(j, a, b, r);
}
void nodes_portable(const Job& j, int64_t a, int64_t b, ChainRoom<double>& r) {
    nodes_body<16>(j, a, b, r);
}
#if defined(SVMCUT_FOR_TARGETS)
SVMCUT_AVX2 void argmax_avx2(const Job& j, int64_t a, int64_t b, ChainRoom<double>& r) {
    argmax_body<32>(j, a, b, r);
}
SVMCUT_AVX2 void nodes_avx2(const Job& j, int64_t a, int64_t b, ChainRoom<double>& r) {
    nodes_body<32>(j, a, b, r);
}
SVMCUT_AVX512 void argmax_avx512(const Job& j, int64_t a, int64_t b, ChainRoom<double>& r) {
    argmax_body<64>(j, a, b, r);
}
SVMCUT_AVX512 void nodes_avx512(const Job& j, int64_t a, int64_t b, ChainRoom<double>& r) {
    nodes_body<64>(j, a, b, r);
}
#endif

int run(const Job& job, Work work, int threads, const volatile int* cancel) {
    return svmcut::for_sequences(job.chain, threads, cancel, [&](int64_t first, int64_t last) {
        ChainRoom<double> room;
        work(job, first, last, room);
    });
}

int for_argmax(Job& job, const double* transitions, int threads, const volatile int* cancel) {
    std::vector<double> turned, ends, tops;
    svmcut::SparseTransitions few;
    try {
        svmcut::read_sparse(job.at, transitions, few);
        if (few.on()) {
            svmcut::sparse_tops(few, job.at.K, job.at.S, transitions, tops);
        } else {
            turned = svmcut::turn(job.at, transitions);
            svmcut::row_ends(job.at, transitions, ends);
        }
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    job.turned = turned.empty() ? nullptr : turned.data();
    job.ends = ends.empty() ? nullptr : ends.data();
    if (few.on()) job.sparse = &few, job.tops = tops.data();
    return run(job, SVMCUT_PICK(argmax), threads, cancel);
}

template <class Emission, class Transition>
int for_differences(const svmcut_chain* chain, const ChainLayout& at, const int32_t* labels,
                    const double* weights, Emission&& emission, Transition&& transition) {
    try {
        std::vector<svmcut::Entry> emissions, transitions;
        for (int64_t n = 0; n < chain->n_sequences; ++n) {
            const double weight = weights ? weights[n] : 1.0;
            if (weight == 0.0) continue;
            const int64_t begin = chain->sequences[n], T = chain->sequences[n + 1] - begin;
            svmcut::difference(at, chain->tags + begin, labels + begin, T, emissions, transitions);
            for (const svmcut::Entry& e : emissions)
                emission(begin + e.token, e.column, weight * e.sign);
            for (const svmcut::Entry& e : transitions) transition(e.column, weight * e.sign);
        }
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}

}  // namespace

extern "C" {

int svmcut_chain_nodes(const svmcut_chain* chain, const double* w, double* nodes, int threads) {
    const Job job{
        chain, ChainLayout(chain), w, nullptr, SVMCUT_CHAIN_DECODE, 0, nullptr, nullptr, nullptr,
        nodes};
    return run(job, SVMCUT_PICK(nodes), threads, nullptr);
}

int svmcut_chain_argmax(const svmcut_chain* chain, const double* w, const double* nodes, int loss,
                        int64_t beam, int32_t* labels, double* values, double* losses, int threads,
                        const volatile int* cancel) {
    Job job{chain, ChainLayout(chain), w, nodes, loss, beam, labels, values, losses, nullptr};
    return for_argmax(job, w + job.at.emissions(), threads, cancel);
}

int svmcut_chain_joint(const svmcut_chain* chain, const int32_t* labels, const double* weights,
                       double* out) {
    const ChainLayout at(chain);
    const int64_t row = at.blocks * at.S, base = at.emissions();
    return for_differences(
        chain, at, labels, weights,
        [&](int64_t i, int64_t column, double weight) {
            for (int64_t k = chain->X.indptr[i];
                 k < chain->X.indptr[i + 1] && chain->X.indices[k] < at.D; ++k)
                out[chain->X.indices[k] * row + column] += weight * chain->X.data[k];
        },
        [&](int64_t k, double weight) { out[base + k] += weight; });
}

int svmcut_chain_line(const svmcut_chain* chain, const double* nodes, const double* transitions,
                      const double* node_rates, const double* transition_rates, double t,
                      int64_t beam, const svmcut_chain_point* below,
                      const svmcut_chain_point* above, int32_t* labels, double* values,
                      double* losses, double* rates, int threads) {
    std::vector<double> here;
    const ChainLayout at(chain);
    const int64_t count = at.transitions(at.order + 1);
    try {
        here.resize(count + 1);
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    for (int64_t k = 0; k < count; ++k) here[k] = transitions[k] + t * transition_rates[k];
    Job job{chain,
            at,
            nullptr,
            nodes,
            SVMCUT_CHAIN_HAMMING,
            beam,
            labels,
            values,
            losses,
            nullptr,
            node_rates,
            t,
            here.data(),
            transition_rates,
            rates,
            below,
            above};
    return for_argmax(job, here.data(), threads, nullptr);
}

void svmcut_chain_rates(const svmcut_chain* chain, const int32_t* labels, const double* node_rates,
                        const double* transition_rates, double* rates) {
    const ChainLayout at(chain);
    for (int64_t n = 0; n < chain->n_sequences; ++n) {
        const int64_t begin = chain->sequences[n], T = chain->sequences[n + 1] - begin;
        const int32_t* gold = chain->tags + begin;
        rates[n] = 0;
        if (std::equal(gold, gold + T, labels + begin)) continue;
        const Lattice<double> lattice(at, node_rates + begin * at.blocks * at.S, transition_rates,
                                      0);
        rates[n] =
            svmcut::score_of(lattice, T, labels + begin) - svmcut::score_of(lattice, T, gold);
    }
}

}  // extern "C"
