// SPDX-License-Identifier: BSD-3-Clause
//
// Machines of classes against the rest on few rows without many features, each by Newton's method
// to its own certificate.
//
//   problem      min_w  P(w) = 1/2 |w|^2 + C sum_i v_i l(y_i w.x_i),  l the hinge or its square,
//                y_i = 1 where the code of row i is the machine's, else -1
//   smoothed     the hinge over a width delta that falls:  u = clip(z / delta + 1/2, 0, 1),  z = 1
//                - y s
//   slopes       alpha_i = C v_i u_i of the hinge, 2 C v_i max(0, z_i) of its square: a dual point
//   update       w <- w + t p,  (I + scale A) p = alpha-sum - w,  A = sum of v x x' over the rows
//                with a curvature; t by a search on margins
//   certificate  P at the best w, less the dual at the best multiple of alpha; both with fresh
//                margins where they meet the rule
//
// All machines begin at the ridge regression of their labels, one matrix for all of them, or where
// the caller says. Rows are dense here; a machine is one piece of work, so results do not depend on
// threads. When delta falls, the next step keeps the band of the last width: where the rows between
// the margins are the same ones, it ends at the new minimum.
//
// Chapelle, Neural Computation 2007; Keerthi and DeCoste, JMLR 2005.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "core/parallel.h"
#include "core/wide.h"
#include "include/linear.h"
#include "linear/full_rows.h"

namespace {

using svmcut::dot;
using svmcut::kGroup;
using svmcut::kTogether;

constexpr double kShrink = 0.2, kFinal = 0.8, kNear = 1.05;  // of delta, of the target
constexpr double kFlat = 1e-3, kFull = 0.3, kShort = 0.05;
constexpr int kSearches = 60;

struct Problem {
    int64_t n, dim;
    const double* X;  // (n, dim) with the constant feature; room for kTogether more rows
    const int32_t* codes;
    const double* v;
    double C, gap;
    bool squared, warm;
    int64_t most;
    const double* ridge;  // (dim, dim) sum v x x', lower triangle
    const volatile int* cancel;
};

SVMCUT_WIDE static void products(const double* X, int64_t n, int64_t dim, const double* w,
                                 double* s) {
    for (int64_t i = 0; i < n; i += kTogether) svmcut::dots(X + i * dim, dim, w, dim, s + i);
}

// out += sum of coef[i] x_i over the rows
SVMCUT_WIDE static void add_rows(const double* X, int64_t dim, const std::vector<int32_t>& rows,
                                 const double* coef, double* out) {
    size_t k = 0;
    for (; k + 4 <= rows.size(); k += 4) {
        const int32_t* i = rows.data() + k;
        const double *p = X + i[0] * dim, *q = X + i[1] * dim, *r = X + i[2] * dim,
                     *t = X + i[3] * dim;
        const double a = coef[i[0]], b = coef[i[1]], c = coef[i[2]], d = coef[i[3]];
        double* __restrict sums = out;
        for (int64_t j = 0; j < dim; ++j) sums[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * t[j]);
    }
    for (; k < rows.size(); ++k) {
        const double *p = X + rows[k] * dim, a = coef[rows[k]];
        double* __restrict sums = out;
        for (int64_t j = 0; j < dim; ++j) sums[j] += a * p[j];
    }
}

// H += sum of weight[i] x_i x_i' over the rows, lower triangle
void add_outers(const double* X, int64_t dim, const std::vector<int32_t>& rows,
                const double* weight, double* H) {
    const double* x[kGroup];
    double v[kGroup];
    for (size_t k = 0; k < rows.size(); k += kGroup) {
        for (size_t g = 0; g < kGroup; ++g) {
            const bool there = k + g < rows.size();
            const int32_t i = rows[there ? k + g : k];
            x[g] = X + i * dim;
            v[g] = there ? weight[i] : 0.0;
        }
        svmcut::add_outer_full(x, v, dim, H);
    }
}

class Machine {
  public:
    Machine(const Problem& problem, int32_t code)
        : p(problem),
          y(p.n + kTogether, 0.0),
          w(p.dim, 0.0),
          best(p.dim, 0.0),
          step(p.dim),
          gradient(p.dim),
          m(p.n + kTogether, 0.0),
          f(p.n + kTogether, 0.0),
          alpha(p.n),
          bend(p.n, 0.0),
          change(p.n),
          H(p.dim * p.dim),
          factors(p.dim * p.dim) {
        for (int64_t i = 0; i < p.n; ++i) y[i] = p.codes[i] == code ? 1.0 : -1.0;
    }

    // Primal and dual, steps, and whether they meet the rule; the weights in `best`.
    int64_t steps = 0;
    double primal = std::numeric_limits<double>::infinity(), dual = 0;
    bool met = false;
    const std::vector<double>& weights() const { return best; }

