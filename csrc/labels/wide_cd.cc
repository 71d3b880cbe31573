// SPDX-License-Identifier: BSD-3-Clause
//
// Dual coordinate descent for the hinge and the squared hinge loss (Hsieh, Chang, Lin, Keerthi and
// Sundararajan, ICML 2008, Algorithm 3) of very many labels, each against the rest, on the same
// rows; label_cd.cc with wider lanes.
//
// A group is 64 machines in step, in chunks of 16 whose weights of a feature are a cache line. A
// row is read once for all of them; a chunk that needs it no more is passed by, a machine leaves
// out rows on its own. Weights and alphas are single precision, as the model file's.
//
// A look at a chunk forms V of its alphas in double precision. D is that of alpha at the best
// multiple of at most 1, P that of the best of a few multiples of V: both hold whatever the steps
// were. The weights that are kept round that multiple, and svmcut_wide_cd_risk has their P.

#include "labels/wide_cd.h"

#include <cmath>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "core/random.h"
#include "core/stretches.h"

using namespace svmcut;

namespace {

constexpr double kFarthest = std::numeric_limits<double>::infinity();
// of the extremes of an epoch that a row must lie beyond to be left out: looks mend it
constexpr double kShareOut = 0.2;
// part of the epochs so far that all machines of a chunk may wait for the look that they want
constexpr double kWait = 0.1;
constexpr int64_t kFirst = 8;     // epochs before which no look is worth its while
constexpr int64_t kLongest = 12;  // epochs without a look, and a fifth of those so far
// gap over the estimate: at most, and before it is known
constexpr double kMostRatio = 10, kFirstRatio = 4;
constexpr double kFar =
    2;  // targets that a machine may end at where the sums of its chunk allow it
constexpr double kMostIdleLooks = 20;  // without a smaller gap, that end a machine

typedef svmcut_label_machine Machine;

struct Room {
    std::vector<Stretch> stretches;
    std::vector<double> V;

