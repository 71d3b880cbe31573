// SPDX-License-Identifier: BSD-3-Clause
//
// Stochastic subgradients for chains (Pegasos' steps: Shalev-Shwartz, Singer, Srebro, ICML 2007): w
// is a multiple of a sum of joint features, so a step adds to the sum and touches nothing else.

#include "chain/chain.h"
#include "chain/chain_targets.h"

namespace {

using svmcut::ChainLayout;
using svmcut::Lattice;

struct Step {
    const svmcut_chain* chain;
    ChainLayout at;
    double start;  // what a wrong tag is worth where z stands for w
    double* z;
    svmcut::SparseTransitions few;
};

template <int B>
SVMCUT_INLINE void label_body(const Step& step, int64_t n, svmcut::ChainRoom<double>& room) {
    const ChainLayout& at = step.at;
    const int64_t begin = step.chain->sequences[n], T = step.chain->sequences[n + 1] - begin,
                  size = at.blocks * at.S;
    if (static_cast<int64_t>(room.nodes.size()) < T * size) room.nodes.resize(T * size);
    if (static_cast<int64_t>(room.tags.size()) < T) room.tags.resize(T);
    for (int64_t i = 0; i < T; ++i) {
        double* node = room.nodes.data() + i * size;
        svmcut::score_token<B>(at, step.chain->X, begin + i, step.z, step.start, i == 0, node);
        node[step.chain->tags[begin + i]] -= step.start;
    }
    Lattice<double> lattice(at, room.nodes.data(), step.z + at.emissions(), 0);
    lattice.read_ends(T, room, step.few);
    svmcut::viterbi<B>(lattice, T, room, room.tags.data());
}

void label_portable(const Step& s, int64_t n, svmcut::ChainRoom<double>& r) {
    label_body<16>(s, n, r);
}
#if defined(SVMCUT_FOR_TARGETS)
SVMCUT_AVX2 void label_avx2(const Step& s, int64_t n, svmcut::ChainRoom<double>& r) {
    label_body<32>(s, n, r);
}
SVMCUT_AVX512 void label_avx512(const Step& s, int64_t n, svmcut::ChainRoom<double>& r) {
    label_body<64>(s, n, r);
}
#endif

}  // namespace

extern "C" int svmcut_chain_ssg(const svmcut_chain* chain, double C, const double* v,
                                const int32_t* order, int64_t count, int64_t* visits, double* z,
                                double* weighted, double* loss, const volatile int* cancel) {
    const auto label = SVMCUT_PICK(label);
    Step step{chain, ChainLayout(chain), 1.0, z, {}};
    svmcut::ChainRoom<double> room;
    std::vector<svmcut::Entry> emissions, transitions;
    const int64_t row = step.at.blocks * step.at.S, base = step.at.emissions();
    try {
        read_sparse(step.at, z + base, step.few);
        for (int64_t turn = 0; turn < count; ++turn) {
            if (cancel && *cancel) return SVMCUT_CANCELLED;
            const int64_t n = order[turn], begin = chain->sequences[n],
                          T = chain->sequences[n + 1] - begin;
            const double k = static_cast<double>(*visits);
            step.start = *visits ? k / (C * static_cast<double>(chain->n_sequences)) : 1.0;
            label(step, n, room);
            const double own = v ? v[n] : 1.0;
            *loss += own * svmcut::difference(step.at, chain->tags + begin, room.tags.data(), T,
                                              emissions, transitions);
            auto add = [&](int64_t place, double value) {
                value *= own;
                z[place] += value;
                weighted[place] += k * value;
            };
            for (const svmcut::Entry& e : emissions) {
                const int64_t i = begin + e.token;
                for (int64_t j = chain->X.indptr[i];
                     j < chain->X.indptr[i + 1] && chain->X.indices[j] < step.at.D; ++j)
                    add(chain->X.indices[j] * row + e.column, e.sign * chain->X.data[j]);
            }
            for (const svmcut::Entry& e : transitions) {
                add(base + e.column, e.sign);
                step.few.enter(e.column);
            }
            ++*visits;
        }
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}
