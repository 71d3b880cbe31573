// SPDX-License-Identifier: BSD-3-Clause
//
//     labels y    max  sum_i beta_i y_i - 1/2 beta'K beta,                   0 <= beta_i y_i <= C_i
//     targets y   max  sum_i (beta_i y_i - tube |beta_i|) - 1/2 beta'K beta,   |beta_i| <= C_i
//
// and sum beta = 0 where the bias is free. Of nu machines sum beta, or where `apart` that over each
// sign of y, is what a state that was loaded says, and the linear term is no y.
//
// Pairs by second-order selection (Fan, Chen, Lin, JMLR 6, 2005); without bias the one of the
// largest gain and the one that gains most with it (Steinwart, Hush, Scovel, JMLR 12, 2011). v = y
// - K beta is held in float64; kernel rows are float64 over few points and float32 over many, where
// `refresh` makes up for it. Points that sit on a bound and cannot be selected soon are put aside
// (shrinking); the rest is laid out anew, so rows are as short as the active set. v of the points
// put aside is made up for in one blocked pass over the coefficients that changed since v was last
// whole.
#include "kernels/smo.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <new>

namespace svmcut {
namespace {

// Points are put aside when so large a part of the active ones can go.
constexpr double kWorthShrinking = 0.1;

}  // namespace
}  // namespace svmcut

bool svmcut_smo::open(const double* labels, const double* weights, double cache_bytes) {
    const auto room = static_cast<size_t>(svmcut::padded_row(n) + svmcut::kTile);
    if (weights) weight.assign(weights, weights + n);
    order.resize(static_cast<size_t>(n));
    v.assign(room, 0.0);
    beta.assign(room, 0.0);
    y.assign(room, 0.0);
    up.assign(room, 0);
    low.assign(room, 0);
    diagonal.assign(room, 1.0f);
    for (int64_t p = 0; p < n; ++p) {
        order[p] = p;
        y[p] = targets ? labels[p] : labels[p] > 0 ? 1.0 : -1.0;
        v[p] = origin(p);
        mark(p);
    }
    whole_v = v;
    whole_beta = beta;
    active = n;
    restart_counter();
    if (!lay_out()) return false;
    layout = static_cast<int>(points.layout);
    for (int64_t p = 0; p < n; ++p) {
        const bool known = shared.given || shared.bare;
        const int64_t own = known ? columns[p] * shared.width + columns[p] : 0;
        diagonal[p] = !known  ? static_cast<float>(points.diagonal(p))
                      : exact ? static_cast<float>(static_cast<const double*>(shared.values)[own])
                              : static_cast<const float*>(shared.values)[own];
    }
    select();
    return exact ? exact_cache.open(n, cache_bytes) : cache.open(n, cache_bytes);
}

template <class Search>
svmcut::Candidate svmcut_smo::search(svmcut::Crew& crew, Search&& part) {
    svmcut::Candidate best[svmcut::kMostPieces];
    best[0] = {0.0, -1};
    const int64_t size = piece(), count = pieces();
    crew.run(count, [&](int64_t k) { best[k] = part(k * size, std::min((k + 1) * size, active)); });
    for (int64_t k = 1; k < count; ++k)
        if (best[k].at >= 0 && (best[0].at < 0 || best[k].value > best[0].value)) best[0] = best[k];
    return best[0];
}

template <class Update>
svmcut::Extremes svmcut_smo::update(svmcut::Crew& crew, Update&& part) {
    double low_end[svmcut::kMostPieces];
    const int64_t size = piece();
    const svmcut::Candidate best = search(crew, [&](int64_t begin, int64_t end) {
        const svmcut::Extremes found = part(begin, end);
        low_end[begin / size] = found.lowest;
        return found.highest;
    });
    return {best, *std::min_element(low_end, low_end + pieces())};
}

