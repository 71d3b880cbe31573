// SPDX-License-Identifier: BSD-3-Clause
//
// What a linear run of job.cc is made of: rows as a space, cuts, and a sum of losses.
#ifndef SVMCUT_JOB_PARTS_H
#define SVMCUT_JOB_PARTS_H

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/pairwise.h"
#include "include/job.h"
#include "include/linear.h"

namespace svmcut::job {

using Vector = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kMaxIdle = 10;  // solutions a cut may stay without a multiplier
constexpr int64_t kQpSteps = 20000;
constexpr double kFlat = 1e-3;  // part of the fall of a line that may be left
constexpr int kSearchSteps = 60;

// What ends a run that is not done here.
struct Ended {
    int status;
};

inline void check(int status) {
    if (status != SVMCUT_OK) throw Ended{status};
}

inline double certain(double value) {
    if (!std::isfinite(value)) throw Ended{SVMCUT_NO_PROGRESS};
    return value;
}

// Rows with a constant feature behind them.
class Space {
  public:
    Space(const svmcut_csr* X, double bias, int threads)
        : X_(X), bias_(bias), threads_(threads), dim_(X->n_features + (bias != 0)) {}

    int64_t dim() const { return dim_; }
    int64_t rows() const { return X_->n_rows; }

    void scores(const Vector& w, Vector& s) const {
        s.resize(rows());
        const double constant = bias_ != 0 ? bias_ * w.back() : 0.0;
        check(svmcut_scores(X_, w.data(), constant, s.data(), threads_));
    }

    void adjoint(const Vector& coef, Vector& a) const {
        a.assign(dim_, 0.0);
        if (X_->n_features > 0)
            check(svmcut_adjoint(X_, coef.data(), a.data(), nullptr, 1, threads_));
        if (bias_ != 0) a.back() = bias_ * numpy_sum(coef.data(), rows());
    }

    double dot(const Vector& a, const Vector& b) const {
        return svmcut_dot(static_cast<int64_t>(a.size()), a.data(), b.data(), threads_);
    }

    Vector blend(double p, const Vector& a, double q, const Vector& b) const {
        Vector out(a.size());
        svmcut_blend(static_cast<int64_t>(a.size()), p, a.data(), q, b.data(), out.data(),
                     threads_);
        return out;
    }

    // |x_i|^2, without the constant feature.
    Vector norms() const {
        Vector squared(rows());
        svmcut_row_norms(X_, squared.data(), threads_);
        return squared;
    }

  private:
    const svmcut_csr* X_;
    double bias_;
    int threads_;
    int64_t dim_;
};

// The cuts, the flat plane before them.
class Bundle {
  public:
    Bundle(const Space& space, double C, int threads, const volatile int* cancel)
        : space_(space), C_(C), threads_(threads), cancel_(cancel) {}

    int64_t cuts() const { return size() - 1; }
    double last_multiplier() const { return beta_.back(); }
    int64_t support() const {
        return std::count_if(beta_.begin() + 1, beta_.end(), [](double b) { return b != 0; });
    }
    double largest_norm() const {
        double largest = 0;
        for (int64_t k = 0; k < size(); ++k) largest = std::max(largest, H_[k][k]);
        return std::sqrt(largest);
    }

    void add(const Vector& a, double b) {
        normals_.push_back(a);
        const int64_t k = size();
        Vector row(k + 1, 0.0);
        std::vector<svmcut_vector> vectors;
        for (const Vector& each : normals_) vectors.push_back(whole(each));
        check(svmcut_dots(space_.dim(), k, vectors.data(), a.data(), row.data() + 1, threads_));
        for (int64_t t = 0; t < k; ++t) H_[t].push_back(row[t]);
        H_.push_back(row);
        b_.push_back(b);
        beta_.push_back(0.0);
        idle_.push_back(0);
    }

    // The multipliers of the dual, to within the tolerance; the bound and the slack they give.
    double bound(double tolerance, double* slack) {
        maximise(tolerance);
        const Sum sum = used();
        const double squared =
            svmcut_combined_square(space_.dim(), static_cast<int64_t>(sum.weights.size()),
                                   sum.weights.data(), sum.vectors.data(), threads_);
        const int64_t k = size();
        std::vector<svmcut_vector> lines;
        for (int64_t t = 1; t < k; ++t)
            if (beta_[t] != 0) lines.push_back(whole(H_[t]));
        Vector products(k);
        svmcut_combine(k, static_cast<int64_t>(lines.size()), sum.weights.data(), lines.data(),
                       products.data(), 1);
        double highest = -kInfinity;
        for (int64_t t = 0; t < k; ++t) highest = std::max(highest, b_[t] + products[t]);
        *slack = std::max(0.0, highest);
        return dual(squared);
    }

    // The minimiser of the model, and the bound it gives.
    Vector solution(double* lower) const {
        const Sum sum = used();
        Vector v(space_.dim());
        if (!v.empty())
            svmcut_combine(space_.dim(), static_cast<int64_t>(sum.weights.size()),
                           sum.weights.data(), sum.vectors.data(), v.data(), threads_);
        *lower = dual(space_.dot(v, v));
        return v;
    }

