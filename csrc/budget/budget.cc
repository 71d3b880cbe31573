// SPDX-License-Identifier: BSD-3-Clause
//
// Steps of budgeted training: one example against at most B + 1 centres, O(B) kernel values.
//
//   BSCA   alpha_i <- clip(alpha_i + (1 - y_i f(x_i)) / K_ii, 0, C_i), and f moves by the change
//          (Qaadan, Schueler and Glasmachers, 2018, Algorithm 1); of targets u = beta_i + (y_i -
//          f(x_i)) / K_ii, less tube / K_ii towards 0, clipped to -C_i and C_i (Ho and Lin, JMLR
//          2012, Algorithm 4)
//   BSGD   f <- (1 - 1/t) f, and + y_i n C / t K(x_i, .) where y_i f(x_i) < 1 before (Wang, Crammer
//          and Vucetic, JMLR 13, 2012); the factor is kept apart from the coefficients, and their
//          product n C does not depend on t. With weights v of the examples they are visited as
//          often as these say, and sum v stands for n. Of targets beyond the tube the sign of y_i -
//          f(x_i) stands for y_i
//   a centre too many: the one with the least |beta| sqrt(K(z, z)) is merged with the one of its
//   sign that loses least,
//   or projected on the others, or dropped
//
// Deviations from the papers: an example that is a centre still gets no second one; a centre whose
// coefficient returns to 0 leaves.
#include "budget/budget.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <new>
#include <numeric>

#include "budget/merge_table.h"
#include "core/parallel.h"

namespace {

using svmcut::kTile;

constexpr double kFold = 1e-6;              // a smaller scale goes into the coefficients
constexpr double kLargestProjection = 100;  // more than this is rounding; the centre is dropped
constexpr int64_t kWorkBetweenClocks = 1 << 18;
constexpr int64_t kQueriesAtOnce = 48, kTilesAtOnce = 8;

double largest_norm(const svmcut_csr& X) {
    double largest = 0;
    for (int64_t i = 0; i < X.n_rows; ++i) {
        double sum = 0;
        for (int64_t e = X.indptr[i]; e < X.indptr[i + 1]; ++e)
            sum += static_cast<double>(X.data[e]) * X.data[e];
        largest = std::max(largest, sum);
    }
    return largest;
}

// The largest float not above x.
float float_below(double x) {
    const auto nearest = static_cast<float>(x);
    return static_cast<double>(nearest) > x ? std::nextafterf(nearest, 0.0f) : nearest;
}

}  // namespace

bool svmcut_budget::open(int threads) {
    const int64_t n = X.n_rows;
    const bool adaptive = options.sampling == SVMCUT_ADAPTIVE;
    state = {};
    state.epoch = -1;
    state.scale = 1;
    try {
        if (options.dual) alpha.assign(n, 0.0f);
        if (weights && !options.dual) {
            sums.assign(weights, weights + n);
            std::partial_sum(sums.begin(), sums.end(), sums.begin());
        }
        if (!options.append) place.assign(n, -1);
        if (options.sampling != SVMCUT_INDEPENDENT) schedule.reserve(adaptive ? 2 * n + 1 : n);
        if (adaptive) {
            preference.assign(n, 1.0f);
            credit.assign(n, 0.5f);
        }
        if (options.maintenance == SVMCUT_MERGE) {
            table.resize(svmcut::kMergeGrid * svmcut::kMergeGrid);
            first.resize(X.n_features);
            second.resize(X.n_features);
        }
    } catch (...) {
        return false;
    }
    if (!table.empty()) svmcut::merge_table(table.data(), threads);
    const int64_t start = std::min<int64_t>(std::min(options.budget, n) + 1, 4096);
    return centres.open(centres.points.kernel, X.n_features, largest_norm(X), start) && make_room();
}

bool svmcut_budget::make_room() {
    if (room >= centres.places()) return true;
    room = centres.places();
    K = svmcut::lines<float>(room);
    kappa = svmcut::lines<float>(room);
    if (!K || !kappa) return false;
    std::fill_n(K.get(), room, 0.0f);
    std::fill_n(kappa.get(), room, 0.0f);
    return true;
}

void svmcut_budget::evaluate(const svmcut::Probe& of, float* out) {
    const int64_t tiles = (centres.count + kTile - 1) / kTile;
    rows_code->evaluate(centres.points, &of.query, 1, 0, tiles, out, room, nullptr);
    state.evaluations += centres.count;
}

