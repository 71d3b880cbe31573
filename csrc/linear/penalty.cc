// SPDX-License-Identifier: BSD-3-Clause
//
// Sums of losses without corners under l1 |w|_1 + l2/2 |w|^2, by Newton steps whose quadratic
// problems coordinate descent solves (Friedman, Hastie and Tibshirani, JSS 2010; Yuan, Ho and Lin,
// JMLR 2012):
//
//   model       G.d + 1/2 d'Hd + l1 |w + d|_1,   G = l2 w - X'u, u_i = -C_i l'(f_i),
//               H = X'BX + l2, B_ii = C_i l''(f_i)
//   coordinate  d_j to the minimum of the model in d_j; the column reads B X d, which is kept by row
//   step        w + t d, t = 1, 1/2, .. until F falls by a hundredth of what the model's slope says
//   dual        u scaled until max |v| <= l1, v = X'u; with l2 > 0 u itself, less
//               ((|v_j| - l1)+)^2 / (2 l2) a column
//
// A loss is read once a step, a column once a visit of its coordinate. Sums along a column have the
// order of its entries.

#include "include/penalty.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "include/linear.h"
#include "linear/losses.h"

namespace {

constexpr double kLeast = 1e-12;   // added to every second derivative
constexpr double kArmijo = 0.01;   // of the promised fall a step has to bring
constexpr double kUnseen = 1e-14;  // of F, what its rounding may hide of a fall
constexpr double kCloser = 0.35;   // a model may leave that much less once one cycle is enough
constexpr int kFewCycles = 12, kMostCycles = 50;  // of one Newton step, on many weights and few
constexpr int kCyclesAlone = 3;  // before conjugate gradients over the weights in use
constexpr int64_t kFewTurns = 2, kMostUsed = 300;  // signs that change in a cycle before them
constexpr int kMostProducts = 60;                  // of those, each time
constexpr int kMostRounds = 20;                    // of them in a row, each with a weight less
constexpr double kResidual = 1e-3;                 // of their first residual they may leave
constexpr int kMostHalvings = 40;
constexpr int kPatience = 100;  // steps without a smaller gap
constexpr int kRootSteps = 60;

struct Row {
    float bend;  // B_ii
    float pull;  // (B X d)_i
};

struct Slope {
    double u, bend;
};

struct Column {
    const svmcut_entry *begin, *end;
    int64_t count() const { return end - begin; }
};

Column column_of(const svmcut_columns* columns, int64_t j) {
    return {columns->entries + columns->indptr[j], columns->entries + columns->indptr[j + 1]};
}

void add(const Column& at, double c, double* out) {
    for (const svmcut_entry* k = at.begin; k != at.end; ++k) out[k->i] += c * k->x;
}

double pulled(const Column& at, const Row* rows) {
    double a = 0, b = 0, c = 0, d = 0;
    const svmcut_entry* k = at.begin;
    for (; at.end - k >= 4; k += 4) {
        a += double(k[0].x * rows[k[0].i].pull);
        b += double(k[1].x * rows[k[1].i].pull);
        c += double(k[2].x * rows[k[2].i].pull);
        d += double(k[3].x * rows[k[3].i].pull);
    }
    for (; k != at.end; ++k) a += double(k->x * rows[k->i].pull);
    return (a + b) + (c + d);
}

// Sum of u and bend along a column.
void sums_of(const Column& at, const Slope* rows, double* u, double* bend) {
    double a = 0, b = 0, c = 0, d = 0;
    const svmcut_entry* k = at.begin;
    for (; at.end - k >= 2; k += 2) {
        const Slope &one = rows[k[0].i], &two = rows[k[1].i];
        const double x = k[0].x, z = k[1].x;
        a += x * one.u;
        b += x * x * one.bend;
        c += z * two.u;
        d += z * z * two.bend;
    }
    if (k != at.end) {
        const double x = k->x;
        a += x * rows[k->i].u;
        b += x * x * rows[k->i].bend;
    }
    *u = a + c;
    *bend = b + d;
}

void push(const Column& at, double step, Row* rows) {
    const float by = static_cast<float>(step);
    for (const svmcut_entry* k = at.begin; k != at.end; ++k) {
        Row& row = rows[k->i];
        row.pull += row.bend * (by * k->x);
    }
}

// Step of a coordinate from w: slope q, curvature h.
double best_step(double w, double q, double h, double l1) {
    if (q + l1 <= h * w) return -(q + l1) / h;
    if (q - l1 >= h * w) return -(q - l1) / h;
    return -w;
}

// How far a slope is from where w may rest.
double violation(double w, double q, double l1) {
    if (w == 0.0) return std::max(0.0, std::fabs(q) - l1);
    return std::fabs(q + std::copysign(l1, w));
}

// What a loss adds to the dual for a slope u = C g: C h(g) (losses.h), by loss.
double conjugate(int loss, double y, double tube, double centre, double C, double u) {
    if (!(C > 0.0)) return 0.0;
    const double g = u / C, p = y * g;
    switch (loss) {
        case SVMCUT_HINGE:
            return C * (p - (p - centre) * (p - centre) / (2 * tube));
        case SVMCUT_SQUARED_HINGE:
            return C * (p - 0.25 * p * p);
        case SVMCUT_LOGISTIC:
            return C * ((p > 0.0 ? -p * std::log(p) : 0.0) +
                        (p < 1.0 ? -(1.0 - p) * std::log1p(-p) : 0.0));
        default:
            return C * (g * y - tube * std::fabs(g) - 0.25 * g * g);
    }
}

template <class Loss>
class Newton {
  public:
    Newton(const svmcut_penalized& problem, const int32_t* set, int64_t count, double* w, double* s,
           const volatile int* cancel)
        : p_(problem),
          set_(set),
          count_(count),
          w_(w),
          s_(s),
          cancel_(cancel),
          rows_(problem.n),
          u_(problem.n),
          e_(problem.n),
          g_(count + 1),
          h_(count + 1),
          d_(count + 1),
          v_(count + 1),
          active_(count) {
        constant_ = p_.free ? 1.0 : p_.bias;
        last_ = p_.columns->count;  // place of the constant's weight
    }

