// SPDX-License-Identifier: BSD-3-Clause
//
// Pieces of the headers that svmcut.scorers.c writes.

//@ start
#ifndef SVMCUT_${unit}_H
#define SVMCUT_${unit}_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#if defined(__clang__) /* others need -ffp-contract=off where they fuse products and sums */
#pragma STDC FP_CONTRACT OFF
#endif
//@ end
#endif
//@ labels
/* What ${name}_label returns is a place here. */
enum { ${name}_label_count = $count };
//@ row
/* One row: NaN and NULL stand for what is missing; texts are UTF-8. */
struct ${name}_row {
//@ number
static inline float ${name}_number(double cell, double mean, double scale, double fill) {
    return (float)(((cell != cell ? fill : cell) - mean) * scale);
}
//@ words
struct ${name}_word {
    const char *text;
    int place;
};

/* The place of a text among sorted words; -1 for none. */
static inline int ${name}_find(const struct ${name}_word *words, int count, const char *text,
                               size_t length) {
    int low = 0, high = count - 1;
    while (low <= high) {
        const int middle = low + (high - low) / 2;
        const int order = strncmp(text, words[middle].text, length);
        if (order == 0 && words[middle].text[length] == '\0') return words[middle].place;
        if (order > 0) low = middle + 1;
        else high = middle - 1;
    }
    return -1;
}

static inline int ${name}_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static inline void ${name}_category(const char *cell, const struct ${name}_word *words, int count,
                                    int first, int missing, float *x) {
    size_t length = cell ? strlen(cell) : 0;
    int place;
    while (length && ${name}_blank(*cell)) ++cell, --length;
    while (length && ${name}_blank(cell[length - 1])) --length;
    place = length ? ${name}_find(words, count, cell, length) : -1;
    if (place >= 0) x[first + place] = 1;
    if (!length && missing >= 0) x[missing] = 1;
}
//@ pair
struct ${name}_pair {
    unsigned first, last;
};
//@ decoding
/* The last pair whose first number is not above a code point; -1 for none. */
static inline int ${name}_among(const struct ${name}_pair *pairs, int count, unsigned point) {
    int low = 0, high = count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (pairs[middle].first <= point) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

static inline int ${name}_within(const struct ${name}_pair *pairs, int count, unsigned point) {
    const int place = ${name}_among(pairs, count, point);
    return place >= 0 && point <= pairs[place].last;
}

/* The code point at *text, which moves behind it; 0 at the end, and U+FFFD for what is no UTF-8. */
static inline unsigned ${name}_decoded(const char **text) {
    const unsigned char *at = (const unsigned char *)*text;
    const int more = *at < 0x80 ? 0 : *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc0 ? 1 : -1;
    unsigned point = more <= 0 ? *at : *at & (0x3fu >> more);
    int k;
    if (*at == 0) return 0;
    for (k = 1; k <= more; ++k) {
        if ((at[k] & 0xc0) != 0x80) break;
        point = point << 6 | (at[k] & 0x3fu);
    }
    *text += k;
    return k <= more || more < 0 ? 0xfffd : point;
}
//@ no sigma
static inline unsigned ${name}_sigma(const char *text, const char *at) {
    (void)text, (void)at;
    return 0x3c3;
}
//@ sigma
/* The lower case of a capital sigma at a place of a text: another one at the end of a word. */
static inline unsigned ${name}_sigma(const char *text, const char *at) {
    const int cased = (int)(sizeof ${name}_cased / sizeof *${name}_cased);
    const int between = (int)(sizeof ${name}_between / sizeof *${name}_between);
    const char *p = at;
    unsigned point;
    for (;;) {
        const char *q;
        if (p == text) return 0x3c3;
        do --p;
        while (p > text && ((unsigned char)*p & 0xc0) == 0x80);
        q = p;
        point = ${name}_decoded(&q);
        if (!${name}_within(${name}_between, between, point)) break;
    }
    if (!${name}_within(${name}_cased, cased, point)) return 0x3c3;
    ${name}_decoded(&at);
    do point = ${name}_decoded(&at);
    while (${name}_within(${name}_between, between, point));
    return ${name}_within(${name}_cased, cased, point) ? 0x3c3 : 0x3c2;
}
//@ word
/* A term as it is read: its first bytes, their number, and a murmurhash3 of all. */
struct ${name}_term {
    char *text;
    size_t room, length;
    unsigned hash, block;
};

static inline unsigned ${name}_mixed(unsigned k) {
    k = k * 0xcc9e2d51u & 0xffffffffu;
    return (k << 15 | k >> 17) * 0x1b873593u & 0xffffffffu;
}

static inline void ${name}_put(struct ${name}_term *term, unsigned byte) {
    if (term->length < term->room) term->text[term->length] = (char)byte;
    term->block |= byte << (8 * (term->length % 4));
    if (++term->length % 4 == 0) {
        term->hash ^= ${name}_mixed(term->block);
        term->hash = ((term->hash << 13 | term->hash >> 19) * 5 + 0xe6546b64u) & 0xffffffffu;
        term->block = 0;
    }
}

static inline void ${name}_append(struct ${name}_term *term, unsigned point) {
    if (point < 0x80) {
        ${name}_put(term, point);
        return;
    }
    if (point >= 0x10000) ${name}_put(term, 0xf0 | point >> 18);
    if (point >= 0x800) ${name}_put(term, (point >= 0x10000 ? 0x80 : 0xe0) | (point >> 12 & (point >= 0x10000 ? 0x3fu : 0xfu)));
    ${name}_put(term, (point >= 0x800 ? 0x80 : 0xc0) | (point >> 6 & 0x3f));
    ${name}_put(term, 0x80 | (point & 0x3f));
}

static inline unsigned ${name}_hash(const struct ${name}_term *term) {
    unsigned h = term->hash;
    if (term->length % 4) h ^= ${name}_mixed(term->block);
    h ^= (unsigned)term->length;
    h = (h ^ h >> 16) * 0x85ebca6bu & 0xffffffffu;
    h = (h ^ h >> 13) * 0xc2b2ae35u & 0xffffffffu;
    return h ^ h >> 16;
}

/* Appends the next word of a text, from a place on, in lower case; returns the place behind it, and
   NULL where there is none. */
static inline const char *${name}_next(const char *text, const char *at, struct ${name}_term *term) {
    const int words = (int)(sizeof ${name}_letters / sizeof *${name}_letters);
    const int capitals = (int)(sizeof ${name}_lower / sizeof *${name}_lower);
    const struct ${name}_term before = *term;
    int points = 0;
    for (;;) {
        const char *const start = at;
        const unsigned point = ${name}_decoded(&at);
        const int is_part = ${name}_within(${name}_letters, words, point);
        if (is_part) {
            const int place = ${name}_among(${name}_lower, capitals, point);
            unsigned small = point;
            if (point == 0x3a3) small = ${name}_sigma(text, start);
            else if (place >= 0 && ${name}_lower[place].first == point) small = ${name}_lower[place].last;
            ${name}_append(term, small);
            ++points;
        }
        if (!is_part || point == 0x130) { /* a dotted capital I is an i and a dot, which parts */
            if (points > 1) return at;
            *term = before;
            points = 0;
            if (point == 0) return NULL;
        }
    }
}

/* Reads so many words from a place on as one term; returns the place behind the first, and NULL
   where there are fewer. */
static inline const char *${name}_run(const char *text, const char *at, int words,
                                      struct ${name}_term *term) {
    const char *first = NULL;
    int k;
    term->length = 0;
    term->hash = term->block = 0;
    for (k = 0; k < words; ++k) {
        if (k) ${name}_put(term, ' ');
        at = ${name}_next(text, at, term);
        if (at == NULL) return NULL;
        if (k == 0) first = at;
    }
    return first;
}
//@ terms
static inline void ${name}_text_$first(const char *text, float *x) {
    char letters[$longest];
    int order[$count + 1], n = 0, words, k;
    double squares = 0, size;
    struct ${name}_term term = {letters, sizeof letters, 0, 0, 0};
    for (words = $low; text && words <= $high; ++words) {
        const char *at = text;
        while ((at = ${name}_run(text, at, words, &term)) != NULL) {
            const int place = term.length < sizeof letters
                                  ? ${name}_find(${name}_words_$first, $count, letters, term.length)
                                  : -1;
            if (place < 0) continue;
            if (x[place] == 0) order[n++] = place;
            x[place] += 1;
        }
    }
    for (k = 0; k < n; ++k) {
        const int place = order[k];
        double value = x[place];
        value = $value;
        squares += value * value;
    }
    size = $size;
    for (k = 0; k < n; ++k) {
        const int place = order[k];
        double value = x[place];
        value = $value;
        x[place] = (float)(value / size);
    }
}
//@ hashed
static inline void ${name}_text_$first(const char *text, float *x) {
    double squares = 0, size;
    struct ${name}_term term = {NULL, 0, 0, 0, 0};
    int words, place;
    for (words = $low; text && words <= $high; ++words) {
        const char *at = text;
        while ((at = ${name}_run(text, at, words, &term)) != NULL) {
            const unsigned hash = ${name}_hash(&term), is_negative = hash >> 31;
            const unsigned bucket = (is_negative ? ~hash + 1u : hash) % ${width}u;
            x[bucket] += is_negative ? -1.0f : 1.0f;
        }
    }
    for (place = 0; place < $width; ++place) squares += (double)x[place] * x[place];
    size = $size;
    for (place = 0; place < $width; ++place) x[place] = (float)(x[place] / size);
}
//@ features
static inline void ${name}_features(const struct ${name}_row *row, float *x) {
    memset(x, 0, $d * sizeof *x);
$lines
}
//@ linear
static inline void ${name}_sums(const float *x, double *sums) {
    int j, k;
    for (k = 0; k < $k; ++k) sums[k] = 0;
    for (j = 0; j < $d; ++j)
        for (k = 0; k < $k; ++k) sums[k] += x[j] * ${name}_weights[j * $k + k];
    for (k = 0; k < $k; ++k) sums[k] += ${name}_constants[k];
}
//@ distance
        if (4 * $gamma * ($largest + own) * (1.0 / 9007199254740992.0) > 1e-12) {
            int e = ${name}_starts[i], j;
            for (value = 0, j = 0; j < $d; ++j) {
                const int is_there = e < ${name}_starts[i + 1] && ${name}_indices[e] == j;
                const double difference = is_there ? (double)x[j] - ${name}_values[e] : x[j];
                value += difference * difference;
                e += is_there;
            }
            value += outside;
        } else {
            value = ${name}_norms[i] - 2 * value + own;
            value = value > 0 ? value : 0;
        }
//@ kernel
/* own: the sum of the squares of all features; outside: that of those not in x. */
static inline void ${name}_kernels(const float *x, double own, double outside, double *sums) {
    double values[$many];
    int i, k, e;
    for (i = 0; i < $m; ++i) {
        double value = 0;
        for (e = ${name}_starts[i]; e < ${name}_starts[i + 1]; ++e)
            value += (double)x[${name}_indices[e]] * ${name}_values[e];
$distance        values[i] = $form;
    }
    (void)own, (void)outside;
    for (k = 0; k < $k; ++k) {
        double sum = 0;
        for (e = ${name}_machines[k]; e < ${name}_machines[k + 1]; ++e)
            sum += ${name}_alpha[e] * values[${name}_places[e]];
        sums[k] = sum + ${name}_constants[k];
    }
}

static inline void ${name}_sums(const float *x, double *sums) {
    double own = 0;
    int j;
    for (j = 0; j < $d; ++j) own += (double)x[j] * x[j];
    ${name}_kernels(x, own, 0, sums);
}
//@ row sums
static inline void ${name}_row_sums(const struct ${name}_row *row, double *sums) {
    float x[$d];
    ${name}_features(row, x);
    ${name}_sums(x, sums);
}
//@ text sums
static inline void ${name}_text_row_sums(const char *text, double *sums) {
    struct ${name}_row row;
    row.$field = text;
    ${name}_row_sums(&row, sums);
}
//@ sparse linear sums
/* Features by their numbers, which rise from 1 on. */
static inline void ${name}_sparse_row_sums(const int *index, const double *value, int n,
                                           double *sums) {
    int i, k;
    for (k = 0; k < $k; ++k) sums[k] = 0;
    for (i = 0; i < n; ++i)
        for (k = 0; index[i] <= $d && k < $k; ++k)
            sums[k] += (float)value[i] * ${name}_weights[(index[i] - 1) * $k + k];
    for (k = 0; k < $k; ++k) sums[k] += ${name}_constants[k];
}
//@ sparse kernel sums
/* Features by their numbers, which rise from 1 on. */
static inline void ${name}_sparse_row_sums(const int *index, const double *value, int n,
                                           double *sums) {
    float x[$d];
    double own = 0, outside = 0;
    int i;
    memset(x, 0, sizeof x);
    for (i = 0; i < n; ++i) {
        const float number = (float)value[i];
        own += (double)number * number;
        if (index[i] <= $d) x[index[i] - 1] = number;
        else outside += (double)number * number;
    }
    ${name}_kernels(x, own, outside, sums);
}
//@ score
/* The score of a row. */
static inline double ${name}_score$suffix($given) {
    double sums[1];
    ${name}${suffix}_row_sums($passed, sums);
    return sums[0];
}
//@ label
/* The place of its label among ${name}_labels. */
static inline int ${name}_label$suffix($given) { return ${name}_score$suffix($passed) $sign 0; }
//@ sigmoid
/* The probability of the label ${name}_labels[1]. */
static inline double ${name}_probability$suffix($given) {
    const double z = $slope * (${name}_score$suffix($passed)$shift) + $offset;
    const double least = exp(-fabs(z));
    return (z >= 0 ? least : 1.0) / (1.0 + least);
}
//@ scores
/* The scores of all labels, in the order of ${name}_labels. */
static inline void ${name}_scores$suffix($given, double *out) {
    ${name}${suffix}_row_sums($passed, out);
}
//@ votes
/* The votes of all pairs of labels for each, in the order of ${name}_labels. */
static inline void ${name}_scores$suffix($given, double *out) {
    double sums[$k];
    int a, b, pair = 0;
    ${name}${suffix}_row_sums($passed, sums);
    for (a = 0; a < $labels; ++a) out[a] = 0;
    for (a = 0; a < $labels; ++a)
        for (b = a + 1; b < $labels; ++b) out[sums[pair++] > 0 ? a : b] += 1;
}
//@ largest
/* The place among ${name}_labels of the largest score, the first of equal ones. */
static inline int ${name}_label$suffix($given) {
    double scores[$labels];
    int k, best = 0;
    ${name}_scores$suffix($passed, scores);
    for (k = 1; k < $labels; ++k) best = scores[k] > scores[best] ? k : best;
    return best;
}
//@ softmax
/* The probabilities of all labels, in the order of ${name}_labels. */
static inline void ${name}_probabilities$suffix($given, double *out) {
    double total = 0, most;
    int k;
    ${name}_scores$suffix($passed, out);
    for (most = out[0], k = 1; k < $labels; ++k) most = out[k] > most ? out[k] : most;
    for (k = 0; k < $labels; ++k) total += out[k] = exp($t * (out[k] - most));
    for (k = 0; k < $labels; ++k) out[k] /= total;
}
//@ shares
/* The probabilities of all labels, in the order of ${name}_labels. */
static inline void ${name}_probabilities$suffix($given, double *out) {
    double total = 0;
    int k;
    ${name}_scores$suffix($passed, out);
    for (k = 0; k < $labels; ++k) {
        const double least = exp(-fabs(out[k]));
        total += out[k] = (out[k] > 0 ? 1.0 : least) / (1.0 + least);
    }
    for (k = 0; k < $labels; ++k) out[k] /= total;
}
