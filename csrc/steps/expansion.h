// SPDX-License-Identifier: BSD-3-Clause
//
// What the stochastic kernel trainers share: rows added to responses in one pass, and water levels.
// Inside the C++ side only.
#ifndef SVMCUT_EXPANSION_CODE_H
#define SVMCUT_EXPANSION_CODE_H

#include <limits>
#include <vector>

#include "core/crew.h"
#include "include/steps.h"
#include "kernels/kernel_points.h"

namespace svmcut {

// Responses below a threshold: their number, their sum and the sum of their weights, these two
// weighted.
struct Below {
    int64_t count;
    double sum, mass;
};
struct Response {
    double value;
    int64_t at;
};
// Loops for one set of instructions; see expansion_lanes.h.
struct ExpansionCode {
    double (*add)(double* c, const float* row, double step, int64_t count);
    double (*add_two)(double* c, double* correction, const float* row, double step, double weight,
                      int64_t count);
    Below (*below)(const double* c, double threshold, int64_t count);
    // out: room for `count` responses and one more.
    Below (*collect)(const double* c, double low, double high, int64_t first, int64_t count,
                     Response* out, int64_t* taken);
    void (*weigh)(const double* c, double threshold, double weight, double* mass, int64_t count);
    // The same with weights v of the responses.
    Below (*below_weighted)(const double* c, const double* v, double threshold, int64_t count);
    Below (*collect_weighted)(const double* c, const double* v, double low, double high,
                              int64_t first, int64_t count, Response* out, int64_t* taken);
    void (*weigh_weighted)(const double* c, const double* v, double threshold, double weight,
                           double* mass, int64_t count);
};
const ExpansionCode& expansion_code(int instructions);

inline bool earlier(const Response& x, const Response& y) {
    return x.value < y.value || (x.value == y.value && x.at < y.at);
}
// Windows a search of the level may go through.
constexpr int kLooks = 12;

// Points a thread takes at once: whole tiles.
constexpr int64_t kStretch = 32 * kTile;

// One class under its window of responses [low, high): what is below is counted, what is inside is
// at hand.
struct Basin {
    int64_t first = 0, count = 0;
    double low = 0, high = 0;
    Below below{0, 0.0, 0.0};
    std::vector<Response> window;  // after find, the covered ones first
    int64_t last = 0;              // covered one of the window
    std::vector<double> sums;      // scratch, by stretch
    std::vector<int64_t> before;   // by stretch: responses below `low`
    std::vector<double> weights;   // by stretch, where there are weights: of these responses

    int64_t end() const { return below.count + static_cast<int64_t>(window.size()); }
};

// The water level of a set of responses, found again and again while they change a little.
class WaterLevel {
  public:
    // v: weights of the responses, null for 1 each.
    WaterLevel(const ExpansionCode& use, int64_t positives, int64_t trained, bool free_bias,
               const double* v);

    double level = 0, bias = 0;
    int64_t covered = 0;
    double mass = 0;  // weight of the covered points, of each class where the bias is free
    // In units of the responses, by class; without a bias the first alone.
    double centre[2] = {0, 0}, width[2] = {0, 0};

    // False where there is no level: an empty class beside a free bias, or responses that are not
    // finite.
    bool find(const double* c, double volume, Crew& crew);
    // The covered point of this rank (from 0) of the class, or of all points without a bias; after
    // find.
    int64_t point(const double* c, int side, int64_t rank) const;
    // The covered point at this place, from 0 to below `mass`, of the weights one behind the other.
    int64_t point_at(const double* c, int side, double place) const;
    // Guesses where the level will be now that the responses have changed, by `shift` in the mean;
    // after find.
    void follow(const double* c, double shift);
    // What a response must not exceed to be covered, up to ties; after find.
    double threshold(int side) const { return edge[side]; }

  private:
    const ExpansionCode& code;
    const double* v;
    bool two;
    Basin basin[2];
    std::vector<Response> room;
    double edge[2] = {0, 0};

    bool find_one(const double* c, double volume, Crew& crew);
    bool find_two(const double* c, double volume, Crew& crew);
    bool find_two_weighted(const double* c, double volume, Crew& crew);
    double lowest_of(const double* c) const;
    void widen(Basin& one, bool lower, bool higher, int look, const double* c, Crew& crew);
    void remember(int side, double value, bool missed);
    Below count_below(const double* c, double threshold, Crew& crew);
    void scan(Basin& side, const double* c, Crew& crew);
};

}  // namespace svmcut

struct svmcut_expansion {
    svmcut::Points points;
    const svmcut::KernelCode* kernel_code;
    const svmcut::ExpansionCode* code;
    svmcut_csr X;
    int64_t n, positives, trained;
    const int8_t* signs;
    std::vector<float> row;  // scratch where the layout needs long runs
    std::vector<double> sums;

    int sign(int64_t p) const { return p < positives ? 1 : p < trained ? -1 : signs[p - trained]; }
    // c_i += step y_i y_p K_ip, correction_i += weight y_i y_p K_ip (null for none); means: of the
    // row, by class.
    int add(int64_t p, double step, double weight, double* c, double* correction,
            svmcut::Crew& crew, double* means);
};
#endif
