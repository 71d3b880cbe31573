// SPDX-License-Identifier: BSD-3-Clause
//
// The grammar of example files, for one piece of whole lines:
//
//     LABEL [qid:N] [sid:N] [cost:F] INDEX:VALUE ... [# text]
//
// or, for multilabel files, with LABEL,LABEL,... in front, a line that starts with a blank having
// no label, and one of blanks alone no feature either; or, in a file without labels, with any word in front or none. Indices start at
// 1, or at 0 where the piece says so.
//
// Everything is decided here, one token at a time. A Run is a faster reader of the plain tokens in
// between: it takes any number of features it is sure of and leaves the rest, faults included, to
// this file. So every Run, the empty one too, gives the same rows and the same refusals.
#ifndef SVMCUT_SCAN_PIECE_H
#define SVMCUT_SCAN_PIECE_H

#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "include/text.h"
#include "text/decimal.h"

namespace svmcut {

constexpr size_t most_quoted = 40;                // bytes of the text in a message
constexpr int32_t largest_index = INT32_MAX - 1;  // 1-based, as in the file

struct Row {
    double label;
    int64_t end;  // entries of the piece up to and with this row
    int64_t qid;
    double cost;
};

struct Skip {
    int64_t row;    // before which row of the piece
    int64_t lines;  // how many lines without an example stand before it, in all
};

struct Piece {
    const char* begin;
    const char* end;
    int32_t* indices;  // room for (end - begin) / 4 entries: no feature takes less than " 1:1"
    float* values;
    int64_t entries = 0;
    int64_t lines = 0;
    int32_t largest = 0;  // 1-based
    bool has_qid = false, has_cost = false;
    bool multilabel = false, zero_based = false, unlabelled = false;
    // values beyond float are none of its faults; for whoever reads them as double
    bool wide = false;
    std::vector<int32_t> labels;  // of multilabel rows, one after the other; Row::label counts them
    std::vector<Row> rows;
    std::vector<Skip> skips;
    int status = SVMCUT_OK;
    svmcut_scan_fault fault{};
};

inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); }
inline bool ends_token(char c) { return is_blank(c) || c == '\n' || c == '#'; }

template <class Run>
class Lines {
  public:
    explicit Lines(Piece& piece) : piece(piece), end(piece.end), run(piece.begin, piece.end) {}

    // Fills the piece; throws std::bad_alloc only.
    void scan() {
        const char* p = piece.begin;
        int64_t skipped = 0;
        while (p < end) {
            line = p;
            ++piece.lines;
            p = past_blanks(p);
            if (piece.multilabel && is_line_of_blanks(p)) {
                piece.rows.push_back(Row{0.0, piece.entries, 0, 1.0});
            } else if (p == end || *p == '\n' || *p == '#') {
                const auto row = static_cast<int64_t>(piece.rows.size());
                ++skipped;
                if (!piece.skips.empty() && piece.skips.back().row == row)
                    piece.skips.back().lines = skipped;
                else piece.skips.push_back({row, skipped});
            } else {
                p = example(p);
            }
            if (p) p = past_line(p);
            if (!p) return;
        }
    }

  private:
    Piece& piece;
    const char* const end;
    const char* line = nullptr;
    Run run;
    Row row{};
    bool qid_given = false, sid_given = false, cost_given = false;

    const char* past_blanks(const char* p) const {
        while (p < end && is_blank(*p)) ++p;
        return p;
    }

    // Of a line whose blanks end at p; one of its end alone, \r\n, is empty.
    bool is_line_of_blanks(const char* p) const {
        return (p == end || *p == '\n') && p - line > (p > line && p[-1] == '\r');
    }

    const char* token_end(const char* p) const {
        while (p < end && !ends_token(*p)) ++p;
        return p;
    }