    int run(double enough, double part, int64_t most, svmcut_penalized_end* end) {
        *end = {0, 0, 0};
        int status = SVMCUT_OK, idle = 0;
        double best = HUGE_VAL;
        for (;;) {
            end->gap = look();
            if (first_ < 0.0) first_ = miss_;
            if (end->gap <= enough || entries_ >= most) break;
            if (end->steps && miss_ <= part * first_) break;
            idle = end->gap < 0.999 * best ? 0 : idle + 1;
            best = std::min(best, end->gap);
            if (idle > kPatience) {
                status = SVMCUT_NO_PROGRESS;
                break;
            }
            if (cancelled()) return SVMCUT_CANCELLED;
            if (!descend()) return SVMCUT_CANCELLED;
            if (!walk()) {
                status = SVMCUT_NO_PROGRESS;
                break;
            }
            ++end->steps;
        }
        end->entries = entries_;
        return status;
    }

  private:
    bool cancelled() const { return cancel_ && *cancel_; }
    double l1_of(int64_t k) const { return k == count_ && p_.free ? 0.0 : p_.l1; }
    double l2_of(int64_t k) const { return k == count_ && p_.free ? 0.0 : p_.l2; }
    int64_t places() const { return count_ + (constant_ != 0.0); }
    double centre(int64_t i) const { return p_.centres ? p_.centres[i] : 0.0; }
    double& weight(int64_t k) const { return w_[k == count_ ? last_ : set_[k]]; }
    Column column(int64_t k) const { return column_of(p_.columns, set_[k]); }

    // Slopes and curvatures of the rows; their sums.
    svmcut::Tangent tangents(double* slope, double* bend) {
        svmcut::Tangent sum = {0, 0, 0, 0};
        *slope = *bend = 0;
        for (int64_t i = 0; i < p_.n; ++i) {
            const double C = p_.costs[i];
            if (!(C > 0.0)) {
                u_[i] = {0, 0};
                continue;
            }
            const svmcut::Tangent at = Loss::of(p_.y[i], s_[i], p_.tube, centre(i));
            u_[i] = {C * at.g, C * at.curvature};
            sum.value += C * at.value;
            sum.h += C * at.h;
            *slope += u_[i].u;
            *bend += u_[i].bend;
        }
        return sum;
    }

