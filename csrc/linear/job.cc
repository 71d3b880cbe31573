// SPDX-License-Identifier: BSD-3-Clause
//
// A linear run from rows to weights without Python between its loops: dual coordinate descent for a
// sum of losses, certified as one fractional cut after every few epochs. The steps are those of
// svmcut/solvers/dual_cd.py, loss_cd.py, descent.py and fractional.py, of svmcut/cutting/bundle.py
// and of svmcut/risks, sum by sum, and the bytes of the model with them; there stand the references
// and the reasons.

#include "include/job.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "include/text.h"
#include "linear/job_parts.h"

namespace {

using namespace svmcut::job;

constexpr int64_t kPatience = 60;  // looks without a smaller gap
constexpr double kFar = 30.0;      // logit of a fraction that is as good as 1

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
          risk_(job.loss, X->n_rows, y, job.threads),
          steps_(steps),
          room_(room),
          w_(space_.dim()),
          s_(X->n_rows),
          zeros_(X->n_rows) {
        value_ = risk_.at(s_);
        primal_ = job.C * value_;
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
        double rise = std::sqrt(std::max(0.0, squared)) * std::sqrt(n * features);
        if (job_.loss == SVMCUT_SQUARED_HINGE) {
            Vector kept = w_, s;
            if (job_.bias != 0) kept.back() = job_.bias * kept.back() / job_.bias;
            space_.scores(kept, s);
            risk_.at(s);
            const Vector& coef = risk_.coef();
            rise = std::sqrt(std::max(0.0, squared)) * std::sqrt(space_.dot(coef, coef) * features);
        }
        *found = {taken_,
                  value_,
                  slack_,
                  std::sqrt(std::max(0.0, squared)),
                  bundle_.largest_norm(),
                  primal_ - lower,
                  std::sqrt(std::max(0.0, space_.dot(apart, apart))),
                  rise};
        std::copy(w_.begin(), w_.end(), w);
    }

  private:
    double gap() const { return primal_ - lower_; }
    double target() const { return job_.relative ? job_.gap * std::fabs(primal_) : job_.gap; }
    bool reached() const { return gap() <= target(); }
    double bias_squared() const { return job_.bias * job_.bias; }

    // Whether the rule is met by scores that are formed afresh.
    bool met() {
        if (!reached()) return false;
        space_.scores(w_, s_);
        value_ = risk_.at(s_);
        const double primal = 0.5 * squared_ + job_.C * value_;
        if (std::fabs(primal - primal_) > 1e-13 * primal) primal_ = primal;
        return reached();
    }

    void step() {
        if (taken_ == room_) throw Ended{SVMCUT_NO_PROGRESS};
        steps_[taken_++] = {bundle_.cuts(), bundle_.support(), certain(primal_), certain(lower_)};
    }

    void cut(const Vector& a, double b) {
        bundle_.add(a, b);
        const double tolerance = 0.01 * std::max(target(), 1e-12 * primal_) / job_.C;
        lower_ = std::max(lower_, bundle_.bound(tolerance, &slack_));
        bundle_.prune();
    }

    // Moves the best point to the best on the line from it to the best multiple of w.
    void search(const Vector& from, const Vector& scores) {
        const double scale =
            risk_.line_minimum(zeros_, scores, 0.0, space_.dot(from, from), job_.C);
        const Vector w = space_.blend(scale, from, 0.0, from);
        const Vector s = space_.blend(scale, scores, 0.0, scores);
        const double cross = space_.dot(w_, w);
        const Vector rates = space_.blend(1.0, s, -1.0, s_);
        const double wd = cross - squared_, dd = space_.dot(w, w) - 2 * cross + squared_;
        const double t = risk_.line_minimum(s_, rates, wd, dd, job_.C);
        if (!(t > 0)) return;
        Vector point = space_.blend(1 - t, w_, t, w), reached = space_.blend(1.0, s_, t, rates);
        const double value = risk_.at(reached), squared = space_.dot(point, point);
        const double primal = 0.5 * squared + job_.C * value;
        if (primal < primal_) {
            primal_ = primal, value_ = value, squared_ = squared;
            w_.swap(point);
            s_.swap(reached);
        }
    }