    // From the comment or line end at p to the next line.
    const char* past_line(const char* p) {
        if (p == end) return p;
        if (*p == '\n') return p + 1;
        const void* found = std::memchr(p, '\n', static_cast<size_t>(end - p));
        const char* stop = found ? static_cast<const char*>(found) : end;
        if (const void* nul = std::memchr(p, 0, static_cast<size_t>(stop - p)))
            return refuse_nul(nul);
        return stop == end ? end : stop + 1;
    }

    // The whole line but its comment; returns where it stops, or null after a refusal.
    const char* example(const char* p) {
        row = Row{0.0, 0, 0, 1.0};
        qid_given = sid_given = cost_given = false;
        p = piece.multilabel ? labels(p) : piece.unlabelled ? word(p) : label(p);
        int32_t last = piece.zero_based ? -1 : 0;
        while (p) {
            p = past_blanks(p);
            p = run.features(p, last, piece);
            if (p < end && is_blank(*p)) p = past_blanks(p);
            if (p == end || *p == '\n' || *p == '#') break;
            p = *p == 'q' || *p == 's' || *p == 'c' ? keyed(p) : feature(p, last);
        }
        if (!p) return nullptr;
        row.end = piece.entries;
        if (last > piece.largest) piece.largest = last;
        piece.rows.push_back(row);
        return p;
    }

    const char* label(const char* p) {
        const bool sign = *p == '-' || *p == '+';
        // -1, +1, grades; no branch on the sign
        if (end - p > 2 && is_digit(p[sign]) && ends_token(p[sign + 1])) {
            const double factors[] = {1.0, -1.0};
            row.label = (p[sign] - '0') * factors[*p == '-'];
            return p + sign + 1;
        }
        Decimal number;
        const char* q = read_decimal(p, end, number);
        if (!q || (q < end && !ends_token(*q))) return refuse_label(p);
        row.label = to_double(number);
        return std::isfinite(row.label) ? q : refuse_label(p);
    }

    // Whatever stands in place of a label; nothing where the line begins with a feature or a query.
    const char* word(const char* p) {
        const char* stop = token_end(p);
        const std::string_view token(p, static_cast<size_t>(stop - p));
        const bool is_feature = is_digit(p[*p == '+' && token.size() > 1]) && names_feature(p);
        const bool is_key = token.substr(0, 4) == "qid:" || token.substr(0, 4) == "sid:" ||
                            token.substr(0, 5) == "cost:";
        if (token.find('\0') != token.npos) return refuse_label(p);
        return is_feature || is_key ? p : stop;
    }

    // Labels with commas in between, each perhaps with blanks behind it: "3,17" or "3, 17". None
    // where the line starts with a blank and a feature.
    const char* labels(const char* p) {
        const auto before = piece.labels.size();
        while (
            !(p > line && is_blank(*line) && piece.labels.size() == before && names_feature(p))) {
            int64_t id = 0;
            const char* digits = p;
            for (; p < end && is_digit(*p); ++p)
                if (id <= largest_index) id = id * 10 + (*p - '0');
            const bool comma = p < end && *p == ',';
            if (p == digits || id > largest_index || (p < end && !comma && !ends_token(*p)))
                return refuse_labels(digits);
            piece.labels.push_back(static_cast<int32_t>(id));
            if (!comma) break;
            p = past_blanks(p + 1);
        }
        row.label = static_cast<double>(piece.labels.size() - before);
        return p;
    }

    bool names_feature(const char* p) const {
        return std::memchr(p, ':', static_cast<size_t>(token_end(p) - p)) != nullptr;
    }

    const char* refuse_labels(const char* token) {
        const char* stop = token_end(token);
        if (const void* nul = std::memchr(token, 0, static_cast<size_t>(stop - token)))
            return refuse_nul(nul);
        if (names_feature(token))
            return refuse(
                token,
                "%s stands where labels are expected; a line without labels starts with a blank",
                token, stop);
        return refuse(
            token, "label %s is not a whole number from 0 to 2147483646; expected LABEL,LABEL,...",
            token, stop);
    }

