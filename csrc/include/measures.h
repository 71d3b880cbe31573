// SPDX-License-Identifier: BSD-3-Clause
//
// The ABI of the risks' most violated constraints; the rules of svmcut.h hold.
#ifndef SVMCUT_MEASURES_ABI_H
#define SVMCUT_MEASURES_ABI_H

#include "include/svmcut.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bytes of workspace for the functions below; n rows in all (queries, or positives plus negatives),
// n < 2^31.
int64_t svmcut_risk_workspace(int64_t n);

// Grades of labels, query by query: query q is rows start[q] to start[q + 1]. grade: 0-based rank
// of y among the distinct labels of its query; n_grades[q]; pairs[q]: pairs with different labels.
int svmcut_ordinal_grades(const double* y, const int64_t* start, int64_t n_queries, int32_t* grade,
                          int32_t* n_grades, int64_t* pairs, void* workspace, int threads);

// Pairs (i, j) of one query with grade[i] > grade[j] and s_j + margin[q] > s_i. coef = weight[q]
// (pairs below minus pairs above); cut_pairs[q]: their number; value[q]: sum of margin[q] - s_i +
// s_j over them, unweighted.
int svmcut_ordinal_cut(const double* s, const int64_t* start, int64_t n_queries,
                       const int32_t* grade, const int32_t* n_grades, const double* weight,
                       const double* margin, double* coef, int64_t* cut_pairs, double* value,
                       void* workspace, int threads);

// Clicks: pairs (i, j) of one query with s_j + 1 > s_i, each cost[i], 0 where i is not clicked. coef
// is times weight; value[q] and offset[q] are not.
int svmcut_propensity_cut(const double* s, const int64_t* start, int64_t n_queries,
                          const double* cost, double weight, double* coef, double* value,
                          double* offset, void* workspace, int threads);

// Losses of contingency tables; the numbers are svm_perf's.
enum svmcut_table_loss {
    SVMCUT_ZERO_ONE = 0,
    SVMCUT_F1 = 1,
    SVMCUT_ERROR_RATE = 2,
    SVMCUT_PRBEP = 3,
    SVMCUT_PREC_AT_K = 4,
    SVMCUT_REC_AT_K = 5
};

// The most violated labelling. positive, negative: rows of either class, increasing. value_offset:
// value and offset of the cut (both 0, and coef all 0, when no labelling is violated). k serves the
// losses at k.
int svmcut_contingency_cut(const double* s, const int32_t* positive, int64_t n_positive,
                           const int32_t* negative, int64_t n_negative, int loss,
                           int slack_rescaling, int slack_norm, int64_t k, double* coef,
                           double value_offset[2], void* workspace, int threads);

// Losses of contingency tables that no svm_perf has by itself; the numbers of its patch for
// quantification where it has some.
enum svmcut_own_table_loss {
    SVMCUT_KLD = 12,
    SVMCUT_NKLD = 13,
    SVMCUT_GMEAN = 20,
    SVMCUT_Q_RECALL = 22,
    SVMCUT_Q_ACCURACY = 23,
    SVMCUT_Q_F1 = 24,
    SVMCUT_Q_GMEAN = 25,
    SVMCUT_MAE = 26,
    SVMCUT_MRAE = 27,
    SVMCUT_F_BETA = 28,
    SVMCUT_BALANCED = 29,
    SVMCUT_RECALL_AT_PRECISION = 30,
    SVMCUT_PRECISION_AT_RECALL = 31
};

// As svmcut_contingency_cut with margin rescaling, for one of these; parameter: beta, or the floor,
// above 0.
int svmcut_table_cut(const double* s, const int32_t* positive, int64_t n_positive,
                     const int32_t* negative, int64_t n_negative, int loss, double parameter,
                     double* coef, double value_offset[2], void* workspace, int threads);

// The most violated ranking of  scale (1 - average precision) - weight sum over pairs ranked
//                               wrongly (s_p - s_n).
int svmcut_average_precision_cut(const double* s, const int32_t* positive, int64_t n_positive,
                                 const int32_t* negative, int64_t n_negative, double scale,
                                 double weight, double* coef, double value_offset[2],
                                 void* workspace, int threads);

// The same of every query: 1 - average precision, and 2/(P N) for a pair. rows: of every query the
// relevant rows and then the others, n_relevant[q] of the first. coef is times weight[q], value[q]
// and offset[q] are not; all are 0 for a query of rows of one kind.
int svmcut_map_cut(const double* s, const int64_t* start, int64_t n_queries, const int32_t* rows,
                   const int64_t* n_relevant, const double* weight, double* coef, double* value,
                   double* offset, void* workspace, int threads);

// Pairs (i, j) with key_i even, an event, and key_j > key_i, whose margin s_i - s_j is below 1. key:
// 2 rank of the time + 1 where the row is censored, below `keys`. coef: slopes of the sum of
// max(0, 1 - s_i + s_j), or of its square; sums: of the hinges, of their squares, of 1. weight: of the
// rows, a pair weighs the product; null for 1 each.
int svmcut_survival_cut(const double* s, const int32_t* key, const double* weight, int64_t n,
                        int64_t keys, int squared, double* coef, double sums[3], void* workspace,
                        int threads);

// Of the same pairs how many have s_j < s_i, how many s_j = s_i, and all.
int svmcut_survival_pairs(const double* s, const int32_t* key, int64_t n, int64_t keys,
                          int64_t counts[3], void* workspace, int threads);

// ---- two_classes.cc: what scores are worth

typedef struct {
    double precision, recall;  // floors
    int64_t first, last;       // negatives by falling scores, from 0: those of the partial area
} svmcut_two_classes_aims;

typedef struct {
    int64_t positives, predicted, hits;  // predicted: score above 0; hits: positives among them
    int64_t swapped;   // pairs of a positive and a negative that does not score lower
    int64_t lost;      // of these, those with a negative from `first` to below `last`
    int64_t top;       // positives among as many rows as there are positives
    double average;    // precision at the rank of each positive, averaged; nan without any
    double recall;     // the best at a precision of the floor or more; 0 where there is none
    double precision;  // the best at a recall of the floor or more
} svmcut_two_classes_worth;

// Rows of scores s, positive or not (1 or 0), n < 2^32. Negatives stand first among equal scores, nan
// is below all. `room` has as many bytes as svmcut_two_classes_room says.
int64_t svmcut_two_classes_room(int64_t n);
void svmcut_two_classes(const double* s, const uint8_t* positive, int64_t n,
                        const svmcut_two_classes_aims* aims, svmcut_two_classes_worth* out,
                        void* room, int threads);

// What the search for the most violated ranking of NDCG keeps at a time; the most of any query.
typedef struct {
    int64_t states;  // counts of the grades among the first places
    int64_t steps;   // (sum over grades of its rows that may stand there) (that sum + grades)
    int64_t grades;
    int64_t places;
} svmcut_ndcg_size;

// Bytes of room for one thread.
int64_t svmcut_ndcg_room(const svmcut_ndcg_size* most);

// 1 - NDCG of the first `places`, and 2/pairs for a pair of rows of unequal grade. gain: of every
// row, equal within a grade and rising with it; discount: of the first places, falling. Otherwise
// as svmcut_map_cut; n_rooms rooms.
int svmcut_ndcg_cut(const double* s, const int64_t* start, int64_t n_queries, const int32_t* grade,
                    const int32_t* n_grades, const double* gain, const double* discount,
                    int64_t places, const double* weight, double* coef, double* value,
                    double* offset, void* workspace, const svmcut_ndcg_size* most, void* rooms,
                    int n_rooms);

#ifdef __cplusplus
}
#endif
#endif
