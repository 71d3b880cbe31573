// SPDX-License-Identifier: BSD-3-Clause
//
// Dual coordinate descent for the hinge loss (Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML
// 2008, Algorithm 3; see linear/dual_cd.cc) of many labels, each against the rest, on the same
// rows.
//
// Machines of a group meet the rows in the same order: a row is read once for all of them, and a
// feature touches their weights side by side, a vector instruction for several machines. Each
// leaves out rows on its own; a row is visited while any machine of the group visits it. Groups
// know nothing of one another.
//
// A look forms W afresh from alpha and bounds the gap of every machine: P at the best multiple of
// its w, exactly, less D at the best multiple of alpha within its box.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/parallel.h"
#include "core/random.h"
#include "core/slope_root.h"
#include "core/stretches.h"
#include "labels/label_cd.h"

using namespace svmcut;

namespace {

// of the extremes of an epoch that a row must lie beyond to be left out: looks mend it
constexpr double kShare = 0.2;
// part of the epochs so far that all machines may wait for the look that they want
constexpr double kPatience = 0.1;
constexpr double kMostIdle = 60;  // looks without a smaller gap that end a machine

typedef svmcut_label_machine Machine;

struct Room {
    std::vector<Stretch> stretches;
    std::vector<double> s, m;
    std::vector<Breakpoint> candidates;

    explicit Room(const svmcut_label_cd& run)
        : stretches(static_cast<size_t>(most_stretches(run.X->n_rows))),
          s(static_cast<size_t>(run.X->n_rows * run.lanes)),
          m(static_cast<size_t>(run.X->n_rows)) {
        candidates.reserve(m.size());
    }
};

// The t >= 0 that minimises t^2 squared / 2 + C sum_i v_i max(0, 1 - t m_i).
double best_multiple(const Group& group, double squared, Room& room) {
    const double *m = room.m.data(), *v = group.run.v;
    const auto pull = [&](double t) {  // -C times it is the slope of the losses right of t
        double sum = 0;
        for (int64_t i = 0; i < group.n; ++i)
            sum += t * m[i] < 1.0 ? (v ? v[i] * m[i] : m[i]) : 0.0;
        return group.run.C * sum;
    };
    double low = 0, from = pull(0);
    if (!(from > 0) || !(squared > 0)) return 0.0;
    double high = from / squared;
    for (const double t : {1.0, 0.95, 1.05}) {  // where it nearly always is
        if (!(t > low && t < high)) continue;
        const double there = pull(t);
        if (t * squared >= there) {
            high = t;
        } else {
            low = t;
            from = there;
        }
    }
    room.candidates.clear();
    for (int64_t i = 0; i < group.n; ++i)
        if (low * m[i] < 1.0 && high * m[i] >= 1.0)
            room.candidates.push_back({1.0 / m[i], v ? v[i] * m[i] : m[i]});
    return root_of_slope(room.candidates, -from, squared, group.run.C);
}

// Bounds the gap of one machine at the scores in room.s, and tells whether it ends.
void judge(const Group& group, int64_t l, Room& room) {
    const svmcut_label_cd& run = group.run;
    Machine& machine = group.machines[l];
    const int64_t L = run.lanes;
    double squared = 0, rise = 0, most = kInfinity;
    for (int64_t j = 0; j < group.dim; ++j) squared += group.W[j * L + l] * group.W[j * L + l];
    for (int64_t i = 0; i < group.n; ++i) {
        const double a = group.alpha[i * L + l], s = room.s[static_cast<size_t>(i * L + l)];
        rise += a;
        if (a * most > group.box(i)) most = group.box(i) / a;
        room.m[static_cast<size_t>(i)] = group.positive[i] >> l & 1 ? s : -s;
    }
    const double scale = squared > 0 ? std::min(most, rise / squared) : most;
    if (rise > 0)
        machine.dual = std::max(machine.dual, scale * rise - 0.5 * scale * scale * squared);
    const double t = best_multiple(group, squared, room);
    double risk = 0;
    for (int64_t i = 0; i < group.n; ++i) {
        const double loss = std::max(0.0, 1.0 - t * room.m[static_cast<size_t>(i)]);
        risk += run.v ? run.v[i] * loss : loss;
    }
    const double primal = 0.5 * t * t * squared + run.C * risk;
    if (primal < machine.primal) {
        machine.primal = primal;
        machine.risk = risk;
        for (int64_t j = 0; j < group.dim; ++j)
            group.best[j * run.stride + l] = t * group.W[j * L + l];
    }
    const double gap = machine.primal - machine.dual, before = machine.gap,
                 target = group.target(machine);
    machine.gap = gap;
    machine.ratio =
        machine.estimate > 0 ? std::min(std::max(gap / machine.estimate, 0.3), 1.5) : 1.0;
    const bool less = gap < 0.999 * machine.least;
    machine.idle = less ? 0 : machine.idle + 1;
    if (less) machine.least = gap;
    if (gap <= target) {
        machine.end = SVMCUT_LABEL_MET;
    } else if (machine.idle >= kMostIdle) {
        machine.end = SVMCUT_LABEL_SLOW;
    } else if (run.patience < kInfinity && group.state.looked > 0) {
        const auto made = static_cast<double>(group.state.epochs - group.state.looked);
        const double share = machine.visits / static_cast<double>(group.n),
                     fall = std::log(before / gap);
        if (!(fall > 0) || share * made * std::log(gap / target) > run.patience * fall)
            machine.end = SVMCUT_LABEL_SLOW;
    }
}

// Chooses the rows of every machine that goes on, by the scores in room.s.
void wake(const Group& group, const Room& room) {
    const int64_t L = group.run.lanes;
    const uint32_t open = group.open();
    int64_t front = 0;
    for (int64_t i = 0; i < group.n; ++i) {
        const double C = group.box(i);
        uint32_t bits = 0;
        for (int64_t l = 0; l < group.used; ++l) {
            if (!(open >> l & 1)) continue;
            const Machine& machine = group.machines[l];
            const double a = group.alpha[i * L + l], s = room.s[static_cast<size_t>(i * L + l)];
            const double G = (group.positive[i] >> l & 1 ? s : -s) - 1.0;
            const bool left =
                a == 0.0 ? G > machine.above || C == 0.0 : a == C && G < machine.below;
            bits |= static_cast<uint32_t>(!left) << l;
        }
        group.rows[i] = static_cast<uint8_t>(bits);
        if (bits) group.order[front++] = static_cast<int32_t>(i);
    }
    group.state.active = front;
}

void look(const Group& group, Room& room) {
    label_code(group.run.lanes, SVMCUT_FASTEST).form(group, room.s.data());
    for (int64_t l = 0; l < group.used; ++l)
        if (group.machines[l].end == SVMCUT_LABEL_OPEN) judge(group, l, room);
    group.state.looked = group.state.epochs;
    ++group.state.looks;
    wake(group, room);
}

void begin_epoch(const Group& group, Room& room) {
    Random random{group.state.random};
    draw_visits(group.visits, group.state.active, room.stretches.data(), random);
    group.state.random = random.state;
    for (int64_t l = 0; l < group.run.lanes; ++l) {
        Machine& m = group.machines[l];
        m.highest = m.lowest = m.sum = m.moves = m.visits = 0;
    }
}

// Closes the epoch; the part of the machines that are where they want a look.
double end_epoch(const Group& group) {
    double near = 0, open = 0;
    for (int64_t l = 0; l < group.used; ++l) {
        Machine& m = group.machines[l];
        if (m.end != SVMCUT_LABEL_OPEN) continue;
        m.above = m.highest > 0 ? kShare * m.highest : kInfinity;
        m.below = m.lowest < 0 ? kShare * m.lowest : -kInfinity;
        m.estimate = m.sum;
        m.moved = m.moves;
        near += m.estimate <= group.target(m) / m.ratio || m.moved == 0;
        ++open;
    }
    int64_t front = 0;
    for (int64_t k = 0; k < group.state.active; ++k)
        if (group.rows[group.order[k]]) group.order[front++] = group.order[k];
    group.state.active = front;
    group.state.at = 0;
    ++group.state.epochs;
    return near / open;
}

// False when cancelled.
bool advance(const Group& group, int64_t looks, const volatile int* cancel) {
    Room room(group.run);
    svmcut_label_group& state = group.state;
    const LabelCode& code = label_code(group.run.lanes, SVMCUT_FASTEST);
    // epochs that cost more than a look does
    const int64_t block = std::min<int64_t>(
        std::max<int64_t>(10, 200'000 / (group.run.X->indptr[group.n] - group.run.X->indptr[0] +
                                         10 * group.n + 1)),
        200);
    while (group.open() && state.looks < looks) {
        if (state.at == 0) begin_epoch(group, room);
        if (!code.epoch(group, cancel)) return false;
        const double near = end_epoch(group);
        const int64_t since = state.epochs - state.looked;
        if (near == 1 || since >= std::max(block, state.epochs / 5) ||
            (near > 0 &&
             near * static_cast<double>(since) > kPatience * static_cast<double>(state.epochs)))
            look(group, room);
    }
    return true;
}

}  // namespace