    const char* feature(const char* token, int32_t& last) {
        const char* p = token + (*token == '+');
        int64_t index = 0;
        const char* digits = p;
        for (; p < end && is_digit(*p); ++p)
            if (index <= largest_index) index = index * 10 + (*p - '0');
        if (p == digits || p == end || *p != ':') return refuse_feature(token, last);
        Decimal number;
        const char* q = read_decimal(p + 1, end, number);
        if (!q || (q < end && !ends_token(*q))) return refuse_feature(token, last);
        const float value = to_float(number);
        const bool fits = std::isfinite(value) || (piece.wide && std::isfinite(to_double(number)));
        if (index <= last || index > largest_index - piece.zero_based || !fits)
            return refuse_feature(token, last);
        last = static_cast<int32_t>(index);
        piece.indices[piece.entries] = last - 1;
        piece.values[piece.entries++] = value;
        return q;
    }

    const char* keyed(const char* token) {
        const char* stop = token_end(token);
        const auto length = static_cast<size_t>(stop - token);
        auto starts = [&](const char* key, size_t size) {
            return length >= size && !std::memcmp(token, key, size);
        };
        if (const void* nul = std::memchr(token, 0, length)) return refuse_nul(nul);
        if (starts("qid:", 4)) {
            if (qid_given) return refuse(token, "%s follows another qid", token, stop);
            if (!whole_number(token + 4, stop, "query id", row.qid)) return nullptr;
            qid_given = piece.has_qid = true;
        } else if (starts("sid:", 4)) {
            int64_t sid = 0;
            if (sid_given) return refuse(token, "%s follows another sid", token, stop);
            if (!whole_number(token + 4, stop, "slack id", sid)) return nullptr;
            if (sid < 1)
                return refuse(token + 4, "slack id %s; expected 1 or more", token + 4, stop);
            sid_given = true;
        } else if (starts("cost:", 5)) {
            if (cost_given) return refuse(token, "%s follows another cost", token, stop);
            Decimal number;
            if (read_decimal(token + 5, stop, number) != stop)
                return refuse_number(token + 5, stop, "cost");
            row.cost = to_double(number);
            if (!std::isfinite(row.cost)) return refuse_number(token + 5, stop, "cost");
            cost_given = piece.has_cost = true;
        } else {
            return refuse_feature(token, 0);
        }
        return stop;
    }

    bool whole_number(const char* text, const char* stop, const char* what, int64_t& value) {
        char message[SVMCUT_MESSAGE_BYTES];
        const char* p = text + (text < stop && (*text == '-' || *text == '+'));
        const uint64_t limit = static_cast<uint64_t>(INT64_MAX) + (p > text && *text == '-');
        bool number = p < stop, fits = true;
        uint64_t size = 0;
        for (; p < stop && number; ++p) {
            const auto digit = static_cast<uint64_t>(*p - '0');
            number = is_digit(*p);
            fits = fits && number && size <= (limit - digit) / 10;
            if (fits) size = size * 10 + digit;
        }
        if (number && fits) {
            value = static_cast<int64_t>(*text == '-' ? ~size + 1 : size);
            return true;
        }
        std::snprintf(message, sizeof message, "%s %%s %s", what,
                      number ? "does not fit in 64 bits" : "is not an integer");
        refuse(text, message, text, stop);
        return false;
    }

    const char* refuse_label(const char* token) {
        const char* stop = token_end(token);
        if (const void* nul = std::memchr(token, 0, static_cast<size_t>(stop - token)))
            return refuse_nul(nul);
        if (std::memchr(token, ':', static_cast<size_t>(stop - token)))
            return refuse(token, "line starts with %s; expected a label", token, stop);
        if (is_digit(*token) && std::memchr(token, ',', static_cast<size_t>(stop - token)))
            return refuse(token,
                          "label %s is not a number\n; lists of labels are for {task=multilabel}",
                          token, stop);
        return refuse_number(token, stop, "label");
    }

