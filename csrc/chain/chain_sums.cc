// SPDX-License-Identifier: BSD-3-Clause
//
// All labellings of a sequence at once, where Viterbi has one: the best few of them, the best with
// every tag of every token, and sums of exp(scale * score) over all. States are those of chain.h; scores may be -infinity, and what has
// such a score is no labelling.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "chain/chain.h"
#include "chain/chain_pieces.h"
#include "chain/chain_products.h"

namespace {

using svmcut::ChainLayout;
using svmcut::Lattice;

constexpr double kNever = -std::numeric_limits<double>::infinity();

// The states of one sequence and what joins them.
struct Steps {
    Lattice<double> lattice;
    const ChainLayout& at;
    int64_t T;
    std::vector<int64_t> first;  // of every position the number of its first state, and of all

    Steps(const ChainLayout& layout, const double* nodes, const double* transitions, int64_t T_)
        : lattice(layout, nodes, transitions, 0), at(layout), T(T_), first(T_ + 1) {
        for (int64_t i = 0; i < T; ++i) first[i + 1] = first[i] + lattice.size(i);
    }

    int64_t rests(int64_t i) const { return at.power[lattice.length(i) - 1]; }

    // What state (rest, c) at position i has of its own.
    double own(int64_t i, int64_t rest, int64_t c) const {
        const double* token = lattice.node(i);
        double sum = token[c];
        if (i == 0) return sum;
        const int64_t before = lattice.length(i - 1);
        const int m = at.memory();
        const int top = static_cast<int>(before == m ? m - 1 : before);
        for (int j = 1; j <= top && j <= at.order; ++j)
            sum += lattice.V[j][rest % at.power[j] * at.S + c];
        if (m > 1 && at.blocks > 1) sum += token[(1 + rest % at.K) * at.S + c];
        return sum;
    }

    // Calls visit(state at i - 1, score of the step) for all states in front of (rest, c), those of
    // a lower oldest tag first.
    template <class Visit>
    void before(int64_t i, int64_t rest, int64_t c, Visit&& visit) const {
        const int m = at.memory();
        if (lattice.length(i - 1) < m) {
            visit(rest / at.K * at.S + rest % at.K, 0.0);
            return;
        }
        for (int64_t p = 0; p < at.K; ++p) {
            const int64_t from =
                m == 1 ? p : (p * at.power[m - 2] + rest / at.K) * at.S + rest % at.K;
            double move =
                at.order == 0 ? 0.0 : lattice.V[m][(p * at.power[m - 1] + rest) * at.S + c];
            if (m == 1 && at.blocks > 1) move += lattice.node(i)[(1 + p) * at.S + c];
            visit(from, move);
        }
    }

    template <class Visit>
    void states(int64_t i, Visit&& visit) const {
        for (int64_t rest = 0; rest < rests(i); ++rest)
            for (int64_t c = 0; c < at.K; ++c) visit(rest, c);
    }
};

// ---- the best few

struct Entry {
    double value;
    int64_t from;
    int64_t rank;
};

// A list of entries and how far it was read, in a heap whose top is the best; ties go to the list
// of the least number.
struct Head {
    double value;
    int64_t list, from, rank;
    double move;
    bool operator<(const Head& other) const {
        return value != other.value ? value < other.value : list > other.list;
    }
};

struct Best {
    const Steps& steps;
    int64_t count;
    std::vector<Entry> entries;  // of every state up to `count`, the best first
    std::vector<int64_t> sizes;
    std::vector<Head> heap;

    Best(const Steps& s, int64_t n)
        : steps(s), count(n), entries(s.first[s.T] * n), sizes(s.first[s.T]) {}

    // Moves the best of the heap's lists, of states at `first`, to `put`, which says how many it
    // has.
    template <class Put>
    void merge(int64_t first, Put&& put) {
        std::make_heap(heap.begin(), heap.end());
        for (int64_t taken = 0; taken < count && !heap.empty(); ++taken) {
            std::pop_heap(heap.begin(), heap.end());
            Head& head = heap.back();
            put(taken, head);
            const int64_t state = first + head.from;
            if (++head.rank < sizes[state]) {
                head.value = entries[state * count + head.rank].value + head.move;
                std::push_heap(heap.begin(), heap.end());
            } else {
                heap.pop_back();
            }
        }
    }

    void head(int64_t first, int64_t list, int64_t from, double move) {
        const int64_t state = first + from;
        if (!sizes[state]) return;
        const double value = entries[state * count].value + move;
        if (value > kNever) heap.push_back({value, list, from, 0, move});
    }