int svmcut_budget::step() {
    if (state.position == state.scheduled) begin_epoch();
    fetch(state.position);
    const int64_t i = visit(state.position++);
    centres.aim(probe, X, i);
    evaluate(probe, K.get());
    const int64_t used = (centres.count + kTile - 1) / kTile * kTile;
    const double f = state.scale * code->dot(K.get(), centres.beta.data(), used);
    // Labels: what is asked of y f is 1, and alpha = y beta >= 0. Targets: f is asked of, and alpha
    // = beta.
    const bool targets = options.tube >= 0;
    const double tube = targets ? options.tube : 0.0, sign = targets || y[i] > 0 ? 1.0 : -1.0;
    const double asked = targets ? y[i] : 1.0, rest = asked - sign * f;
    ++state.steps;
    if (options.dual) {
        const double own = svmcut::diagonal_of(centres.points.kernel, probe.query.squared),
                     before = alpha[i];
        const double free = own > 0 ? before + rest / own : rest,
                     bent = own > 0 ? tube / own : tube;
        double wanted = std::fabs(free) - bent;
        if (!(own > 0)) wanted = wanted > 0 ? most(i) : 0.0;
        float value = wanted <= 0 || (free < 0 && !targets)
                          ? 0.0f
                          : std::min(static_cast<float>(wanted), float_below(most(i)));
        if (free < 0) value = -value;
        const double change = value - before, paid = tube * (std::fabs(value) - std::fabs(before));
        alpha[i] = value;
        state.sum_alpha += asked * change - paid;
        if (options.sampling == SVMCUT_ADAPTIVE)
            prefer(i, change * (rest - 0.5 * change * own) - paid);
        return change != 0 ? move(i, sign * change) : SVMCUT_OK;
    }
    const auto t = static_cast<double>(state.steps);
    if (state.steps > 1) state.scale *= 1 - 1 / t;
    if (state.scale < kFold) {
        for (double& beta : centres.beta) beta *= state.scale;
        state.scale = 1;
    }
    const double all = sums.empty() ? static_cast<double>(X.n_rows) : sums.back();
    if (!(targets ? std::fabs(rest) > tube : rest > 0)) return SVMCUT_OK;
    return move(i, (rest < 0 ? -sign : sign) * all * options.C / (t * state.scale));
}