    const char* refuse_feature(const char* token, int64_t last) {
        const char* stop = token_end(token);
        if (const void* nul = std::memchr(token, 0, static_cast<size_t>(stop - token)))
            return refuse_nul(nul);
        const void* found = std::memchr(token, ':', static_cast<size_t>(stop - token));
        if (!found) return refuse(token, "%s is no feature; expected INDEX:VALUE", token, stop);
        const char* colon = static_cast<const char*>(found);
        if (colon == token)
            return refuse(token, "%s has no feature index; expected INDEX:VALUE", token, stop);
        const char* p = token + (*token == '+' || *token == '-');
        uint64_t index = 0;
        for (; p < colon && is_digit(*p); ++p)
            if (index <= largest_index) index = index * 10 + static_cast<uint64_t>(*p - '0');
        if (p < colon || !is_digit(colon[-1]))
            return refuse(token, "feature index %s is not an integer; expected INDEX:VALUE", token,
                          colon);
        if (*token == '-' || (index == 0 && !piece.zero_based))
            return refuse(
                token,
                piece.zero_based ? "feature index %s; indices start at 0"
                : *token == '-'
                    ? "feature index %s; indices start at 1"
                    : "feature index %s; indices start at 1\n, or at 0 with {zero_based=True}",
                token, colon);
        if (index > largest_index || (piece.zero_based && index == largest_index))
            return refuse(token,
                          piece.zero_based ? "feature index %s is above the largest, 2147483645"
                                           : "feature index %s is above the largest, 2147483646",
                          token, colon);
        if (static_cast<int64_t>(index) <= last) {
            char message[SVMCUT_MESSAGE_BYTES];
            const bool again = static_cast<int64_t>(index) == last;
            std::snprintf(message, sizeof message,
                          "feature index %d %s %d; indices must increase within a line",
                          static_cast<int>(index), again ? "repeats" : "follows",
                          static_cast<int>(last));
            return refuse(token, message, token, token);
        }
        return refuse_number(colon + 1, stop, "feature value");
    }

    // Why [text, stop) is no number that fits.
    const char* refuse_number(const char* text, const char* stop, const char* what) {
        char message[SVMCUT_MESSAGE_BYTES];
        Decimal number;
        const char* why = "%s is not a number";  // the quoted text
        const char* word = text + (text < stop && (*text == '+' || *text == '-'));
        auto same = [&](const char* name) {
            if (static_cast<size_t>(stop - word) != std::strlen(name)) return false;
            for (const char* p = word; p < stop; ++p)
                if ((*p | 0x20) != name[p - word]) return false;
            return true;
        };
        if (text == stop) why = "is missing";
        else if (same("nan") || same("inf") || same("infinity")) why = "%s is not finite";
        else if (read_decimal(text, stop, number) == stop) why = "%s is out of range";
        std::snprintf(message, sizeof message, "%s %s", what, why);
        return refuse(text, message, text, stop);
    }

    std::nullptr_t refuse_nul(const void* where) {
        const char* p = static_cast<const char*>(where);
        return refuse(p, "NUL byte; this is not a text file", p, p);
    }

    // format has one %s for the quoted text, or none.
    std::nullptr_t refuse(const char* where, const char* format, const char* text,
                          const char* stop) {
        char quoted[most_quoted + sizeof("\\xff...")];
        size_t used = 0;
        for (; text < stop && used < most_quoted; ++text) {
            const auto c = static_cast<unsigned char>(*text);
            if (c >= 0x20 && c < 0x7f) quoted[used++] = *text;
            else used += static_cast<size_t>(std::snprintf(quoted + used, 5, "\\x%02x", c));
        }
        std::snprintf(quoted + used, sizeof quoted - used, text < stop ? "..." : "");
        piece.status = SVMCUT_BAD_INPUT;
        piece.fault.line = piece.lines;
        piece.fault.column = where - line + 1;
        std::snprintf(piece.fault.message, sizeof piece.fault.message, format, quoted);
        return nullptr;
    }
};

// Leaves every token to Lines.
struct NoRun {
    NoRun(const char*, const char*) {}
    const char* features(const char* p, int32_t&, Piece&) { return p; }
};

}  // namespace svmcut
#endif