    // Moves a free constant to its best: bracketed Newton steps on the sum of u, which falls.
    svmcut::Tangent centred(double* slope, double* bend) {
        svmcut::Tangent at = tangents(slope, bend);
        if (!p_.free) return at;
        double low = -HUGE_VAL, high = HUGE_VAL, b = 0, reach = 1;
        double size = 0;
        for (int64_t i = 0; i < p_.n; ++i) size += p_.costs[i];
        for (int step = 0; step < kRootSteps && std::fabs(*slope) > 1e-15 * size; ++step) {
            (*slope > 0 ? low : high) = b;
            double to = *bend > 0 ? b + *slope / *bend : HUGE_VAL;
            if (!(low < to && to < high) || !std::isfinite(to)) {
                if (std::isfinite(low) && std::isfinite(high)) {
                    to = 0.5 * (low + high);
                } else {
                    to = b + std::copysign(reach, *slope);
                    reach *= 4;
                }
            }
            if (to == low || to == high || reach > 1e12) break;
            for (int64_t i = 0; i < p_.n; ++i) s_[i] += to - b;
            w_[last_] += to - b;
            b = to;
            at = tangents(slope, bend);
        }
        return at;
    }

    // Gradient and curvatures at w; the gap of the problem of these columns.
    double look() {
        double slope, bend, most = 0, over = 0, size = 0, square = 0;
        miss_ = 0;
        const svmcut::Tangent at = centred(&slope, &bend);
        for (int64_t k = 0; k < places(); ++k) {
            const double w = weight(k);
            if (k < count_) {
                const Column x = column(k);
                sums_of(x, u_.data(), &v_[k], &h_[k]);
                entries_ += x.count();
            } else {
                v_[k] = constant_ * slope;
                h_[k] = constant_ * constant_ * bend;
            }
            g_[k] = l2_of(k) * w - v_[k];
            h_[k] += l2_of(k) + kLeast;
            d_[k] = 0;
            if (k == count_ && p_.free) continue;
            miss_ += violation(w, g_[k], p_.l1);
            const double beyond = std::max(0.0, std::fabs(v_[k]) - p_.l1);
            most = std::max(most, std::fabs(v_[k]));
            over += beyond * beyond;
            size += std::fabs(w);
            square += w * w;
        }
        entries_ += 2 * p_.n;
        primal_ = at.value + p_.l1 * size + 0.5 * p_.l2 * square;
        if (p_.l2 > 0.0) return primal_ - at.h + over / (2 * p_.l2);
        if (most <= p_.l1) return primal_ - at.h;
        const double theta = p_.l1 / most;
        double dual = 0;
        for (int64_t i = 0; i < p_.n; ++i)
            dual += conjugate(p_.loss, p_.y[i], p_.tube, centre(i), p_.costs[i], theta * u_[i].u);
        return primal_ - dual;
    }

    // Coordinate descent on the model; d and (B X d) by row. False when cancelled.
    bool descend() {
        for (int64_t i = 0; i < p_.n; ++i) rows_[i] = {static_cast<float>(u_[i].bend), 0};
        int64_t active = count_;
        for (int64_t k = 0; k < count_; ++k) active_[k] = static_cast<int32_t>(k);
        double margin = HUGE_VAL;
        for (int cycle = 0; cycle < kMostCycles; ++cycle) {
            double sum = 0, worst = 0;
            int64_t kept = 0, used = 0, turned = 0;
            for (int64_t a = 0; a < active; ++a) {
                if ((a & 255) == 0 && cancelled()) return false;
                const int32_t k = active_[a];
                const Column x = column(k);
                const double now = weight(k) + d_[k];
                const double q = g_[k] + p_.l2 * d_[k] + pulled(x, rows_.data());
                entries_ += x.count();
                if (now == 0.0 && std::fabs(q) < p_.l1 - margin) continue;
                active_[kept++] = k;
                const double miss = violation(now, q, p_.l1);
                sum += miss;
                worst = std::max(worst, miss);
                const double step = best_step(now, q, h_[k], p_.l1);
                if (miss == 0.0 || std::fabs(step) < 1e-14 * std::fabs(now)) continue;
                turned += (now > 0) != (now + step > 0) || (now < 0) != (now + step < 0);
                used += now + step != 0.0;
                d_[k] = now + step == 0.0 ? -weight(k) : d_[k] + step;
                push(x, step, rows_.data());
                entries_ += x.count();
            }
            if (constant_ != 0.0) sum += turn();
            const bool all = active == count_;
            active = kept;
            margin = worst;
            if (sum > rest_ * first_) {
                if (used > kMostUsed && cycle >= kFewCycles) break;
                const bool settled = turned <= kFewTurns && used <= kMostUsed;
                if (settled && cycle % kCyclesAlone == kCyclesAlone - 1 && !hasten()) return false;
                continue;
            }
            if (cycle == 0) rest_ *= kCloser;
            if (all) break;
            for (int64_t k = 0; k < count_; ++k) active_[k] = static_cast<int32_t>(k);
            active = count_;
            margin = HUGE_VAL;
        }
        return true;
    }