// As update, of the side that violates its rule most.
template <class Update>
svmcut::Extremes svmcut_smo::update_sides(svmcut::Crew& crew, Update&& part) {
    svmcut::Sides found[svmcut::kMostPieces];
    const svmcut::Extremes none{{-svmcut::kInfinity, -1}, svmcut::kInfinity};
    found[0] = {{none, none}};
    const int64_t size = piece(), count = pieces();
    crew.run(count,
             [&](int64_t k) { found[k] = part(k * size, std::min((k + 1) * size, active)); });
    svmcut::Sides& all = found[0];
    for (int64_t k = 1; k < count; ++k)
        for (int side = 0; side < 2; ++side) {
            svmcut::Extremes& own = all.of[side];
            const svmcut::Extremes& other = found[k].of[side];
            if (other.highest.at >= 0 &&
                (own.highest.at < 0 || other.highest.value > own.highest.value))
                own.highest = other.highest;
            own.lowest = std::min(own.lowest, other.lowest);
        }
    const auto violation = [&](int side) {
        return all.of[side].highest.value - all.of[side].lowest;
    };
    return all.of[violation(1) > violation(0)];
}

template <class Row>
const Row* svmcut_smo::row(svmcut::RowCache<Row>& rows, int64_t p, svmcut::Crew& crew,
                           int* status) {
    bool missing;
    Row* out = rows.row(p, &missing);
    if (!missing) return out;
    if (shared.values) {
        const Row* const values =
            static_cast<const Row*>(shared.values) + columns[p] * shared.width;
        for (int64_t k = 0; k < active; ++k) out[k] = values[columns[k]];
        std::fill(out + active, out + svmcut::padded_row(active), Row{0});
        return out;
    }
    svmcut::Queries query;
    if (!query.build(points, X, &order[p], 1)) {
        *status = SVMCUT_NO_MEMORY;
        return out;
    }
    const int64_t tiles = piece() / svmcut::kTile;
    crew.run((points.tiles + tiles - 1) / tiles, [&](int64_t k) {
        const int64_t first = k * tiles, last = std::min(first + tiles, points.tiles),
                      at = first * svmcut::kTile;
        if constexpr (sizeof(Row) == sizeof(double))
            rows_code->evaluate_double(points, query.query.get(), 1, first, last, out + at, active);
        else
            rows_code->evaluate(points, query.query.get(), 1, first, last, out + at, active,
                                sums.empty() ? nullptr : sums.data() + at);
    });
    std::fill(out + active, out + svmcut::padded_row(active), Row{0});
    evaluations += active;
    return out;
}

// Sets the next i and the extremes from v as it is.
void svmcut_smo::select() {
    const std::vector<float> zero(v.size(), 0.0f);
    const auto& loops = code->narrow[marks()];
    if (apart) {
        svmcut::Crew alone(1);
        const auto found = update_sides(alone, [&](int64_t begin, int64_t end) {
            return loops.update_sides(v.data(), zero.data(), zero.data(), 0.0, up.data(),
                                      low.data(), begin, end);
        });
        next = found.highest;
        highest = next.value;
        lowest = found.lowest;
        return;
    }
    const auto found = free_bias
                           ? loops.update(v.data(), zero.data(), zero.data(), 0.0, tube, up.data(),
                                          low.data(), 0, active)
                           : loops.update_two(v.data(), zero.data(), zero.data(), 0.0, 0.0, tube,
                                              diagonal.data(), up.data(), low.data(), 0, active);
    next = found.highest;
    highest = free_bias ? next.value : -found.lowest;
    lowest = found.lowest;
}

// Raises beta_i and lowers beta_j to their best point, b and a being slope and curvature here;
// tells how far. Where one of them passes 0 the slope falls by twice the tube.
double svmcut_smo::walk(int64_t i, int64_t j, double b, double a) {
    const double room_i = top(i) - beta[i], room_j = beta[j] - bottom(j);
    const double bends[2] = {beta[i] < 0 ? -beta[i] : svmcut::kInfinity,
                             beta[j] > 0 ? beta[j] : svmcut::kInfinity};
    double s = b / a;
    if (tube > 0)
        for (const double bend : {std::min(bends[0], bends[1]), std::max(bends[0], bends[1])})
            if (s > bend) s = std::max(bend, s - 2 * tube / a);
    const double room = std::min(room_i, room_j);
    if (!(s < room)) s = room;
    dual += s * (b - 0.5 * a * s);
    if (tube > 0)
        for (const double bend : bends) dual -= 2 * tube * std::max(0.0, s - bend);
    beta[i] = s == room_i ? top(i) : beta[i] + s;
    beta[j] = s == room_j ? bottom(j) : beta[j] - s;
    mark(i);
    mark(j);
    return s;
}

