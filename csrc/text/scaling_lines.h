// SPDX-License-Identifier: BSD-3-Clause
//
// Lines of example files for a visitor, numbers as doubles.
//
// This reads plain tokens. What it is not sure of, faults included, and what it passes over, keys
// and comments, is left to the grammar of scan_piece.h, so that both accept and refuse the same
// files.
#ifndef SVMCUT_SCALING_LINES_H
#define SVMCUT_SCALING_LINES_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "text/decimal.h"
#include "text/scan_piece.h"

namespace svmcut {

inline const char* past_blanks(const char* p, const char* end) {
    while (p < end && is_blank(*p)) ++p;
    return p;
}

inline const char* token_end(const char* p, const char* end) {
    while (p < end && !ends_token(*p)) ++p;
    return p;
}

// The number at p, up to the end of its token; null where there is none, or none that is finite.
inline const char* number_at(const char* p, const char* end, double& value) {
    Decimal number;
    const char* q = read_decimal(p, end, number);
    if (!q || (q < end && !ends_token(*q))) return nullptr;
    value = to_double(number);
    return std::isfinite(value) ? q : nullptr;
}

// Reads lines for a visitor.
template <class Visitor>
class Reader {
  public:
    Reader(Visitor visitor, int64_t line, bool libsvm, svmcut_scan_fault* fault)
        : visitor(visitor), line(line), libsvm(libsvm), fault(fault) {}

    // One line of [p, end); the start of the next, or null after a refusal.
    const char* read(const char* p, const char* end) {
        const char* const begin = p;
        const char* newline =
            static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(end - p)));
        const char* const next = newline ? newline + 1 : end;
        end = newline ? newline : end;
        unusual = false;
        refused = nullptr;
        const char* text_end = end;
        while (text_end > p && text_end[-1] == '\r') --text_end;
        p = past_blanks(p, end);
        if (p == end || *p == '#') {
            unusual = p < end;
            visitor.other_line(begin, text_end);
        } else if (!example(p, end, text_end)) {
            return refuse(begin, next);
        }
        return unusual && visitor.check && !accepted(begin, next) ? nullptr : next;
    }

  private:
    Visitor visitor;
    const int64_t line;
    const bool libsvm;
    svmcut_scan_fault* const fault;
    bool unusual = false;           // something of the line was passed over
    const char* refused = nullptr;  // a number whose scaled value is none

    bool example(const char* p, const char* end, const char* text_end) {
        double value = 0;
        const char* const label = p;
        p = number_at(p, end, value);
        if (!p) return false;
        if (!visitor.label(value)) {
            refused = label;
            return false;
        }
        int64_t last = libsvm ? -1 : 0;
        while ((p = past_blanks(p, end)) < end && *p != '#') {
            const char* const token = p;
            if (*p == 'q' || *p == 's' || *p == 'c') {
                p = token_end(p, end);
                visitor.key(token, p);
                unusual = true;
                continue;
            }
            int64_t index = 0;
            p += *p == '+';
            const char* const digits = p;
            for (; p < end && is_digit(*p) && index <= largest_index; ++p)
                index = index * 10 + (*p - '0');
            if (p == digits || p == end || *p != ':' || index <= last || index > largest_index)
                return false;
            p = number_at(p + 1, end, value);
            if (!p) return false;
            if (!visitor.feature(index, value)) {
                refused = token;
                return false;
            }
            last = index;
        }
        if (p < end && !libsvm) {
            visitor.comment(p, text_end);
            unusual = true;
        }
        visitor.end_row();
        return true;
    }

    // Whether the grammar accepts the line; else the fault says why.
    bool accepted(const char* begin, const char* next) {
        const auto room = static_cast<size_t>((next - begin) / 4 + 1);
        std::vector<int32_t> indices(room);
        std::vector<float> values(room);
        Piece piece{};
        piece.begin = begin;
        piece.end = next;
        piece.wide = true;
        piece.indices = indices.data();
        piece.values = values.data();
        Lines<NoRun>(piece).scan();
        if (piece.status == SVMCUT_OK) return true;
        *fault = piece.fault;
        fault->line = line;
        return false;
    }

    std::nullptr_t refuse(const char* begin, const char* next) {
        const char* where = refused ? refused : begin;
        if (refused || accepted(begin, next)) {
            const char* stop = token_end(where, next);
            fault->line = line;
            fault->column = where - begin + 1;
            std::snprintf(fault->message, sizeof fault->message,
                          "%.*s is too far outside its range to be scaled",
                          static_cast<int>(std::min<int64_t>(stop - where, 60)), where);
        }
        return nullptr;
    }
};

}  // namespace svmcut
#endif