    // The model's slope at d in place k.
    double slope_of(int64_t k) const {
        const double own = g_[k] + l2_of(k) * d_[k];
        if (k < count_) return own + pulled(column(k), rows_.data());
        double sum = 0;
        for (const Row& row : rows_) sum += row.pull;
        return own + constant_ * sum;
    }

    // Adds B X (step p) to the pull of the rows; p by place of `used_`.
    void pull(double step, const std::vector<double>& p) {
        for (size_t a = 0; a < used_.size(); ++a) {
            if (p[a] == 0.0) continue;
            if (used_[a] < count_) {
                push(column(used_[a]), step * p[a], rows_.data());
                entries_ += column(used_[a]).count();
            } else {
                for (Row& row : rows_) row.pull += row.bend * (step * p[a] * constant_);
            }
        }
    }

    // Where coordinates move in small steps: conjugate gradients, again and again where a weight
    // came to 0. False when cancelled.
    bool hasten() {
        bool blocked = true;
        for (int round = 0; blocked && round < kMostRounds; ++round) {
            if (cancelled()) return false;
            blocked = gradients();
        }
        return true;
    }

    // Conjugate gradients on the model over the weights in use, scaled by their curvatures, as far
    // as no weight changes its sign; whether one came to 0.
    bool gradients() {
        used_.clear();
        for (int64_t k = 0; k < places(); ++k)
            if (weight(k) + d_[k] != 0.0 || (k == count_ && p_.free)) used_.push_back(k);
        const size_t size = used_.size();
        std::vector<double> r(size), q(size), x(size, 0.0), Hq(size);
        double rz = 0;
        for (size_t a = 0; a < size; ++a) {
            const int64_t k = used_[a];
            const double now = weight(k) + d_[k];
            r[a] = -slope_of(k) - (now == 0.0 ? 0.0 : std::copysign(l1_of(k), now));
            q[a] = r[a] / h_[k];
            rz += r[a] * q[a];
        }
        const double enough = kResidual * kResidual * rz;
        // the products need the pull of the rows for themselves
        for (int64_t i = 0; i < p_.n; ++i) {
            e_[i] = rows_[i].pull;
            rows_[i].pull = 0;
        }
        for (int product = 0; product < kMostProducts && rz > enough; ++product) {
            pull(1.0, q);
            double bent = 0;
            for (size_t a = 0; a < size; ++a) {
                const int64_t k = used_[a];
                Hq[a] = slope_of(k) - g_[k] - l2_of(k) * d_[k] + (l2_of(k) + kLeast) * q[a];
                bent += q[a] * Hq[a];
                if (k < count_) entries_ += column(k).count();
            }
            for (Row& row : rows_) row.pull = 0;
            if (!(bent > 0)) break;
            const double t = rz / bent, before = rz;
            rz = 0;
            for (size_t a = 0; a < size; ++a) {
                x[a] += t * q[a];
                r[a] -= t * Hq[a];
                rz += r[a] * r[a] / h_[used_[a]];
            }
            for (size_t a = 0; a < size; ++a) q[a] = r[a] / h_[used_[a]] + rz / before * q[a];
        }
        for (int64_t i = 0; i < p_.n; ++i) rows_[i].pull = e_[i];
        double t = 1;
        size_t stops = size;
        for (size_t a = 0; a < size; ++a) {
            const int64_t k = used_[a];
            if (l1_of(k) == 0.0) continue;
            const double now = weight(k) + d_[k];
            if (now * x[a] < 0.0 && std::fabs(now) < t * std::fabs(x[a])) {
                t = -now / x[a];
                stops = a;
            }
        }
        pull(t, x);
        for (size_t a = 0; a < size; ++a)
            d_[used_[a]] = a == stops ? -weight(used_[a]) : d_[used_[a]] + t * x[a];
        return stops < size;
    }

    // The constant's coordinate; its violation.
    double turn() {
        const int64_t k = count_;
        double sum = 0;
        for (const Row& row : rows_) sum += row.pull;
        const double now = weight(k) + d_[k];
        const double q = g_[k] + l2_of(k) * d_[k] + constant_ * sum;
        const double miss = violation(now, q, l1_of(k)), step = best_step(now, q, h_[k], l1_of(k));
        entries_ += 2 * p_.n;
        if (miss == 0.0) return 0.0;
        d_[k] = now + step == 0.0 ? -weight(k) : d_[k] + step;
        for (Row& row : rows_) row.pull += row.bend * (step * constant_);
        return miss;
    }

