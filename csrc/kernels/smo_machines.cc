// SPDX-License-Identifier: BSD-3-Clause
//
// Many machines of two classes of few rows each, to the end of every one of them: the loop of
// svmcut/solvers/smo.py without its looks at time and without what it does where steps crawl. A
// machine that would need that is left to it.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "core/pairwise.h"
#include "core/parallel.h"
#include "kernels/smo.h"

namespace {

using svmcut::kInfinity;

// Steps between two looks at the flag, refreshes without gain that end a machine, and the tolerance
// below which one does: as in smo.py.
constexpr int64_t kSteps = 256;
constexpr int kFutile = 2;
constexpr double kLeastTolerance = 4e-10;

struct Machines {
    const svmcut_csr& X;
    const svmcut_kernel& kernel;
    const double* values;
    const double* weights;
    const svmcut_smo_rule& rule;
    double cache_bytes;
    int instructions;
    const volatile int* cancel;
};

class Machine {
  public:
    Machine(const Machines& all, const int64_t* rows, const int8_t* sides, int64_t n)
        : all(all), rows(rows), n(n), y(n), beta(n), v(n), terms(n) {
        for (int64_t i = 0; i < n; ++i) y[i] = sides[i];
        if (!all.weights) return;
        weight.resize(n);
        for (int64_t i = 0; i < n; ++i) weight[i] = all.weights[rows[i]];
    }
    ~Machine() {
        if (smo) svmcut_smo_delete(smo);
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // Trains; the status of a call that failed.
    int run(svmcut_smo_machine* found) {
        copy_rows();
        svmcut_shared_values shared{all.values, rows, all.X.n_rows, 0, 1};
        smo = svmcut_smo_new(&own, y.data(), weight.empty() ? nullptr : weight.data(), &all.kernel,
                             all.rule.C, -1, all.rule.free_bias, all.cache_bytes, all.instructions,
                             all.values ? &shared : nullptr, nullptr);
        if (!smo) return SVMCUT_NO_MEMORY;
        const int status = follow();
        const svmcut_smo_machine told{
            primal, dual, risk, b, state.iterations, state.evaluations, state.support, met};
        *found = told;
        return status;
    }
    const std::vector<double>& coefficients() const { return beta; }

  private:
    const Machines& all;
    const int64_t* rows;
    const int64_t n;
    svmcut_csr own{};
    std::vector<float> data;
    std::vector<int32_t> indices;
    std::vector<int64_t> indptr;
    std::vector<double> y, weight, beta, v, terms;
    svmcut_smo* smo = nullptr;
    svmcut_smo_state state{};
    double primal = kInfinity, dual = 0, risk = 0, b = 0;
    int64_t met = 0;

    // The rows of the machine; their number alone where the values are known.
    void copy_rows() {
        indptr.assign(n + 1, 0);
        for (int64_t i = 0; i < n && !all.values; ++i)
            indptr[i + 1] = indptr[i] + all.X.indptr[rows[i] + 1] - all.X.indptr[rows[i]];
        data.resize(indptr[n]);
        indices.resize(indptr[n]);
        for (int64_t i = 0; i < n && !all.values; ++i) {
            const int64_t begin = all.X.indptr[rows[i]], count = indptr[i + 1] - indptr[i];
            std::copy_n(all.X.data + begin, count, data.data() + indptr[i]);
            std::copy_n(all.X.indices + begin, count, indices.data() + indptr[i]);
        }
        own = {data.data(), indices.data(), indptr.data(), n, all.values ? 0 : all.X.n_features};
    }

    double most(int64_t i) const { return weight.empty() ? all.rule.C : all.rule.C * weight[i]; }
    double violation() const {
        return std::max(0.0, state.highest - state.lowest) / (all.rule.free_bias ? 1 : 2);
    }
    bool is_met(double gap) const {
        if (all.rule.gap < 0) return violation() <= all.rule.tolerance;
        return gap <= all.rule.gap * std::abs(primal);
    }

    // The mean v of what lies between its bounds, else the middle of the extremes.
    void set_bias() {
        b = 0;
        if (!all.rule.free_bias) return;
        int64_t count = 0;
        for (int64_t i = 0; i < n; ++i) {
            const double size = std::abs(beta[i]);
            if (size > 0 && size < most(i)) terms[count++] = v[i];
        }
        if (count) {
            b = svmcut::numpy_sum(terms.data(), count) / static_cast<double>(count);
            return;
        }
        double sum = 0;
        for (const double end : {state.highest, state.lowest})
            if (std::isfinite(end)) sum += end, ++count;
        if (count) b = sum / static_cast<double>(count);
    }

    // Primal, risk and bias of the present solution, every point being active.
    void look() {
        svmcut_smo_read(smo, &state);
        svmcut_smo_solution(smo, beta.data(), v.data());
        set_bias();
        for (int64_t i = 0; i < n; ++i) {
            const double loss = std::max(0.0, y[i] * (v[i] - b));
            terms[i] = weight.empty() ? loss : weight[i] * loss;
        }
        risk = svmcut::numpy_sum(terms.data(), n);
        for (int64_t i = 0; i < n; ++i) terms[i] = beta[i] * (y[i] - v[i]);
        primal = 0.5 * svmcut::numpy_sum(terms.data(), n) + all.rule.C * risk;
    }

    int follow() {
        double tolerance = all.rule.gap < 0 ? all.rule.tolerance : 0.1, least = kInfinity;
        for (int64_t i = 0; i < n; ++i) terms[i] = weight.empty() ? 1.0 : weight[i];
        double best = all.rule.C * svmcut::numpy_sum(terms.data(), n);  // at 0
        for (int futile = 0; futile < kFutile;) {
            for (int finished = 0; !finished;) {
                if (all.cancel && *all.cancel) return SVMCUT_CANCELLED;
                const int status = svmcut_smo_run(smo, tolerance, kSteps, kInfinity, 1, &finished);
                if (status) return status;
                svmcut_smo_read(smo, &state);
                if (!finished && state.iterations >= all.rule.most_steps) return SVMCUT_OK;
            }
            look();
            if (!std::isfinite(primal)) return SVMCUT_OK;
            primal = best = std::min(best, primal);
            if (is_met(primal - state.dual)) {
                if (const int status = svmcut_smo_refresh(smo, b, 0, 1)) return status;
                look();
                best = primal;
                for (int64_t i = 0; i < n; ++i) terms[i] = beta[i] * (y[i] + v[i]);
                dual = 0.5 * svmcut::numpy_sum(terms.data(), n);
                const double gap = primal - dual;
                if (is_met(gap)) {
                    met = 1;
                    return SVMCUT_OK;
                }
                const double rest =
                    all.rule.gap < 0 ? violation() : gap / std::max(std::abs(primal), 1e-300);
                futile = rest < 0.9 * least ? 0 : futile + 1;
                least = std::min(least, rest);
            } else if (tolerance <= kLeastTolerance) {
                return SVMCUT_OK;
            }
            tolerance /= 4;
        }
        return SVMCUT_OK;
    }
};

}  // namespace

extern "C" int svmcut_smo_machines(const svmcut_csr* X, const svmcut_kernel* kernel,
                                   const double* values, const double* weights,
                                   const svmcut_smo_rule* rule, int64_t machines,
                                   const int64_t* starts, const int64_t* rows, const int8_t* sides,
                                   double cache_bytes, int instructions, int threads,
                                   const volatile int* cancel, double* beta,
                                   svmcut_smo_machine* found) {
    const Machines all{*X, *kernel, values, weights, *rule, cache_bytes, instructions, cancel};
    std::atomic<bool> starved{false};
    svmcut::for_pieces(machines, threads, [&](int64_t k) {
        const int64_t begin = starts[k];
        if (cancel && *cancel) return;
        try {
            Machine machine(all, rows + begin, sides + begin, starts[k + 1] - begin);
            svmcut_smo_machine told{};
            const int status = machine.run(&told);
            if (status == SVMCUT_CANCELLED) return;
            if (status) starved = true;
            found[k] = svmcut_smo_machine{};
            found[k].met = -1;
            if (!told.met) return;
            found[k] = told;
            std::copy(machine.coefficients().begin(), machine.coefficients().end(), beta + begin);
        } catch (const std::bad_alloc&) {
            starved = true;
        }
    });
    if (starved) return SVMCUT_NO_MEMORY;
    return cancel && *cancel ? SVMCUT_CANCELLED : SVMCUT_OK;
}
