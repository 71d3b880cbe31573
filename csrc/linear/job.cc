// SPDX-License-Identifier: BSD-3-Clause
//
// A linear run from rows to weights without Python between its loops: dual coordinate descent for
// the hinge, certified as one fractional cut after every few epochs. The steps are those of
// svmcut/solvers/dual_cd.py, descent.py and fractional.py and of svmcut/cutting/bundle.py, sum by
// sum, and the bytes of the model with them; there stand the references and the reasons.

#include "include/job.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/pairwise.h"
#include "include/linear.h"
#include "include/text.h"

namespace {

using Vector = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kPatience = 60;  // looks without a smaller gap
constexpr int64_t kMaxIdle = 10;   // solutions a cut may stay without a multiplier
constexpr int64_t kQpSteps = 20000;

// What ends a run that is not done here.
struct Ended {
    int status;
};

void check(int status) {
    if (status != SVMCUT_OK) throw Ended{status};
}

double finite(double value) {
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
        if (bias_ != 0) a.back() = bias_ * svmcut::numpy_sum(coef.data(), rows());
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

class Run {
  public:
    Run(const svmcut_csr* X, const double* y, const svmcut_job& job, svmcut_job_step* steps,
        int64_t room, const volatile int* cancel)
        : X_(X),
          y_(y),
          job_(job),
          cancel_(cancel),
          space_(X, job.bias, job.threads),
          bundle_(space_, job.C, job.threads, cancel),
          steps_(steps),
          room_(room),
          w_(space_.dim()),
          s_(X->n_rows),
          zeros_(X->n_rows),
          coef_(X->n_rows) {
        risk_ = value_at(s_);
        primal_ = job.C * risk_;
    }

    void train() {
        const bool done = met();
        step();
        if (!done) descend();
    }

    void report(double* w, svmcut_job_found* found) {
        const double squared = space_.dot(w_, w_);
        double lower = 0;
        const Vector v = bundle_.solution(&lower), apart = space_.blend(1.0, w_, -1.0, v);
        const Vector norms = space_.norms();
        const auto n = static_cast<double>(X_->n_rows);
        const double features = svmcut::numpy_sum(norms.data(), X_->n_rows) + n * bias_squared();
        *found = {taken_,
                  risk_,
                  slack_,
                  std::sqrt(std::max(0.0, squared)),
                  bundle_.largest_norm(),
                  primal_ - lower,
                  std::sqrt(std::max(0.0, space_.dot(apart, apart))),
                  std::sqrt(std::max(0.0, squared)) * std::sqrt(n * features)};
        std::copy(w_.begin(), w_.end(), w);
    }

  private:
    double gap() const { return primal_ - lower_; }
    double target() const { return job_.relative ? job_.gap * std::fabs(primal_) : job_.gap; }
    bool reached() const { return gap() <= target(); }
    double bias_squared() const { return job_.bias * job_.bias; }

    double value_at(const Vector& s) {
        double value = 0, offset = 0;
        check(svmcut_hinge(X_->n_rows, y_, s.data(), nullptr, coef_.data(), &value, &offset,
                           job_.threads));
        return value;
    }

    double line_minimum(const Vector& s, const Vector& e, double wd, double dd) const {
        double t = 0;
        check(svmcut_hinge_line(X_->n_rows, y_, s.data(), e.data(), nullptr, wd, dd, job_.C, &t,
                                job_.threads));
        return t;
    }

    // Whether the rule is met by scores that are formed afresh.
    bool met() {
        if (!reached()) return false;
        space_.scores(w_, s_);
        risk_ = value_at(s_);
        const double primal = 0.5 * squared_ + job_.C * risk_;
        if (std::fabs(primal - primal_) > 1e-13 * primal) primal_ = primal;
        return reached();
    }

    void step() {
        if (taken_ == room_) throw Ended{SVMCUT_NO_PROGRESS};
        steps_[taken_++] = {bundle_.cuts(), bundle_.support(), finite(primal_), finite(lower_)};
    }

    void cut(const Vector& a, double b) {
        bundle_.add(a, b);
        const double tolerance = 0.01 * std::max(target(), 1e-12 * primal_) / job_.C;
        lower_ = std::max(lower_, bundle_.bound(tolerance, &slack_));
        bundle_.prune();
    }

    // Moves the best point to the best on the line from it to the best multiple of w.
    void search(const Vector& from, const Vector& scores) {
        const double scale = line_minimum(zeros_, scores, 0.0, space_.dot(from, from));
        const Vector w = space_.blend(scale, from, 0.0, from);
        const Vector s = space_.blend(scale, scores, 0.0, scores);
        const double cross = space_.dot(w_, w);
        const Vector rates = space_.blend(1.0, s, -1.0, s_);
        const double wd = cross - squared_, dd = space_.dot(w, w) - 2 * cross + squared_;
        const double t = line_minimum(s_, rates, wd, dd);
        if (!(t > 0)) return;
        Vector point = space_.blend(1 - t, w_, t, w), reached = space_.blend(1.0, s_, t, rates);
        const double risk = value_at(reached), squared = space_.dot(point, point);
        const double primal = 0.5 * squared + job_.C * risk;
        if (primal < primal_) {
            primal_ = primal, risk_ = risk, squared_ = squared;
            w_.swap(point);
            s_.swap(reached);
        }
    }

    void descend() {
        const int64_t n = X_->n_rows;
        const double C = job_.C;
        Vector norms = space_.norms(), alpha(n), w(space_.dim()), coef(n), a, s;
        for (double& norm : norms) norm += bias_squared();
        for (int64_t i = 0; i < n; ++i) coef[i] = -y_[i];
        space_.adjoint(coef, a);
        cut(a, static_cast<double>(n));
        if (bundle_.last_multiplier() == 1.0) {
            for (int64_t j = 0; j < space_.dim(); ++j) w[j] = a[j] * -C;
            std::fill(alpha.begin(), alpha.end(), C);
            space_.scores(w, s);
            search(w, s);
            const bool done = met();
            step();
            if (done) return;
        }
        std::vector<int32_t> order(2 * n);
        svmcut_dual_cd_state state;
        svmcut_dual_cd_start(n, job_.seed, order.data(), &state);
        double ratio = 1, best = kInfinity, foreseen = kInfinity;
        int64_t since = 0, slow = 0;
        while (true) {
            const int64_t epochs = state.epochs;
            const double before = gap();
            check(svmcut_dual_cd(X_, SVMCUT_HINGE, 0.0, y_, norms.data(), nullptr, job_.bias, C,
                                 std::max(job_.block, epochs / 5), target() / ratio, alpha.data(),
                                 nullptr, w.data(), order.data(), &state, cancel_));
            if (state.entries > job_.most_entries) throw Ended{SVMCUT_NO_PROGRESS};
            Vector parts(n);
            for (int64_t i = 0; i < n; ++i) parts[i] = std::min(alpha[i] / C, 1.0);
            for (int64_t i = 0; i < n; ++i) coef[i] = -(parts[i] * y_[i]);
            space_.adjoint(coef, a);
            for (int64_t j = 0; j < space_.dim(); ++j) w[j] = a[j] * -C;
            space_.scores(w, s);
            search(w, s);
            cut(a, svmcut::numpy_sum(parts.data(), n));
            const bool done = met();
            step();
            if (done) return;
            if (epochs) {
                const double share = static_cast<double>(state.active) / static_cast<double>(n);
                const double more = predicted(before / gap(), state.epochs - epochs, share);
                const double least = std::min(more, foreseen);
                foreseen = more;
                slow = job_.epoch_seconds * more > job_.most_seconds ? slow + 1 : 0;
                if (least > job_.most_epochs || slow == 2) throw Ended{SVMCUT_NO_PROGRESS};
            }
            if (gap() < (best > 0 ? 0.999 : 1.001) * best) best = gap(), since = 0;
            else if (++since == kPatience) throw Ended{SVMCUT_NO_PROGRESS};
            ratio = state.gap > 0 ? std::min(std::max(gap() / state.gap, 0.3), 1.5) : 1.0;
            svmcut_dual_cd_wake(n, SVMCUT_HINGE, 0.0, y_, s.data(), nullptr, alpha.data(), nullptr,
                                C, order.data(), &state);
        }
    }

    // Epochs of all rows that the gap needs yet.
    double predicted(double fall, int64_t epochs, double share) const {
        if (!(fall > 1) || target() <= 0) return kInfinity;
        return share * static_cast<double>(epochs) * std::log(gap() / target()) / std::log(fall);
    }

    const svmcut_csr* X_;
    const double* y_;
    const svmcut_job& job_;
    const volatile int* cancel_;
    Space space_;
    Bundle bundle_;
    svmcut_job_step* steps_;
    int64_t room_, taken_ = 0;
    Vector w_, s_, zeros_, coef_;  // the best point, its scores; room
    double squared_ = 0, risk_ = 0, primal_ = 0, lower_ = 0, slack_ = 0;
};

// float32 numbers as "%.8g" reads back.
std::vector<float> read_back(const double* w, int64_t count) {
    std::vector<float> kept(count);
    std::vector<int32_t> columns;
    std::vector<float> values;
    for (int64_t j = 0; j < count; ++j) {
        kept[j] = static_cast<float>(w[j]);
        if (!std::isfinite(kept[j])) throw Ended{SVMCUT_BAD_INPUT};
        if (kept[j] == 0) continue;
        columns.push_back(static_cast<int32_t>(j));
        values.push_back(kept[j]);
    }
    const auto n = static_cast<int64_t>(columns.size());
    std::vector<char> text(2 + n * SVMCUT_PAIR_WIDTH + 2);
    std::memcpy(text.data(), "1 ", 2);
    const int64_t end =
        2 + svmcut_format_pairs(columns.data(), values.data(), n, 0, text.data() + 2);
    std::memcpy(text.data() + end, "#\n", 2);
    double alpha = 0;
    int64_t bounds[2], where = 0;
    int32_t fault = 0;
    check(svmcut_parse_expansion(text.data(), end + 2, 1, count, &alpha, bounds, columns.data(),
                                 values.data(), &fault, &where));
    for (int64_t k = 0; k < n; ++k) kept[columns[k]] = values[k];
    return kept;
}

// The status of what may end early or lack memory.
template <class Work>
int status_of(Work&& work) {
    try {
        work();
        return SVMCUT_OK;
    } catch (const Ended& ended) {
        return ended.status;
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
}

}  // namespace

extern "C" {

int svmcut_job_train(const svmcut_csr* X, const double* y, const svmcut_job* job, double* w,
                     svmcut_job_step* steps, int64_t room, svmcut_job_found* found,
                     const volatile int* cancel) {
    return status_of([&] {
        Run run(X, y, *job, steps, room, cancel);
        run.train();
        run.report(w, found);
    });
}

int svmcut_job_primal_of_file(const svmcut_csr* X, const double* y, const svmcut_job* job,
                              const double* w, double constant, double* primal) {
    return status_of([&] {
        const std::vector<float> kept = read_back(w, X->n_features);
        Vector weights(kept.begin(), kept.end()), s, coef(X->n_rows);
        if (job->bias != 0) weights.push_back(constant);
        const Space space(X, job->bias, job->threads);
        space.scores(weights, s);
        double value = 0, offset = 0;
        check(svmcut_hinge(X->n_rows, y, s.data(), nullptr, coef.data(), &value, &offset,
                           job->threads));
        *primal = space.dot(weights, weights) / 2 + job->C * value;
    });
}

int svmcut_job_scan_scales(const svmcut_csr* X, int64_t enough, int64_t often,
                           svmcut_job_scales* scales) {
    return status_of([&] {
        const int64_t nnz = X->indptr[X->n_rows] - X->indptr[0];
        const int64_t apart = std::max<int64_t>(1, nnz / enough);
        std::vector<float> largest(X->n_features, 0.0f);
        std::vector<int64_t> counts(X->n_features, 0);
        *scales = {-1, -1, 0.0f, 0.0f, 0.0f};
        for (int64_t i = 0; i < X->n_rows; ++i)
            for (int64_t k = X->indptr[i]; k < X->indptr[i + 1]; ++k) {
                const float size = std::fabs(X->data[k]);
                scales->far = std::max(scales->far, size);
                if (i % apart) continue;
                ++counts[X->indices[k]];
                largest[X->indices[k]] = std::max(largest[X->indices[k]], size);
            }
        for (int64_t j = 0; j < X->n_features; ++j) {
            if (counts[j] < often || !(largest[j] > 0)) continue;
            if (scales->low < 0 || largest[j] < scales->low_value)
                scales->low = j, scales->low_value = largest[j];
            if (scales->high < 0 || largest[j] > scales->high_value)
                scales->high = j, scales->high_value = largest[j];
        }
    });
}

}  // extern "C"