    // Drops the cuts that had no multiplier in the last solutions.
    void prune() {
        for (int64_t t = size() - 1; t > 0; --t) {
            if (idle_[t] < kMaxIdle) continue;
            normals_.erase(normals_.begin() + t - 1);
            H_.erase(H_.begin() + t);
            for (Vector& row : H_) row.erase(row.begin() + t);
            b_.erase(b_.begin() + t);
            beta_.erase(beta_.begin() + t);
            idle_.erase(idle_.begin() + t);
        }
    }

  private:
    struct Sum {
        Vector weights;
        std::vector<svmcut_vector> vectors;
    };

    static svmcut_vector whole(const Vector& v) {
        return {v.data(), nullptr, static_cast<int64_t>(v.size())};
    }
    int64_t size() const { return static_cast<int64_t>(b_.size()); }

    // w = -C sum_t beta_t a_t
    Sum used() const {
        Sum sum;
        for (int64_t t = 1; t < size(); ++t)
            if (beta_[t] != 0) {
                sum.weights.push_back(-C_ * beta_[t]);
                sum.vectors.push_back(whole(normals_[t - 1]));
            }
        return sum;
    }

    double dual(double squared) const {
        return C_ * svmcut_dot(size(), b_.data(), beta_.data(), 1) - 0.5 * squared;
    }

    void maximise(double tolerance) {
        const int64_t k = size();
        Vector H(k * k), work(k * (k + 4));
        for (int64_t t = 0; t < k; ++t) std::copy(H_[t].begin(), H_[t].end(), H.begin() + t * k);
        double gap = 0;
        int64_t steps = 0;
        const int status = svmcut_simplex_qp(k, H.data(), b_.data(), C_, tolerance, kQpSteps,
                                             beta_.data(), work.data(), &gap, &steps, cancel_);
        if (status != SVMCUT_NO_PROGRESS) check(status);
        for (int64_t t = 0; t < k; ++t) idle_[t] = beta_[t] > 0 ? 0 : idle_[t] + 1;
    }

    const Space& space_;
    double C_;
    int threads_;
    const volatile int* cancel_;
    std::vector<Vector> normals_;  // without the flat plane's
    std::vector<Vector> H_{Vector{0.0}};
    Vector b_{0.0}, beta_{1.0};
    std::vector<int64_t> idle_{0};
};

// A t > 0 near the minimum of a convex function and not above its value at 0, by its slopes and
// curvatures; fall: the slope at 0 without its sign.
template <class Rate>
double line_step(Rate&& rate, double fall, double t) {
    double low = 0, high = kInfinity, here, bend;
    for (int k = 0; k < kSearchSteps; ++k) {
        rate(t, &here, &bend);
        if (here <= 0) {
            if (-here <= kFlat * fall) break;
        } else if (here <= kFlat * fall || here * (t - low) <= 0.05 * fall * low) {
            break;
        }
        (here < 0 ? low : high) = t;
        t = bend > 0 ? t - here / bend : kInfinity;
        if (!(low < t && t < high)) t = high < kInfinity ? 0.5 * (low + high) : 2 * low;
    }
    return t;
}

// The sum of the losses of the scores.
class Risk {
  public:
    Risk(int loss, int64_t n, const double* y, int threads)
        : loss_(loss), n_(n), y_(y), threads_(threads), coef_(n) {}

    // The value at scores; the tangent's coefficients and offset stay until the next call.
    double at(const Vector& s) {
        double value = 0;
        check(
            loss_ == SVMCUT_HINGE
                ? svmcut_hinge(n_, y_, s.data(), nullptr, coef_.data(), &value, &offset_, threads_)
                : svmcut_losses(loss_, n_, y_, s.data(), nullptr, 0.0, 0.0, coef_.data(), nullptr,
                                &value, &offset_, threads_));
        return value;
    }
    const Vector& coef() const { return coef_; }
    double offset() const { return offset_; }

    double line_minimum(const Vector& s, const Vector& e, double wd, double dd, double C) const {
        double t = 0, here = 0, bend = 0;
        if (loss_ == SVMCUT_HINGE) {
            check(svmcut_hinge_line(n_, y_, s.data(), e.data(), nullptr, wd, dd, C, &t, threads_));
            return t;
        }
        const auto rate = [&](double at, double* slope, double* curvature) {
            check(svmcut_losses_slope(loss_, n_, y_, s.data(), e.data(), nullptr, 0.0, 0.0, at,
                                      slope, curvature, threads_));
            *slope = wd + at * dd + C * *slope;
            *curvature = dd + C * *curvature;
        };
        rate(0.0, &here, &bend);
        return here < 0 && 0 < bend ? line_step(rate, -here, -here / bend) : 0.0;
    }

    // The cut of the multipliers as parts of C.
    void cut(const Vector& parts, const Vector& logit, Vector& coef, double* offset) {
        if (loss_ == SVMCUT_LOGISTIC) {
            Vector s(n_);
            for (int64_t i = 0; i < n_; ++i) s[i] = -logit[i] * y_[i];
            at(s);
            coef = coef_;
            *offset = offset_;
            return;
        }
        for (int64_t i = 0; i < n_; ++i) coef[i] = -(parts[i] * y_[i]);
        Vector values = parts;
        if (loss_ == SVMCUT_SQUARED_HINGE)
            for (double& part : values) part = part - 0.25 * part * part;
        *offset = numpy_sum(values.data(), n_);
    }

  private:
    int loss_;
    int64_t n_;
    const double* y_;
    int threads_;
    Vector coef_;
    double offset_ = 0;
};

}  // namespace svmcut::job
#endif