// The best of beta_i and beta_j in their box, each within what is allowed; j < 0: beta_i alone.
template <class Row>
void svmcut_smo::move_two(int64_t i, int64_t j, const Row* row_i, const Row* row_j, double* moves) {
    struct Piece {  // of a box, and the slope of the dual in it
        double low, high, slope;
    };
    const auto pieces = [this](int64_t p, Piece* out) {
        if (!targets) return *out = {bottom(p), top(p), v[p]}, 1;
        out[0] = {bottom(p), 0.0, v[p] + tube};
        out[1] = {0.0, top(p), v[p] - tube};
        return 2;
    };
    const double a = std::max(static_cast<double>(row_i[i]), 1e-12), own = j < 0 ? 0.0 : beta[j];
    const double c = j < 0 ? 0.0 : std::max(static_cast<double>(row_j[j]), 1e-12),
                 K = j < 0 ? 0.0 : row_i[j];
    const double v_j = j < 0 ? 0.0 : v[j];
    double gain = 0.0, best_i = beta[i], best_j = own;
    const auto offer = [&](double to_i, double to_j) {
        const double s = to_i - beta[i], t = to_j - own;
        double value = s * v[i] + t * v_j - 0.5 * (a * s * s + 2 * K * s * t + c * t * t);
        if (tube > 0)
            value -= tube * (std::abs(to_i) - std::abs(beta[i]) + std::abs(to_j) - std::abs(own));
        if (value > gain) {
            gain = value;
            best_i = to_i;
            best_j = to_j;
        }
    };
    Piece of_i[2], of_j[2];
    const int count_i = pieces(i, of_i), count_j = j < 0 ? 0 : pieces(j, of_j);
    for (int m = 0; m < count_i; ++m) {
        const Piece& p = of_i[m];
        offer(std::clamp(beta[i] + p.slope / a, p.low, p.high), own);
        for (int k = 0; k < count_j; ++k) {
            const Piece& q = of_j[k];
            const double area = a * c - K * K;
            const double to_i = beta[i] + (p.slope * c - q.slope * K) / area;
            const double to_j = own + (q.slope * a - p.slope * K) / area;
            if (area > 1e-12 * a * c && to_i >= p.low && to_i <= p.high && to_j >= q.low &&
                to_j <= q.high) {
                offer(to_i, to_j);
                continue;
            }
            for (const double edge : {p.low, p.high})
                offer(edge, std::clamp(own + (q.slope - K * (edge - beta[i])) / c, q.low, q.high));
            for (const double edge : {q.low, q.high})
                offer(std::clamp(beta[i] + (p.slope - K * (edge - own)) / a, p.low, p.high), edge);
        }
    }
    moves[0] = best_i - beta[i];
    moves[1] = best_j - own;
    beta[i] = best_i;
    mark(i);
    if (j >= 0) {
        beta[j] = best_j;
        mark(j);
    }
    dual += gain;
}

// Moves one pair; sets the next i and the extremes.
template <class Row>
int svmcut_smo::step(svmcut::RowCache<Row>& rows, const svmcut::SmoLoops<Row>& loops,
                     svmcut::Crew& crew) {
    int status = SVMCUT_OK;
    const int64_t i = next.at;
    auto lap = now();
    const Row* const row_i = row(rows, i, crew, &status);
    if (status) return status;
    count(svmcut::kKernel, &lap);
    svmcut::Extremes found;
    if (free_bias) {
        int64_t j = search(crew, [&](int64_t begin, int64_t end) {
                        return loops.partner(v.data(), row_i, diagonal.data(), rise(i), tube,
                                             diagonal[i], low.data(), side(i), begin, end);
                    }).at;
        if (j < 0)  // gains that are no numbers; the most violating pair still moves
            for (int64_t p = 0; p < active; ++p)
                if (low[p] && side(p) == side(i) && (j < 0 || fall(p) < fall(j))) j = p;
        count(svmcut::kSelect, &lap);
        const Row* const row_j = row(rows, j, crew, &status);
        if (status) return status;
        count(svmcut::kKernel, &lap);
        const double own = static_cast<double>(row_i[i]) + row_j[j];
        // boxes of nu machines have the unit of no kernel
        const double least = linear.empty() ? 1e-12 : std::max(1e-12 * own, 1e-300);
        const double a = std::max(own - 2.0 * row_i[j], least);
        const double s = walk(i, j, rise(i) - fall(j), a);
        count(svmcut::kOptimizer, &lap);
        const auto move = [&](int64_t begin, int64_t end) {
            return loops.update(v.data(), row_i, row_j, s, tube, up.data(), low.data(), begin, end);
        };
        const auto move_sides = [&](int64_t begin, int64_t end) {
            return loops.update_sides(v.data(), row_i, row_j, s, up.data(), low.data(), begin, end);
        };
        found = apart ? update_sides(crew, move_sides) : update(crew, move);
        highest = found.highest.value;
    } else {
        const double slope = up[i] && rise(i) > 0 ? rise(i) : fall(i);
        int64_t j = search(crew, [&](int64_t begin, int64_t end) {
                        return loops.companion(v.data(), row_i, diagonal.data(), slope, tube,
                                               diagonal[i], up.data(), low.data(), begin, end);
                    }).at;
        count(svmcut::kSelect, &lap);
        const Row* const row_j = j < 0 ? row_i : row(rows, j, crew, &status);
        if (status) return status;
        count(svmcut::kKernel, &lap);
        if (j == i) j = -1;
        double moves[2] = {0.0, 0.0};
        move_two(i, j, row_i, row_j, moves);
        count(svmcut::kOptimizer, &lap);
        found = update(crew, [&](int64_t begin, int64_t end) {
            return loops.update_two(v.data(), row_i, row_j, moves[0], moves[1], tube,
                                    diagonal.data(), up.data(), low.data(), begin, end);
        });
        highest = -found.lowest;
    }
    count(svmcut::kUpdate, &lap);
    lowest = found.lowest;
    next = found.highest;
    ++iterations;
    return status;
}