    explicit Room(const svmcut_wide_cd& run)
        : stretches(static_cast<size_t>(most_stretches(run.X->n_rows))),
          V(static_cast<size_t>((run.X->n_features + (run.bias != 0)) * kChunk + 8)) {}
    // V, where a cache line begins.
    double* line() { return V.data() + (-reinterpret_cast<uintptr_t>(V.data()) / 8) % 8; }
};

// Bounds the gap of a machine of a chunk, and tells whether it ends; the multiple of its weights
// that is the best point so far, 0 where an earlier one is.
double judge(const WideGroup& group, int64_t k, const WideSums& sums) {
    Machine& machine = group.machines[k];
    const int64_t l = k % kChunk;
    const double rise = sums.rise[l], bend = sums.squared[l] + sums.bent[l];
    const double s = bend > rise ? rise / bend : 1.0;
    machine.dual = std::max(machine.dual, s * rise - 0.5 * s * s * bend);
    int chosen = -1;
    for (int t = 0; t < kTried; ++t) {
        const double primal =
            0.5 * kMultiples[t] * kMultiples[t] * sums.squared[l] + group.run.C * sums.risk[t][l];
        if (primal >= machine.primal) continue;
        machine.primal = primal;
        machine.risk = sums.risk[t][l];
        chosen = t;
    }
    const double gap = machine.primal - machine.dual;
    machine.gap = gap;
    machine.ratio =
        machine.estimate > 0 ? std::min(std::max(gap / machine.estimate, 0.3), kMostRatio) : 1.0;
    const bool less = gap < 0.999 * machine.least;
    machine.idle = less ? 0 : machine.idle + 1;
    if (less) machine.least = gap;
    if (gap <= group.target(machine)) machine.end = SVMCUT_LABEL_MET;
    else if (machine.idle >= kMostIdleLooks) machine.end = SVMCUT_LABEL_SLOW;
    return chosen < 0 ? 0.0 : kMultiples[chosen];
}

// The best weights of the machines of a chunk, of which some are multiples of the present ones.
void keep(const WideGroup& group, int64_t chunk, const double* multiples) {
    const float* W = group.W + chunk * kChunk;
    float* best = group.best + chunk * kChunk;
    for (int64_t j = 0; j < group.dim; ++j, W += SVMCUT_WIDE_LANES, best += SVMCUT_WIDE_LANES)
        for (int64_t l = 0; l < kChunk; ++l) {
            const auto scaled = static_cast<float>(multiples[l] * static_cast<double>(W[l]));
            best[l] = multiples[l] > 0 ? scaled : best[l];
        }
}

// Ends the machines of a chunk whose sums meet what is asked of each, none being far from it.
void judge_sums(const WideGroup& group, int64_t chunk) {
    double gap = 0, target = 0;
    const int64_t first = chunk * kChunk, last = std::min(group.used, first + kChunk);
    for (int64_t k = first; k < last; ++k) {
        gap += group.machines[k].gap;
        target += group.target(group.machines[k]);
    }
    for (int64_t k = first; k < last && gap <= target; ++k) {
        Machine& machine = group.machines[k];
        if (machine.end == SVMCUT_LABEL_OPEN && machine.gap <= kFar * group.target(machine))
            machine.end = SVMCUT_LABEL_MET;
    }
}

void gather(const WideGroup& group) {
    int64_t front = 0;
    for (int64_t i = 0; i < group.n; ++i)
        if (group.rows[i]) group.order[front++] = static_cast<int32_t>(i);
    group.state.active = front;
}

void look(const WideGroup& group, int64_t chunk, Room& room) {
    WideSums sums;
    const uint32_t open = group.open(chunk);
    wide_code(SVMCUT_FASTEST).look(group, chunk, open, room.line(), sums);
    double multiples[kChunk] = {};
    for (int64_t l = 0; l < kChunk; ++l)
        if (open >> l & 1) multiples[l] = judge(group, chunk * kChunk + l, sums);
    keep(group, chunk, multiples);
    judge_sums(group, chunk);
    const uint64_t over = uint64_t{open & ~group.open(chunk)} << (chunk * kChunk);
    if (over)
        for (int64_t i = 0; i < group.n; ++i) group.rows[i] &= ~over;
    group.state.looked[chunk] = group.state.epochs;
    ++group.state.looks;
    group.state.entries += group.run.X->indptr[group.n] - group.run.X->indptr[0];
}

void begin_epoch(const WideGroup& group, Room& room) {
    Random random{group.state.random};
    draw_visits(group.visits, group.state.active, room.stretches.data(), random);
    group.state.random = random.state;
    for (int64_t k = 0; k < SVMCUT_WIDE_LANES; ++k) {
        Machine& m = group.machines[k];
        m.highest = m.lowest = m.sum = m.moves = m.visits = 0;
    }
}

// Every open machine of a chunk visits all rows in the next epoch.
void wake(const WideGroup& group, int64_t chunk) {
    const uint64_t bits = uint64_t{group.open(chunk)} << (chunk * kChunk);
    for (int64_t i = 0; i < group.n; ++i)
        if (group.box(i) > 0) group.rows[i] |= bits;
}

// Whether the machines of a chunk seem to be where they end; closes their epoch.
bool are_near(const WideGroup& group, int64_t c) {
    const uint32_t going = group.open(c);
    double near = 0, open = 0;
    for (int64_t l = 0; l < kChunk; ++l) {
        if (!(going >> l & 1)) continue;
        Machine& m = group.machines[c * kChunk + l];
        m.above = m.highest > 0 ? kShareOut * m.highest : kFarthest;
        m.below = m.lowest < 0 ? kShareOut * m.lowest : -kFarthest;
        m.estimate = m.sum;
        m.moved = m.moves;
        near += m.estimate <= group.target(m) / m.ratio || m.moved == 0;
        ++open;
    }
    const int64_t since = group.state.epochs - group.state.looked[c];
    return open > 0 && (near == open || since >= std::max(kLongest, group.state.epochs / 5) ||
                        (near / open) * static_cast<double>(since) >
                            kWait * static_cast<double>(group.state.epochs));
}

// Closes the epoch. Where machines seem to be near their ends they visit all rows once more, which
// costs a third of a look and mends what was left out, and if they still seem so are looked at.
void end_epoch(const WideGroup& group, Room& room) {
    group.state.at = 0;
    ++group.state.epochs;
    for (int64_t c = 0; c < group.chunks(); ++c) {
        if (!group.open(c)) continue;
        const bool near = are_near(group, c);
        const bool whole = group.state.whole[c] || group.state.epochs <= kFirst;
        group.state.whole[c] = near && !whole;
        if (near && whole && group.state.epochs > kFirst) look(group, c, room);
        else if (near && !whole) wake(group, c);
    }
    gather(group);
}

bool goes_on(const WideGroup& group) {
    for (int64_t c = 0; c < group.chunks(); ++c)
        if (group.open(c)) return true;
    return false;
}

// False when cancelled.
bool advance(const WideGroup& group, int64_t epochs, const volatile int* cancel) {
    Room room(group.run);
    const WideCode& code = wide_code(SVMCUT_FASTEST);
    while (goes_on(group) && group.state.epochs < epochs) {
        if (group.state.at == 0) begin_epoch(group, room);
        if (!code.epoch(group, cancel)) return false;
        end_epoch(group, room);
    }
    return true;
}

/// Calls work(group, place of the group, chunk) for every chunk of machines that is used.
template <class Work>
int for_chunks(const svmcut_wide_cd& run, int threads, const Work& work) {
    std::atomic<bool> failed{false};
    for_pieces(run.groups * kChunks, threads, [&](int64_t piece) {
        const int64_t g = piece / kChunks, c = piece % kChunks;
        const WideGroup group(run, g);
        if (c >= group.chunks()) return;
        try {
            work(group, g, c);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
    });
    return failed ? SVMCUT_NO_MEMORY : SVMCUT_OK;
}

}  // namespace

extern "C" {

void svmcut_wide_cd_start(const svmcut_wide_cd* run, uint64_t seed) {
    const int64_t n = run->X->n_rows;
    double all = 0;
    for (int64_t i = 0; i < n; ++i) all += run->v ? run->v[i] : 1.0;
    for (int64_t g = 0; g < run->groups; ++g) {
        WideGroup group(*run, g);
        const uint64_t bits = group.used == 64 ? ~uint64_t{0} : (uint64_t{1} << group.used) - 1;
        group.state = {n, 0, seed, 0, 0, 0, {}, {}};
        for (int64_t k = 0; k < SVMCUT_WIDE_LANES; ++k) {
            Machine& m = group.machines[k];
            m = {};
            m.above = m.estimate = m.least = kFarthest;
            m.below = -kFarthest;
            m.primal = m.gap = run->C * all;  // w = 0, and the bound 0
            m.risk = all;
            m.ratio = kFirstRatio;
            m.end = k < group.used ? SVMCUT_LABEL_OPEN : SVMCUT_LABEL_MET;
        }
        for (int64_t i = 0; i < n; ++i) {
            group.rows[i] = group.box(i) > 0 ? bits : 0;
            group.order[i] = static_cast<int32_t>(i);
        }
    }
}

int svmcut_wide_cd_run(const svmcut_wide_cd* run, int64_t epochs, int threads,
                       const volatile int* cancel) {
    return svmcut_wide_cd_run_all(&run, 1, epochs, threads, cancel);
}

int svmcut_wide_cd_run_all(const svmcut_wide_cd* const* runs, int64_t count, int64_t epochs,
                           int threads, const volatile int* cancel) {
    std::vector<std::pair<const svmcut_wide_cd*, int64_t>> pieces;
    try {
        for (int64_t r = 0; r < count; ++r)
            for (int64_t g = 0; g < runs[r]->groups; ++g) pieces.push_back({runs[r], g});
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    std::atomic<bool> failed{false}, cancelled{false};
    for_pieces(static_cast<int64_t>(pieces.size()), threads, [&](int64_t piece) {
        const auto& [run, g] = pieces[static_cast<size_t>(piece)];
        try {
            if (!advance(WideGroup(*run, g), epochs, cancel)) cancelled = true;
        } catch (const std::bad_alloc&) {
            failed = true;
        }
    });
    return failed ? SVMCUT_NO_MEMORY : cancelled ? SVMCUT_CANCELLED : SVMCUT_OK;
}

int svmcut_wide_cd_risk(const svmcut_wide_cd* run, const float* W, double* risk, int threads) {
    return for_chunks(*run, threads, [&](const WideGroup& group, int64_t g, int64_t c) {
        Room room(*run);
        wide_code(SVMCUT_FASTEST)
            .risk(group, c, W + g * group.dim * SVMCUT_WIDE_LANES + c * kChunk, room.line(),
                  risk + (g * kChunks + c) * kChunk);
    });
}

int svmcut_wide_cd_refit(const svmcut_wide_cd* run, float* W, double* risk, int threads) {
    if (run->bias == 0) return svmcut_wide_cd_risk(run, W, risk, threads);
    return for_chunks(*run, threads, [&](const WideGroup& group, int64_t g, int64_t c) {
        Room room(*run);
        std::vector<double> apart(static_cast<size_t>(group.n * kChunk));
        wide_code(SVMCUT_FASTEST)
            .refit(group, c, W + g * group.dim * SVMCUT_WIDE_LANES + c * kChunk, room.line(),
                   apart.data(), risk + (g * kChunks + c) * kChunk);
    });
}

}  // extern "C"