    void position(int64_t i) {
        steps.states(i, [&](int64_t rest, int64_t c) {
            const int64_t state = steps.first[i] + rest * steps.at.S + c;
            const double own = steps.own(i, rest, c);
            if (!(own > kNever)) return;
            if (i == 0) {
                entries[state * count] = {own, -1, 0};
                sizes[state] = 1;
                return;
            }
            heap.clear();
            int64_t list = 0;
            steps.before(i, rest, c, [&](int64_t from, double move) {
                head(steps.first[i - 1], list++, from, move);
            });
            merge(steps.first[i - 1], [&](int64_t taken, const Head& found) {
                entries[state * count + taken] = {found.value + own, found.from, found.rank};
                sizes[state] = taken + 1;
            });
        });
    }

    // labels (count, T), values (count): behind the last labelling there is -1 and -infinity.
    void write(int32_t* labels, double* values) {
        const int64_t T = steps.T, last = steps.first[T - 1];
        std::fill(labels, labels + count * T, -1);
        std::fill(values, values + count, kNever);
        heap.clear();
        int64_t list = 0;
        for (int64_t c = 0; c < steps.at.K; ++c)
            for (int64_t rest = 0; rest < steps.rests(T - 1); ++rest)
                head(last, list++, rest * steps.at.S + c, 0.0);
        merge(last, [&](int64_t taken, const Head& found) {
            values[taken] = found.value;
            int64_t state = found.from, rank = found.rank;
            for (int64_t i = T - 1; i >= 0; --i) {
                labels[taken * T + i] = static_cast<int32_t>(state % steps.at.S);
                const Entry& entry = entries[(steps.first[i] + state) * count + rank];
                state = entry.from;
                rank = entry.rank;
            }
        });
    }
};

// ---- sums

// ln of a sum of exponentials, and the mean of something under these weights.
struct Sum {
    double most = kNever, sum = 0, mean = 0;
    void add(double power, double what) {
        if (!(power > kNever)) return;
        if (power > most) {
            const double shrunk = sum > 0 ? std::exp(most - power) : 0.0;
            sum *= shrunk;
            mean *= shrunk;
            most = power;
        }
        const double weight = std::exp(power - most);
        sum += weight;
        mean += weight * what;
    }
    double log() const { return sum > 0 ? most + std::log(sum) : kNever; }
    double average() const { return sum > 0 ? mean / sum : 0.0; }
};

struct Sums {
    const Steps& steps;
    double scale;
    std::vector<double> forward, means, backward;

    Sums(const Steps& s, double t)
        : steps(s), scale(t), forward(s.first[s.T]), means(s.first[s.T]) {}

    // ln sum and mean score of all labellings.
    Sum run() {
        for (int64_t i = 0; i < steps.T; ++i)
            steps.states(i, [&](int64_t rest, int64_t c) {
                const int64_t state = steps.first[i] + rest * steps.at.S + c;
                const double own = steps.own(i, rest, c);
                if (!(own > kNever)) {
                    forward[state] = kNever;
                    return;
                }
                Sum sum;
                if (i == 0) sum.add(0.0, 0.0);
                else
                    steps.before(i, rest, c, [&](int64_t from, double move) {
                        const int64_t before = steps.first[i - 1] + from;
                        if (forward[before] > kNever && move > kNever)
                            sum.add(forward[before] + scale * move, means[before] + move);
                    });
                forward[state] = sum.log() + scale * own;
                means[state] = sum.average() + own;
            });
        Sum all;
        steps.states(steps.T - 1, [&](int64_t rest, int64_t c) {
            const int64_t state = steps.first[steps.T - 1] + rest * steps.at.S + c;
            all.add(forward[state], means[state]);
        });
        return all;
    }

    // out (T, K): the part of every tag of every token; after run.
    void marginals(double log_sum, double* out) {
        const int64_t K = steps.at.K, T = steps.T;
        std::fill(out, out + T * K, 0.0);
        backward.assign(steps.first[T], kNever);
        std::vector<Sum> sums;
        for (int64_t i = T - 1; i >= 0; --i) {
            const int64_t size = steps.first[i + 1] - steps.first[i];
            if (i == T - 1) {
                std::fill(backward.begin() + steps.first[i], backward.end(), 0.0);
            } else {
                sums.assign(size, Sum());
                steps.states(i + 1, [&](int64_t rest, int64_t c) {
                    const int64_t state = steps.first[i + 1] + rest * steps.at.S + c;
                    const double own = steps.own(i + 1, rest, c);
                    if (!(own > kNever) || !(backward[state] > kNever)) return;
                    steps.before(i + 1, rest, c, [&](int64_t from, double move) {
                        if (move > kNever)
                            sums[from].add(backward[state] + scale * (own + move), 0.0);
                    });
                });
                for (int64_t k = 0; k < size; ++k) backward[steps.first[i] + k] = sums[k].log();
            }
            double total = 0;
            steps.states(i, [&](int64_t rest, int64_t c) {
                const int64_t state = steps.first[i] + rest * steps.at.S + c;
                const double both = forward[state] + backward[state];
                if (!(both > kNever)) return;
                out[i * K + c] += std::exp(both - log_sum);
            });
            for (int64_t c = 0; c < K; ++c) total += out[i * K + c];
            for (int64_t c = 0; total > 0 && c < K; ++c) out[i * K + c] /= total;
        }
    }
};

// ---- the best with every tag

struct Highest {
    const Steps& steps;
    std::vector<double> forward, backward;