template <class T>
static void rearrange(std::vector<T>& values, const std::vector<int64_t>& kept,
                      const std::vector<int64_t>& aside) {
    std::vector<T> old(values.begin(),
                       values.begin() + static_cast<int64_t>(kept.size() + aside.size()));
    size_t at = 0;
    for (int64_t p : kept) values[at++] = old[static_cast<size_t>(p)];
    for (int64_t p : aside) values[at++] = old[static_cast<size_t>(p)];
}

void svmcut_smo::permute(const std::vector<int64_t>& kept, const std::vector<int64_t>& aside) {
    rearrange(order, kept, aside);
    rearrange(v, kept, aside);
    rearrange(beta, kept, aside);
    rearrange(whole_v, kept, aside);
    rearrange(whole_beta, kept, aside);
    rearrange(y, kept, aside);
    rearrange(diagonal, kept, aside);
    rearrange(up, kept, aside);
    rearrange(low, kept, aside);
    if (!weight.empty()) rearrange(weight, kept, aside);
    if (!linear.empty()) rearrange(linear, kept, aside);
}

// Puts bounded points aside that neither extreme can meet soon; nothing where too few can go.
int svmcut_smo::shrink() {
    restart_counter();
    std::vector<int64_t> kept, aside;
    double ends[2][2] = {{lowest, highest}, {lowest, highest}};  // of either side
    if (apart) {
        for (auto& end : ends) end[0] = svmcut::kInfinity, end[1] = -svmcut::kInfinity;
        for (int64_t p = 0; p < active; ++p) {
            double* const end = ends[side(p) > 0];
            if (low[p]) end[0] = std::min(end[0], v[p]);
            if (up[p]) end[1] = std::max(end[1], v[p]);
        }
    }
    for (int64_t p = 0; p < active; ++p) {
        const double* const end = ends[side(p) > 0];
        const bool idle = (!up[p] || rise(p) < end[0]) && (!low[p] || fall(p) > end[1]);
        (idle ? aside : kept).push_back(p);
    }
    if (static_cast<double>(aside.size()) < svmcut::kWorthShrinking * static_cast<double>(active))
        return SVMCUT_OK;
    if (kept.empty()) return SVMCUT_OK;
    exact ? exact_cache.shrink(kept) : cache.shrink(kept);
    permute(kept, aside);
    active = static_cast<int64_t>(kept.size());
    // Vector loops run past the last active point: what follows must be no candidate.
    std::fill(up.begin() + active, up.end(), 0);
    std::fill(low.begin() + active, low.end(), 0);
    if (!lay_out()) return SVMCUT_NO_MEMORY;
    select();
    return SVMCUT_OK;
}

// out += sum_k coef_k K(rows_k, .) at the points, in the precision of the rows.
int svmcut_smo::sum_rows(const svmcut::Points& at, const std::vector<int64_t>& rows,
                         const double* coef, double* out, int threads) const {
    const auto sum = exact ? svmcut::accumulate_double : svmcut::accumulate;
    return sum(at, *rows_code, X, rows.data(), static_cast<int64_t>(rows.size()), coef, out,
               threads);
}