    // From `start`, or where the problem has none from the ridge regression.
    void run(const double* start) {
        std::fill(m.begin(), m.end(), 0.0);
        look();  // at w = 0
        if (over()) return;
        if (p.warm) {
            std::copy(start, start + p.dim, w.begin());
            margins(w, m);
        } else if (!begin()) {
            return;
        }
        for (steps = 1; steps < p.most; ++steps) {
            if (p.cancel && *p.cancel) return;
            look();
            if (over()) return;
            const double target = kFinal * p.gap * primal;
            if (!p.squared && smoothing > kNear * target && unfinished <= smoothing) {
                delta *= std::max(kShrink, std::sqrt(target / smoothing));
                foresee();
            } else if (!newton()) {
                return;
            }
        }
    }

  private:
    const Problem& p;
    std::vector<double> y, w, best, step, gradient, m, f, alpha, bend, change, H, factors;
    std::vector<int32_t> rows, bent, changed;
    double delta = 1, smoothing = 0, unfinished = 0;

    double weight(int64_t i) const { return p.v ? p.v[i] : 1.0; }

    // Ridge regression of the labels: where the square of the hinge begins to bend.
    bool begin() {
        const double scale = 2 * p.C;
        std::copy(p.ridge, p.ridge + p.dim * p.dim, factors.begin());
        std::fill(w.begin(), w.end(), 0.0);
        rows.clear();
        for (int64_t i = 0; i < p.n; ++i) {
            alpha[i] = scale * weight(i) * y[i];
            rows.push_back(static_cast<int32_t>(i));
        }
        add_rows(p.X, p.dim, rows, alpha.data(), w.data());
        if (svmcut_solve_shifted(p.dim, factors.data(), scale, w.data()) != SVMCUT_OK) return false;
        margins(w, m);
        return true;
    }

    void margins(const std::vector<double>& of, std::vector<double>& out) const {
        products(p.X, p.n, p.dim, of.data(), out.data());
        for (int64_t i = 0; i < p.n; ++i) out[i] *= y[i];
    }

    double value(double squared) const {
        double risk = 0;
        for (int64_t i = 0; i < p.n; ++i) {
            const double z = std::max(0.0, 1 - m[i]);
            risk += weight(i) * (p.squared ? z * z : z);
        }
        return 0.5 * squared + p.C * risk;
    }

    // Value, slopes, gradient and bounds at w.
    void look() {
        double sum = 0, squares = 0, excess = 0;
        rows.clear();
        bent.clear();
        const double rate = 1 / delta;
        for (int64_t i = 0; i < p.n; ++i) {
            const double z = 1 - m[i], v = weight(i);
            double u;
            if (p.squared) {
                u = 2 * std::max(0.0, z);
                squares += v * u * u / 2;
            } else {
                u = std::min(1.0, std::max(0.0, z * rate + 0.5));
                excess += v * (std::max(0.0, z) - u * z);
            }
            alpha[i] = p.C * v * u;
            sum += alpha[i];
            if (alpha[i] > 0) {
                alpha[i] *= y[i];
                rows.push_back(static_cast<int32_t>(i));
                if (p.squared || u < 1) bent.push_back(static_cast<int32_t>(i));
            }
        }
        std::fill(gradient.begin(), gradient.end(), 0.0);
        add_rows(p.X, p.dim, rows, alpha.data(), gradient.data());
        const double norm = dot(gradient.data(), gradient.data(), p.dim),
                     curve = norm + p.C * squares;
        double t = curve > 0 ? sum / curve : 1.0;
        if (!p.squared) t = std::min(1.0, t);
        dual = std::max(dual, t * sum - 0.5 * t * t * curve);
        for (int64_t j = 0; j < p.dim; ++j) gradient[j] = w[j] - gradient[j];
        unfinished = 0.5 * dot(gradient.data(), gradient.data(), p.dim);
        smoothing = p.C * excess;
        const double here = value(dot(w.data(), w.data(), p.dim));
        if (here < primal) {
            primal = here;
            best = w;
        }
    }

    // Whether the rule is met, by margins that are formed afresh.
    bool over() {
        if (!(primal - dual <= p.gap * primal)) return false;
        std::vector<double>& kept = f;  // of no more use here
        kept.swap(m);
        margins(best, m);
        primal = value(dot(best.data(), best.data(), p.dim));
        kept.swap(m);
        return met = primal - dual <= p.gap * primal;
    }

    // A of the rows with a curvature, from the last one where fewer rows have come and gone.
    void curve() {
        changed.clear();
        size_t at = 0;
        for (int64_t i = 0; i < p.n; ++i) {
            const bool now = at < bent.size() && bent[at] == i;
            at += now;
            change[i] = (now ? weight(i) : 0.0) - bend[i];
            if (change[i] != 0) changed.push_back(static_cast<int32_t>(i));
            bend[i] += change[i];
        }
        if (known && 2 * changed.size() <= bent.size()) {
            add_outers(p.X, p.dim, changed, change.data(), H.data());
        } else {
            std::fill(H.begin(), H.end(), 0.0);
            add_outers(p.X, p.dim, bent, bend.data(), H.data());
            known = true;
        }
    }
    bool known = false;