    explicit Highest(const Steps& s)
        : steps(s), forward(s.first[s.T], kNever), backward(s.first[s.T], kNever) {}

    // out (T, K)
    void run(double* out) {
        const int64_t K = steps.at.K, T = steps.T;
        std::fill(out, out + T * K, kNever);
        for (int64_t i = 0; i < T; ++i)
            steps.states(i, [&](int64_t rest, int64_t c) {
                double most = i == 0 ? 0.0 : kNever;
                if (i > 0)
                    steps.before(i, rest, c, [&](int64_t from, double move) {
                        most = std::max(most, forward[steps.first[i - 1] + from] + move);
                    });
                forward[state(i, rest, c)] = most + steps.own(i, rest, c);
            });
        for (int64_t i = T - 1; i >= 0; --i) {
            if (i == T - 1) std::fill(backward.begin() + steps.first[i], backward.end(), 0.0);
            else
                steps.states(i + 1, [&](int64_t rest, int64_t c) {
                    const double own = steps.own(i + 1, rest, c) + backward[state(i + 1, rest, c)];
                    steps.before(i + 1, rest, c, [&](int64_t from, double move) {
                        double& best = backward[steps.first[i] + from];
                        best = std::max(best, own + move);
                    });
                });
            steps.states(i, [&](int64_t rest, int64_t c) {
                const int64_t k = state(i, rest, c);
                out[i * K + c] = std::max(out[i * K + c], forward[k] + backward[k]);
            });
        }
    }

    int64_t state(int64_t i, int64_t rest, int64_t c) const {
        return steps.first[i] + rest * steps.at.S + c;
    }
};

template <class Work>
int each(const svmcut_chain* chain, const double* nodes, const double* transitions, int threads,
         Work&& work) {
    const ChainLayout at(chain);
    return svmcut::for_sequences(chain, threads, nullptr, [&](int64_t from, int64_t to) {
        for (int64_t n = from; n < to; ++n) {
            const int64_t begin = chain->sequences[n], T = chain->sequences[n + 1] - begin;
            work(n, begin, Steps(at, nodes + begin * at.blocks * at.S, transitions, T));
        }
    });
}

}  // namespace

extern "C" {

int svmcut_chain_best(const svmcut_chain* chain, const double* nodes, const double* transitions,
                      int64_t count, int32_t* labels, double* values, int threads) {
    return each(chain, nodes, transitions, threads,
                [&](int64_t n, int64_t begin, const Steps& steps) {
                    Best best(steps, count);
                    for (int64_t i = 0; i < steps.T; ++i) best.position(i);
                    best.write(labels + count * begin, values + count * n);
                });
}

int svmcut_chain_sums(const svmcut_chain* chain, const double* nodes, const double* transitions,
                      double scale, double* log_sums, double* means, double* marginals,
                      int threads) {
    svmcut::ChainProducts products;
    bool multiplied;
    try {
        multiplied = products.read(ChainLayout(chain), transitions, scale);
    } catch (...) {
        return SVMCUT_NO_MEMORY;
    }
    const auto work = SVMCUT_PICK(svmcut::products);
    return each(chain, nodes, transitions, threads,
                [&](int64_t n, int64_t begin, const Steps& steps) {
                    if (multiplied) {
                        svmcut::ProductSums sums(products, nodes + begin * products.S, steps.T);
                        work(sums, nullptr);
                        log_sums[n] = sums.log_sum;
                        means[n] = sums.mean;
                        if (marginals) work(sums, marginals + begin * chain->K);
                        return;
                    }
                    Sums sums(steps, scale);
                    const Sum all = sums.run();
                    log_sums[n] = all.log();
                    means[n] = all.average();
                    if (marginals) sums.marginals(log_sums[n], marginals + begin * chain->K);
                });
}

int svmcut_chain_highest(const svmcut_chain* chain, const double* nodes, const double* transitions,
                         double* highest, int threads) {
    return each(chain, nodes, transitions, threads,
                [&](int64_t, int64_t begin, const Steps& steps) {
                    Highest(steps).run(highest + begin * chain->K);
                });
}

}  // extern "C"