extern "C" {

void svmcut_label_cd_start(const svmcut_label_cd* run, uint64_t seed) {
    const int64_t n = run->X->n_rows;
    double all = 0;
    for (int64_t i = 0; i < n; ++i) all += run->v ? run->v[i] : 1.0;
    for (int64_t g = 0; g < run->groups; ++g) {
        Group group(*run, g);
        const uint32_t bits = (uint32_t{1} << group.used) - 1;
        group.state = {n, 0, seed, 0, 0, 0, 0};
        for (int64_t l = 0; l < run->lanes; ++l)
            group.machines[l] = {kInfinity,
                                 -kInfinity,
                                 kInfinity,
                                 0,
                                 run->C * all,
                                 all,
                                 0,
                                 1,
                                 run->C * all,
                                 kInfinity,
                                 0,
                                 double(l < group.used ? SVMCUT_LABEL_OPEN : SVMCUT_LABEL_MET),
                                 0,
                                 0,
                                 0,
                                 0,
                                 0};
        for (int64_t i = 0; i < n; ++i) {
            group.rows[i] = static_cast<uint8_t>(group.box(i) > 0 ? bits : 0);
            group.order[i] = static_cast<int32_t>(i);
        }
    }
}

int svmcut_label_cd_run(const svmcut_label_cd* run, int64_t looks, int threads,
                        const volatile int* cancel) {
    std::atomic<bool> failed{false}, cancelled{false};
    for_pieces(run->groups, threads, [&](int64_t g) {
        try {
            if (!advance(Group(*run, g), looks, cancel)) cancelled = true;
        } catch (const std::bad_alloc&) {
            failed = true;
        }
    });
    return failed ? SVMCUT_NO_MEMORY : cancelled ? SVMCUT_CANCELLED : SVMCUT_OK;
}

}  // extern "C"