    bool newton() {
        curve();
        factors = H;
        for (int64_t j = 0; j < p.dim; ++j) step[j] = -gradient[j];
        const double scale = p.squared ? 2 * p.C : p.C / delta;
        if (svmcut_solve_shifted(p.dim, factors.data(), scale, step.data()) != SVMCUT_OK)
            return false;
        const double slope = dot(gradient.data(), step.data(), p.dim);
        if (!(slope < 0)) return false;
        margins(step, f);
        advance(search(-slope, dot(w.data(), step.data(), p.dim),
                       dot(step.data(), step.data(), p.dim)));
        return true;
    }

    // A step to where the rows of the last width's band have their slopes, at the new width: the
    // minimum there, where they are its band too.
    void foresee() {
        curve();
        factors = H;
        std::fill(step.begin(), step.end(), 0.0);
        for (const int32_t i : bent) alpha[i] = p.C * weight(i) * y[i] * ((1 - m[i]) / delta + 0.5);
        add_rows(p.X, p.dim, rows, alpha.data(), step.data());
        for (int64_t j = 0; j < p.dim; ++j) step[j] -= w[j];
        if (svmcut_solve_shifted(p.dim, factors.data(), p.C / delta, step.data()) != SVMCUT_OK)
            return;
        margins(step, f);
        double rise, bends;
        slope_at(0, &rise, &bends);
        const double wd = dot(w.data(), step.data(), p.dim), slope = wd + p.C * rise;
        if (slope < 0) advance(search(-slope, wd, dot(step.data(), step.data(), p.dim)));
    }

    void advance(double t) {
        for (int64_t j = 0; j < p.dim; ++j) w[j] += t * step[j];
        for (int64_t i = 0; i < p.n; ++i) m[i] += t * f[i];
    }

    // Slope and curvature at t of the smoothed sum of losses.
    void slope_at(double t, double* slope, double* curvature) const {
        double rise = 0, bends = 0;
        const double rate = 1 / delta;
        for (int64_t i = 0; i < p.n; ++i) {
            const double z = 1 - (m[i] + t * f[i]), v = weight(i);
            double u, inside;
            if (p.squared) {
                u = 2 * std::max(0.0, z);
                inside = u > 0 ? 2.0 : 0.0;
            } else {
                u = std::min(1.0, std::max(0.0, z * rate + 0.5));
                inside = u > 0 && u < 1 ? rate : 0.0;
            }
            rise -= v * u * f[i];
            bends += v * inside * f[i] * f[i];
        }
        *slope = rise;
        *curvature = bends;
    }

    // As svmcut.risks.smoothed.line_step.
    double search(double fall, double wd, double dd) const {
        double low = 0, high = std::numeric_limits<double>::infinity(), t = 1,
               first = p.squared ? kFlat : kFull;
        for (int k = 0; k < kSearches; ++k) {
            double rise, bends;
            slope_at(t, &rise, &bends);
            const double here = wd + t * dd + p.C * rise, curvature = dd + p.C * bends;
            if (here <= 0 ? -here <= first * fall
                          : here <= kFlat * fall || here * (t - low) <= 0.05 * fall * low)
                break;
            first = p.squared ? kFlat : kShort;
            (here < 0 ? low : high) = t;
            t = curvature > 0 ? t - here / curvature : high;
            if (!(low < t && t < high)) t = std::isfinite(high) ? 0.5 * (low + high) : 2 * low;
        }
        return t;
    }
};

}  // namespace

extern "C" {

int svmcut_small_machines(const svmcut_csr* X, double bias, const int32_t* codes, const double* v,
                          int64_t first, int64_t count, double C, int squared, double gap,
                          int64_t most, int warm, double* W, double* found, int threads,
                          const volatile int* cancel) {
    const int64_t n = X->n_rows, dim = X->n_features + (bias != 0);
    std::vector<double> rows, ridge;
    std::atomic<bool> failed{false};
    try {
        rows.assign((n + kTogether) * dim, 0.0);
        ridge.assign(dim * dim, 0.0);
        std::vector<int32_t> all(n);
        std::vector<double> weights(n);
        for (int64_t i = 0; i < n; ++i) {
            double* row = rows.data() + i * dim;
            for (int64_t k = X->indptr[i]; k < X->indptr[i + 1]; ++k)
                row[X->indices[k]] = X->data[k];
            if (bias != 0) row[dim - 1] = bias;
            all[i] = static_cast<int32_t>(i);
            weights[i] = v ? v[i] : 1.0;
        }
        if (!warm) add_outers(rows.data(), dim, all, weights.data(), ridge.data());
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    const Problem problem{n,         dim,  rows.data(),  codes, v, C, gap, squared != 0,
                          warm != 0, most, ridge.data(), cancel};
    svmcut::for_pieces(count, threads, [&](int64_t k) {
        try {
            Machine machine(problem, static_cast<int32_t>(first + k));
            machine.run(W + k * dim);
            std::copy(machine.weights().begin(), machine.weights().end(), W + k * dim);
            double* told = found + 4 * k;
            told[0] = machine.primal;
            told[1] = machine.dual;
            told[2] = static_cast<double>(machine.steps);
            told[3] = machine.met;
        } catch (...) {
            failed = true;
        }
    });
    if (failed) return SVMCUT_NO_MEMORY;
    return cancel && *cancel ? SVMCUT_CANCELLED : SVMCUT_OK;
}

}  // extern "C"