    double value(double s, int64_t i) const {
        return p_.costs[i] > 0.0 ? p_.costs[i] * Loss::of(p_.y[i], s, p_.tube, centre(i)).value
                                 : 0.0;
    }

    // Goes along d as far as F falls; false where it does not.
    bool walk() {
        double promised = 0;
        bool still = true;
        std::fill(e_.begin(), e_.end(), 0.0);
        for (int64_t k = 0; k < places(); ++k) {
            if (d_[k] == 0.0) continue;
            still = false;
            const double w = weight(k);
            promised += g_[k] * d_[k] + l1_of(k) * (std::fabs(w + d_[k]) - std::fabs(w));
            if (k == count_) {
                for (double& e : e_) e += constant_ * d_[k];
            } else {
                const Column x = column(k);
                add(x, d_[k], e_.data());
                entries_ += x.count();
            }
        }
        // what is left of it may be rounding
        promised = std::min(promised, 0.0);
        if (still) return false;
        double t = 1;
        for (int halving = 0;; ++halving, t *= 0.5) {
            if (halving == kMostHalvings) return false;
            double rise = 0;
            for (int64_t k = 0; k < places(); ++k) {
                if (d_[k] == 0.0) continue;
                const double w = weight(k), to = w + t * d_[k];
                rise += l1_of(k) * (std::fabs(to) - std::fabs(w)) +
                        0.5 * l2_of(k) * (to - w) * (to + w);
            }
            for (int64_t i = 0; i < p_.n; ++i)
                if (e_[i] != 0.0) rise += value(s_[i] + t * e_[i], i) - value(s_[i], i);
            entries_ += p_.n;
            if (rise <= kArmijo * t * promised + kUnseen * primal_) break;
        }
        for (int64_t k = 0; k < places(); ++k) {
            double& w = weight(k);
            w = t == 1.0 && d_[k] == -w ? 0.0 : w + t * d_[k];
        }
        for (int64_t i = 0; i < p_.n; ++i) s_[i] += t * e_[i];
        return true;
    }

    const svmcut_penalized& p_;
    const int32_t* set_;
    int64_t count_, last_ = 0, entries_ = 0;
    double *w_, *s_, constant_ = 0, primal_ = 0;
    double miss_ = 0, first_ = -1, rest_ = 1;  // violations now, at first; what a model may leave
    const volatile int* cancel_;
    std::vector<Row> rows_;
    std::vector<Slope> u_;
    std::vector<double> e_, g_, h_, d_, v_;
    std::vector<int32_t> active_;
    std::vector<int64_t> used_;
};

template <class Loss>
int newton(const svmcut_penalized* problem, const int32_t* set, int64_t count, double* w, double* s,
           double enough, double part, int64_t most, svmcut_penalized_end* end,
           const volatile int* cancel) {
    try {
        return Newton<Loss>(*problem, set, count, w, s, cancel).run(enough, part, most, end);
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
}

}  // namespace

extern "C" {

void svmcut_column_scores(const svmcut_columns* columns, const int32_t* set, int64_t count,
                          const double* w, double constant, double* s) {
    std::fill(s, s + columns->n, constant);
    for (int64_t k = 0; k < count; ++k) add(column_of(columns, set[k]), w[set[k]], s);
}

int svmcut_penalized_newton(const svmcut_penalized* problem, const int32_t* set, int64_t count,
                            double* w, double* s, double enough, double part, int64_t most,
                            svmcut_penalized_end* end, const volatile int* cancel) {
    switch (problem->loss) {
        case SVMCUT_HINGE:
            return newton<svmcut::Hinge>(problem, set, count, w, s, enough, part, most, end,
                                         cancel);
        case SVMCUT_SQUARED_HINGE:
            return newton<svmcut::SquaredHinge>(problem, set, count, w, s, enough, part, most, end,
                                                cancel);
        case SVMCUT_LOGISTIC:
            return newton<svmcut::Logistic>(problem, set, count, w, s, enough, part, most, end,
                                            cancel);
        default:
            return newton<svmcut::SquaredEpsilonInsensitive>(problem, set, count, w, s, enough,
                                                             part, most, end, cancel);
    }
}

}  // extern "C"
