// SPDX-License-Identifier: BSD-3-Clause
//
// Viterbi's recursion with the wrong tags counted. A state is that of chain.h with the number d of
// wrong tags so far,
//
//     value[d][history, c] = best of step(value[d - (c is wrong)])[history, c]
//
// and d stays where it is once it has reached the most that is counted. For every d there is then
// the best labelling with exactly d wrong tags, and any function of loss and score that grows with
// the score is maximised over d. Padding behind the last tag is never read.

#include <cstring>

#include "chain/chain.h"
#include "chain/chain_pieces.h"
#include "chain/chain_targets.h"

namespace {

using svmcut::ChainLayout;
using svmcut::Lattice;

constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Job {
    const svmcut_chain* chain;
    ChainLayout at;
    const double* nodes;
    const double* transitions;
    int64_t most;
    const double* losses;
    const double* prices;
    int32_t* labels;
    double* values;
    int64_t* counts;
};

// One sequence; its states lie position by position, d by d.
struct Counting {
    Lattice<double> lattice;
    const int32_t* gold;
    int64_t T, most;

    int64_t rows(int64_t i) const { return std::min(i + 1, most) + 1; }

    int64_t room() const {
        int64_t sum = 0;
        for (int64_t i = 0; i < T; ++i) sum += rows(i) * lattice.size(i);
        return sum;
    }

    // From the values of step for every d before to those of d with position i: wrong tags move up
    // by one.
    SVMCUT_INLINE void move_up(int64_t i, double* now) const {
        const int64_t S = lattice.at.S, size = lattice.size(i), before = i ? rows(i - 1) : 1;
        for (int64_t d = rows(i) - 1; d >= 0; --d)
            for (int64_t at = d * size; at < (d + 1) * size; at += S) {
                double* row = now + at;
                const double right = d < before ? row[gold[i]] : kNever;
                if (d == 0) std::fill(row, row + S, kNever);
                else if (d == before || d < most) std::memcpy(row, row - size, S * sizeof(double));
                else
                    for (int64_t c = 0; c < S; ++c) row[c] = std::max(row[c], row[c - size]);
                row[gold[i]] = right;
            }
    }

    // d at position i - 1 of the labelling that has d at i.
    int64_t previous(int64_t i, const double* before, int64_t d, const int32_t* labels) const {
        if (labels[i] == gold[i]) return d;
        if (d < most || rows(i - 1) == d) return d - 1;
        const int64_t rest = lattice.history(i, labels), size = lattice.size(i - 1);
        double stayed, came;
        lattice.oldest(i, before + d * size, rest, labels[i], &stayed);
        lattice.oldest(i, before + (d - 1) * size, rest, labels[i], &came);
        return stayed >= came ? d : d - 1;
    }
};

template <int B>
SVMCUT_INLINE double find(const Counting& run, const Job& job, std::vector<double>& room,
                          int32_t* labels, int64_t* count) {
    const Lattice<double>& lattice = run.lattice;
    const int64_t T = run.T, m = lattice.at.memory();
    std::vector<double> unused;
    if (static_cast<int64_t>(room.size()) < run.room()) room.resize(run.room());
    const double* old = nullptr;
    double* now = room.data();
    for (int64_t i = 0; i < T; ++i) {
        const int64_t size = lattice.size(i), size_before = i ? lattice.size(i - 1) : 0;
        for (int64_t d = 0; d < (i ? run.rows(i - 1) : 1); ++d)
            lattice.step<B>(i, old + d * size_before, now + d * size, unused);
        run.move_up(i, now);
        old = now;
        now += run.rows(i) * size;
    }
    const double right = svmcut::score_of(lattice, T, run.gold);
    const int64_t size = lattice.size(T - 1);
    double best = 0;
    *count = 0;
    for (int64_t d = 1; d < run.rows(T - 1); ++d) {
        const double value = lattice.unpack(T - 1, old + d * size, labels);
        if (value == kNever) continue;
        const double found = job.losses[d] + job.prices[d] * (value - right);
        if (found > best) best = found, *count = d;
    }
    if (*count == 0) {
        std::copy(run.gold, run.gold + T, labels);
        return 0.0;
    }
    lattice.unpack(T - 1, old + *count * size, labels);
    int64_t d = *count;
    for (int64_t i = T - 1; i >= m; --i) {
        const double* before = old - run.rows(i - 1) * lattice.size(i - 1);
        d = run.previous(i, before, d, labels);
        labels[i - m] = lattice.oldest(i, before + d * lattice.size(i - 1),
                                       lattice.history(i, labels), labels[i]);
        old = before;
    }
    return best;
}

template <int B>
SVMCUT_INLINE void counted_body(const Job& job, int64_t first, int64_t last) {
    const ChainLayout& at = job.at;
    std::vector<double> room;
    for (int64_t n = first; n < last; ++n) {
        const int64_t begin = job.chain->sequences[n], T = job.chain->sequences[n + 1] - begin;
        const Lattice<double> lattice(at, job.nodes + begin * at.blocks * at.S, job.transitions, 0);
        const Counting run{lattice, job.chain->tags + begin, T, job.most};
        job.values[n] = find<B>(run, job, room, job.labels + begin, job.counts + n);
    }
}

using Work = void (*)(const Job&, int64_t, int64_t);

void counted_portable(const Job& j, int64_t a, int64_t b) { counted_body<16>(j, a, b); }
#if defined(SVMCUT_FOR_TARGETS)
SVMCUT_AVX2 void counted_avx2(const Job& j, int64_t a, int64_t b) { counted_body<32>(j, a, b); }
SVMCUT_AVX512 void counted_avx512(const Job& j, int64_t a, int64_t b) { counted_body<64>(j, a, b); }
#endif

}  // namespace

extern "C" int svmcut_chain_counted(const svmcut_chain* chain, const double* nodes,
                                    const double* transitions, int64_t most, const double* losses,
                                    const double* prices, int32_t* labels, double* values,
                                    int64_t* counts, int threads, const volatile int* cancel) {
    const Job job{
        chain, ChainLayout(chain), nodes, transitions, most, losses, prices, labels, values,
        counts};
    const Work work = SVMCUT_PICK(counted);
    return svmcut::for_sequences(chain, threads, cancel,
                                 [&](int64_t first, int64_t last) { work(job, first, last); });
}