// v of the points put aside += sum_k coef_k K(rows_k, .), from shared values.
template <class Row>
void svmcut_smo::sum_shared(const std::vector<int64_t>& rows, const std::vector<double>& coef) {
    for (size_t r = 0; r < rows.size(); ++r) {
        const Row* const values =
            static_cast<const Row*>(shared.values) + shared.place[rows[r]] * shared.width;
        for (int64_t p = active; p < n; ++p) v[p] += coef[r] * values[columns[p]];
    }
}

// Makes v whole: every point is active again.
int svmcut_smo::make_whole(int threads) {
    if (active < n) {
        svmcut::Points aside;
        const int64_t count = n - active;
        if (!shared.values && !aside.build(X, kernel, order.data() + active, count, layout))
            return SVMCUT_NO_MEMORY;
        std::vector<int64_t> rows;
        std::vector<double> change;
        for (int64_t p = 0; p < n; ++p)
            if (beta[p] != whole_beta[p]) {
                rows.push_back(order[p]);
                change.push_back(whole_beta[p] - beta[p]);
            }
        std::copy(whole_v.begin() + active, whole_v.begin() + n, v.begin() + active);
        if (shared.values) {
            exact ? sum_shared<double>(rows, change) : sum_shared<float>(rows, change);
        } else {
            const int status = sum_rows(aside, rows, change.data(), v.data() + active, threads);
            if (status) return status;
            evaluations += count * static_cast<int64_t>(rows.size());
        }
        active = n;
        for (int64_t p = 0; p < n; ++p) mark(p);
        if (!lay_out()) return SVMCUT_NO_MEMORY;
        forget_rows(n);
    }
    whole_v = v;
    whole_beta = beta;
    select();
    return SVMCUT_OK;
}

extern "C" svmcut_smo* svmcut_smo_new(const svmcut_csr* X, const double* y, const double* weights,
                                      const svmcut_kernel* kernel, double C, double tube,
                                      int free_bias, double cache_bytes, int instructions,
                                      const svmcut_shared_values* shared, const svmcut_nu* nu) {
    try {
        std::unique_ptr<svmcut_smo> smo(new svmcut_smo);
        smo->X = *X;
        smo->kernel = *kernel;
        smo->n = X->n_rows;
        smo->exact = smo->n <= svmcut::kExactPoints;
        smo->C = C;
        smo->targets = tube >= 0;
        smo->tube = smo->targets ? tube : 0.0;
        smo->free_bias = free_bias;
        if (shared) smo->shared = *shared;
        if (nu) {
            smo->linear.assign(nu->linear, nu->linear + smo->n);
            smo->apart = nu->apart != 0;
        }
        smo->rows_code = &svmcut::kernel_code(instructions);
        smo->code = &svmcut::smo_code(instructions);
        return smo->open(y, weights, cache_bytes) ? smo.release() : nullptr;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

extern "C" int svmcut_smo_run(svmcut_smo* smo, double tolerance, int64_t steps, double seconds,
                              int threads, int* finished) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    *finished = 0;
    svmcut::Crew crew(threads);
    try {
        for (int64_t k = 0; k < steps; ++k) {
            if (smo->next.at < 0 ||
                !(smo->highest - smo->lowest > (smo->free_bias ? 1 : 2) * tolerance)) {
                if (smo->active < smo->n) {
                    if (const int status = smo->make_whole(threads)) return status;
                    if (smo->highest - smo->lowest > (smo->free_bias ? 1 : 2) * tolerance) {
                        smo->until_shrinking = 1;
                        continue;
                    }
                }
                *finished = 1;
                return SVMCUT_OK;
            }
            if (--smo->until_shrinking == 0) {
                if (!smo->unshrunk && smo->highest - smo->lowest <= 10 * tolerance) {
                    smo->unshrunk = true;
                    if (const int status = smo->make_whole(threads)) return status;
                }
                if (const int status = smo->shrink()) return status;
            }
            if (const int status = smo->step(crew)) return status;
            if ((k & 15) == 15 &&
                std::chrono::duration<double>(Clock::now() - began).count() > seconds)
                break;
        }
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
    return SVMCUT_OK;
}