int svmcut_budget::move(int64_t i, double change) {
    ++state.moves;
    if (!options.append && place[i] >= 0) {
        const int32_t k = place[i];
        centres.beta[k] += change;
        if (centres.beta[k] == 0.0) remove(k);
        return SVMCUT_OK;
    }
    const auto k = static_cast<int32_t>(centres.count);
    if (!centres.append(probe, change, options.append ? -1 : static_cast<int32_t>(i)) ||
        !make_room())
        return SVMCUT_NO_MEMORY;
    if (!options.append) place[i] = k;
    try {
        if (options.maintenance == SVMCUT_PROJECT)
            factor.append(K.get(), centres.root[k] * centres.root[k], k);
        return centres.count > options.budget ? maintain() : SVMCUT_OK;
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
}

int svmcut_budget::maintain() {
    const int64_t used = (centres.count + kTile - 1) / kTile * kTile, newest = centres.count - 1;
    const int64_t a =
        std::max<int64_t>(0, code->smallest(centres.beta.data(), centres.root.data(), used));
    ++state.maintained;
    if (options.maintenance == SVMCUT_REMOVE || centres.beta[a] == 0.0) {
        ++state.removed;
        remove(a);
        return SVMCUT_OK;
    }
    const float* row = K.get();
    if (a != newest) {
        centres.aim(other, a);
        evaluate(other, kappa.get());
        row = kappa.get();
    }
    if (options.maintenance == SVMCUT_PROJECT) project(a, row);
    else merge(a, row);
    return SVMCUT_OK;
}

void svmcut_budget::merge(int64_t a, const float* row) {
    const int64_t used = (centres.count + kTile - 1) / kTile * kTile;
    const double own = centres.beta[a];
    centres.beta[a] = 0.0;
    const int64_t j = code->partner(row, centres.beta.data(), own, used, table.data());
    if (j >= 0) {
        const double K_aj = std::min(1.0, static_cast<double>(row[j])), beta = centres.beta[j];
        const double h = svmcut::merge_place(std::min(0.5, own / (own + beta)), K_aj);
        if (h > 0) {
            const double L = std::log(K_aj);
            centres.beta[j] = own * std::exp(L * (1 - h) * (1 - h)) + beta * std::exp(L * h * h);
            centres.get(a, first.data());
            centres.get(j, second.data());
            for (int64_t k = 0; k < X.n_features; ++k)
                second[k] = static_cast<float>(h * first[k] + (1 - h) * second[k]);
            centres.put(j, second.data());
            if (centres.owner[j] >= 0) place[centres.owner[j]] = -1;
            centres.owner[j] = -1;
        }
    } else {
        ++state.removed;
    }
    remove(a);
}

void svmcut_budget::project(int64_t a, const float* row) {
    const double own = centres.beta[a];
    const auto last = static_cast<int32_t>(centres.count - 1);
    remove(a);
    std::vector<double> x(factor.rank.size());
    for (size_t r = 0; r < x.size(); ++r)
        x[r] = own * row[factor.rank[r] == a ? last : factor.rank[r]];
    factor.solve(x);
    double size = 0;
    for (const double value : x) size += std::fabs(value);
    if (!(size <= kLargestProjection * std::fabs(own))) {
        ++state.removed;
        return;
    }
    for (size_t r = 0; r < x.size(); ++r) centres.beta[factor.rank[r]] += x[r];
}

void svmcut_budget::remove(int64_t k) {
    const int64_t last = centres.count - 1;
    if (centres.owner[k] >= 0) place[centres.owner[k]] = -1;
    if (k != last && centres.owner[last] >= 0) place[centres.owner[last]] = static_cast<int32_t>(k);
    if (options.maintenance == SVMCUT_PROJECT)
        factor.remove(static_cast<int32_t>(k), static_cast<int32_t>(last));
    centres.remove(k);
}

extern "C" {

svmcut_budget* svmcut_budget_new(const svmcut_csr* X, const double* y, const double* weights,
                                 const svmcut_kernel* kernel, const svmcut_budget_options* options,
                                 int threads, int instructions) {
    std::unique_ptr<svmcut_budget> run(new (std::nothrow) svmcut_budget);
    if (!run) return nullptr;
    run->X = *X;
    run->y = y;
    run->weights = weights;
    run->options = *options;
    run->centres.points.kernel = *kernel;
    run->rows_code = &svmcut::kernel_code(instructions);
    run->code = &svmcut::budget_code(instructions);
    return run->open(threads) ? run.release() : nullptr;
}

void svmcut_budget_delete(svmcut_budget* run) { delete run; }

int svmcut_budget_run(svmcut_budget* run, int64_t steps, double seconds) {
    using clock = std::chrono::steady_clock;
    const auto began = clock::now();
    int64_t work = 0;
    for (int64_t k = 0; k < steps; ++k) {
        const int status = run->step();
        if (status != SVMCUT_OK) return status;
        work += (run->centres.count + 16) * (run->probe.query.count + 16);
        if (work < kWorkBetweenClocks) continue;
        work = 0;
        if (std::chrono::duration<double>(clock::now() - began).count() >= seconds) break;
    }
    return SVMCUT_OK;
}

void svmcut_budget_read(const svmcut_budget* run, svmcut_budget_state* state) {
    *state = run->state;
    state->centres = run->centres.count;
}

void svmcut_budget_save(const svmcut_budget* run, const svmcut_budget_arrays* to) {
    const svmcut::Centres& centres = run->centres;
    if (to->centres)
        for (int64_t k = 0; k < centres.count; ++k)
            centres.get(k, to->centres + k * run->X.n_features);
    if (to->beta) std::copy_n(centres.beta.data(), centres.count, to->beta);
    if (to->owner) std::copy_n(centres.owner.data(), centres.count, to->owner);
    if (to->alpha) std::copy(run->alpha.begin(), run->alpha.end(), to->alpha);
    if (to->preference) std::copy(run->preference.begin(), run->preference.end(), to->preference);
    if (to->credit) std::copy(run->credit.begin(), run->credit.end(), to->credit);
    if (to->schedule) std::copy(run->schedule.begin(), run->schedule.end(), to->schedule);
    if (to->factor) std::copy(run->factor.rows.begin(), run->factor.rows.end(), to->factor);
    if (to->rank) std::copy(run->factor.rank.begin(), run->factor.rank.end(), to->rank);
}

int svmcut_budget_restore(svmcut_budget* run, const svmcut_budget_state* state,
                          const svmcut_budget_arrays* from) {
    svmcut::Centres& centres = run->centres;
    const int64_t d = run->X.n_features, count = state->centres;
    try {
        while (centres.count) run->remove(centres.count - 1);
        for (int64_t k = 0; k < count; ++k) {
            run->probe.query = {nullptr, nullptr, d, from->centres + k * d, 0.0, 0.0};
            if (!centres.append(run->probe, from->beta[k], from->owner[k])) return SVMCUT_NO_MEMORY;
            centres.put(k, from->centres + k * d);
            if (from->owner[k] >= 0) run->place[from->owner[k]] = static_cast<int32_t>(k);
        }
        if (!run->make_room()) return SVMCUT_NO_MEMORY;
        if (from->alpha) std::copy_n(from->alpha, run->alpha.size(), run->alpha.data());
        if (from->preference)
            std::copy_n(from->preference, run->preference.size(), run->preference.data());
        if (from->credit) std::copy_n(from->credit, run->credit.size(), run->credit.data());
        if (from->factor)
            run->factor.rows.assign(from->factor, from->factor + count * (count + 1) / 2);
        if (from->rank) run->factor.rank.assign(from->rank, from->rank + count);
        run->state = *state;
        if (from->schedule) {
            run->schedule.assign(from->schedule, from->schedule + state->scheduled);
        } else if (state->epoch >= 0) {
            --run->state.epoch;
            run->begin_epoch();
            run->state = *state;
        }
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}

int svmcut_budget_scores(const svmcut_budget* run, const svmcut_csr* rows, const int64_t* which,
                         int64_t count, int threads, double* out) {
    const svmcut::Centres& centres = run->centres;
    const int64_t tiles = (centres.count + kTile - 1) / kTile, stride = kTilesAtOnce * kTile;
    std::atomic<bool> starved{false};
    svmcut::for_pieces((count + kQueriesAtOnce - 1) / kQueriesAtOnce, threads, [&](int64_t piece) {
        const int64_t begin = piece * kQueriesAtOnce,
                      here = std::min(kQueriesAtOnce, count - begin);
        const svmcut_csr part{rows->data, rows->indices, rows->indptr + (which ? 0 : begin),
                              rows->n_rows, rows->n_features};
        svmcut::Queries queries;
        const auto values = svmcut::lines<float>(here * stride);
        if (!values ||
            !queries.build(centres.points, part, which ? which + begin : nullptr, here)) {
            starved = true;
            return;
        }
        std::fill_n(out + begin, here, 0.0);
        for (int64_t t = 0; t < tiles; t += kTilesAtOnce) {
            const int64_t stop = std::min(t + kTilesAtOnce, tiles);
            run->rows_code->evaluate(centres.points, queries.query.get(), here, t, stop,
                                     values.get(), stride, nullptr);
            for (int64_t q = 0; q < here; ++q)
                out[begin + q] += run->state.scale * run->code->dot(values.get() + q * stride,
                                                                    centres.beta.data() + t * kTile,
                                                                    (stop - t) * kTile);
        }
    });
    return starved ? SVMCUT_NO_MEMORY : SVMCUT_OK;
}

int svmcut_budget_norm(svmcut_budget* run, double* squared) {
    svmcut::Centres& centres = run->centres;
    const int64_t used = (centres.count + kTile - 1) / kTile * kTile;
    double sum = 0;
    for (int64_t k = 0; k < centres.count; ++k) {
        centres.aim(run->other, k);
        run->evaluate(run->other, run->kappa.get());
        sum += centres.beta[k] * run->code->dot(run->kappa.get(), centres.beta.data(), used);
    }
    *squared = sum * run->state.scale * run->state.scale;
    return SVMCUT_OK;
}

int64_t svmcut_merge_table(float* table, int threads) {
    svmcut::merge_table(table, threads);
    return svmcut::kMergeGrid;
}

double svmcut_merge_place(double m, double kappa) { return svmcut::merge_place(m, kappa); }

}  // extern "C"