    // The first cut, and the multipliers that it may be; true where that ends the run.
    bool begin(Vector& alpha, Vector& logit, Vector& w) {
        const int64_t n = X_->n_rows;
        const double C = job_.C;
        Vector a, s, coef(n), parts(n, 1.0);
        risk_.at(zeros_);
        double offset = risk_.offset();
        coef = risk_.coef();
        space_.adjoint(coef, a);
        cut(a, offset);
        if (bundle_.last_multiplier() < 1.0) return false;
        if (job_.loss == SVMCUT_HINGE) {
            scale(a, w);
            std::fill(alpha.begin(), alpha.end(), C);
            space_.scores(w, s);
            search(w, s);
            const bool done = met();
            step();
            return done;
        }
        for (int64_t i = 0; i < n; ++i) {
            parts[i] = -(coef[i] * y_[i]);
            alpha[i] = parts[i] * C;
            if (logit.empty()) continue;
            const double value = std::log(parts[i]) - std::log1p(-parts[i]);
            logit[i] = value < -kFar ? -kFar : value > kFar ? kFar : value;
        }
        risk_.cut(parts, logit, coef, &offset);
        space_.adjoint(coef, a);
        scale(a, w);
        return false;
    }

    // w = -C a
    void scale(const Vector& a, Vector& w) const {
        for (int64_t j = 0; j < space_.dim(); ++j) w[j] = a[j] * -job_.C;
    }

    void descend() {
        const int64_t n = X_->n_rows;
        const double C = job_.C;
        Vector norms = space_.norms(), alpha(n), w(space_.dim()), coef(n), parts(n), logit, a, s;
        for (double& norm : norms) norm += bias_squared();
        if (job_.loss == SVMCUT_LOGISTIC) logit.assign(n, -kFar);
        if (begin(alpha, logit, w)) return;
        double* logits = logit.empty() ? nullptr : logit.data();
        std::vector<int32_t> order(2 * n);
        svmcut_dual_cd_state state;
        svmcut_dual_cd_start(n, job_.seed, order.data(), &state);
        double ratio = 1, best = kInfinity, foreseen = job_.foreseen;
        int64_t since = 0, slow = 0;
        while (true) {
            const int64_t epochs = state.epochs;
            const double before = gap();
            check(svmcut_dual_cd(X_, job_.loss, 0.0, y_, norms.data(), nullptr, job_.bias, C,
                                 std::max(job_.block, epochs / 5), target() / ratio, alpha.data(),
                                 logits, w.data(), order.data(), &state, cancel_));
            if (state.entries > job_.most_entries) throw Ended{SVMCUT_NO_PROGRESS};
            for (int64_t i = 0; i < n; ++i) parts[i] = alpha[i] / C;
            if (job_.loss == SVMCUT_HINGE)
                for (double& part : parts) part = std::min(part, 1.0);
            double offset = 0;
            risk_.cut(parts, logit, coef, &offset);
            space_.adjoint(coef, a);
            scale(a, w);
            space_.scores(w, s);
            search(w, s);
            cut(a, offset);
            const bool done = met();
            step();
            if (done) return;
            if (epochs) {
                const double share = static_cast<double>(state.active) / static_cast<double>(n);
                const double more = predicted(before / gap(), state.epochs - epochs, share);
                const double least = job_.one_look ? more : std::min(more, foreseen);
                foreseen = more;
                slow = job_.epoch_seconds * more > job_.most_seconds ? slow + 1 : 0;
                if (least > job_.most_epochs || slow == 2) throw Ended{SVMCUT_NO_PROGRESS};
            }
            if (gap() < (best > 0 ? 0.999 : 1.001) * best) best = gap(), since = 0;
            else if (++since == kPatience) throw Ended{SVMCUT_NO_PROGRESS};
            ratio = state.gap > 0 ? std::min(std::max(gap() / state.gap, 0.3), 1.5) : 1.0;
            svmcut_dual_cd_wake(n, job_.loss, 0.0, y_, s.data(), nullptr, alpha.data(), logits, C,
                                order.data(), &state);
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
    Risk risk_;
    svmcut_job_step* steps_;
    int64_t room_, taken_ = 0;
    Vector w_, s_, zeros_;  // the best point and its scores
    double squared_ = 0, value_ = 0, primal_ = 0, lower_ = 0, slack_ = 0;
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
        Vector weights(kept.begin(), kept.end()), s;
        if (job->bias != 0) weights.push_back(constant);
        const Space space(X, job->bias, job->threads);
        space.scores(weights, s);
        Risk risk(job->loss, X->n_rows, y, job->threads);
        *primal = space.dot(weights, weights) / 2 + job->C * risk.at(s);
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
