// SPDX-License-Identifier: BSD-3-Clause
//
// Text to rows. The text is cut into pieces of whole lines; pieces are scanned by any number of
// threads and joined in the order of the file, so rows, line numbers and the fault that is reported
// do not depend on the threads.
//
// (I1) After a feed or join that returned OK all arrays hold the same rows; after any other only
// the fault is of use. (I2) With one piece in flight features go straight to their place; row data
// always pass through the piece.
#include <algorithm>
#include <memory>
#include <new>

#include "core/parallel.h"
#include "text/growing.h"
#include "text/scan_piece.h"
#include "text/scan_simd.h"

using namespace svmcut;

namespace {

constexpr int64_t default_piece = 256 << 10;

// Behind the byte order mark a text may begin with.
const char* past_mark(const char* p, const char* stop) {
    return stop - p >= 3 && !std::memcmp(p, "\xef\xbb\xbf", 3) ? p + 3 : p;
}

}  // namespace

// A piece with room of its own for its features.
struct svmcut_scan_part {
    Piece piece;
    Growing<int32_t> indices;
    Growing<float> values;

    void scan(void (*scan_piece)(Piece&)) {
        const int64_t room = (piece.end - piece.begin) / 4 + 1;
        piece.status = SVMCUT_NO_MEMORY;
        if (!values.reserve(room, 0) || !indices.reserve(room, 0)) return;
        piece.status = SVMCUT_OK;
        piece.values = values.data();
        piece.indices = indices.data();
        try {
            scan_piece(piece);
        } catch (const std::bad_alloc&) {
            piece.status = SVMCUT_NO_MEMORY;
        }
    }
};

struct svmcut_scan {
    void (*scan_piece)(Piece&) = nullptr;
    int64_t piece_bytes = default_piece;
    bool multilabel = false, zero_based = false, unlabelled = false;
    bool started = false;
    int64_t lines = 0;       // since the file began
    int64_t skipped = 0;     // of them, those that hold no row of this set
    int64_t bytes_seen = 0;  // since the last take
    int32_t largest = 0;
    int64_t wanted = 0;  // bytes of an allocation that failed
    Growing<float> values;
    Growing<int32_t> indices, label_ids;
    Growing<int64_t> indptr, qids, skips;
    Growing<double> labels, costs;
    std::vector<svmcut_scan_part> parts;
    std::vector<Piece> round;

    int64_t bytes() const {
        return 4 * (values.size() + indices.size() + label_ids.size()) +
               8 * (indptr.size() + qids.size() + labels.size() + costs.size() + skips.size());
    }

    // Room for `more` elements, and for what bytes_left of the same kind of text will bring.
    template <class T>
    bool make_room(Growing<T>& array, int64_t more, int64_t bytes_left) {
        const int64_t wanted_size = array.size() + more;
        int64_t expected = 0;
        if (bytes_left > 0 && bytes_seen > 0) {
            const double growth =
                1.0 + 1.01 * static_cast<double>(bytes_left) / static_cast<double>(bytes_seen);
            expected =
                static_cast<int64_t>(std::min(static_cast<double>(array.size()) * growth, 1e15)) +
                more;
        }
        if (array.reserve(wanted_size, expected)) return true;
        wanted = static_cast<int64_t>(sizeof(T)) * std::max(wanted_size, expected);
        return false;
    }

    // Appends the pieces' skips, counted from the start of the file.
    bool add_skips(const Piece& piece) {
        const int64_t before = skipped;
        if (skips.size() == 0 && before && !make_room(skips, 2, -1)) return false;
        if (skips.size() == 0 && before) {
            skips.data()[0] = 0;
            skips.data()[1] = before;
            skips.set_size(2);
        }
        for (const Skip& skip : piece.skips) {
            const int64_t row = labels.size() + skip.row, size = skips.size();
            skipped = before + skip.lines;
            if (size && skips.data()[size - 2] == row) {
                skips.data()[size - 1] = skipped;
                continue;
            }
            if (!make_room(skips, 2, -1)) return false;
            skips.data()[size] = row;
            skips.data()[size + 1] = skipped;
            skips.set_size(size + 2);
        }
        return true;
    }

    template <class T>
    bool add_column(Growing<T>& column, const Piece& piece, T Row::* field, bool present, T absent,
                    int64_t left) {
        const auto more = static_cast<int64_t>(piece.rows.size());
        const int64_t before = labels.size();
        if (!present && column.size() == 0) return true;
        if (!make_room(column, before - column.size() + more, left)) return false;
        std::fill(column.data() + column.size(), column.data() + before, absent);
        T* out = column.data() + before;
        for (const Row& row : piece.rows) *out++ = row.*field;
        column.set_size(before + more);
        return true;
    }

    bool add_rows(const Piece& piece, int64_t left) {
        const auto more = static_cast<int64_t>(piece.rows.size());
        const int64_t before = values.size();
        if (!add_skips(piece) || !make_room(indptr, more + 1, left) ||
            !make_room(labels, more, left))
            return false;
        if (!add_column(qids, piece, &Row::qid, piece.has_qid, int64_t{0}, left)) return false;
        if (!add_column(costs, piece, &Row::cost, piece.has_cost, 1.0, left)) return false;
        const auto n_labels = static_cast<int64_t>(piece.labels.size());
        if (n_labels && !make_room(label_ids, n_labels, left)) return false;
        std::copy(piece.labels.begin(), piece.labels.end(), label_ids.data() + label_ids.size());
        label_ids.set_size(label_ids.size() + n_labels);
        if (indptr.size() == 0) {
            indptr.data()[0] = 0;
            indptr.set_size(1);
        }
        int64_t* ends = indptr.data() + indptr.size();
        double* label = labels.data() + labels.size();
        for (const Row& row : piece.rows) {
            *ends++ = before + row.end;
            *label++ = row.label;
        }
        indptr.set_size(indptr.size() + more);
        labels.set_size(labels.size() + more);
        values.set_size(before + piece.entries);
        indices.set_size(before + piece.entries);
        largest = std::max(largest, piece.largest);
        lines += piece.lines;
        bytes_seen += piece.end - piece.begin;
        return true;
    }

    int feed(const char* text, int64_t bytes, bool last, int64_t left, int threads,
             const volatile int* cancel, int64_t* used, svmcut_scan_fault* fault);
    int scan_round(int threads, int64_t left, const volatile int* cancel, svmcut_scan_fault* fault);
    int scan_in_place(Piece& piece, int64_t left, svmcut_scan_fault* fault);
    int join(const Piece& piece, int64_t left, svmcut_scan_fault* fault);
    int refuse(const Piece& piece, svmcut_scan_fault* fault) const;
    bool next_piece(const char*& p, const char* stop, Piece& piece) const;
};

// Whole lines of about piece_bytes; false at the end of the text.
bool svmcut_scan::next_piece(const char*& p, const char* stop, Piece& piece) const {
    if (p == stop) return false;
    const char* end = stop;
    if (stop - p > piece_bytes) {
        const char* from = p + piece_bytes - 1;
        const void* newline = std::memchr(from, '\n', static_cast<size_t>(stop - from));
        if (newline) end = static_cast<const char*>(newline) + 1;
    }
    piece = Piece{};
    piece.begin = p;
    piece.end = p = end;
    piece.multilabel = multilabel;
    piece.zero_based = zero_based;
    piece.unlabelled = unlabelled;
    return true;
}

int svmcut_scan::refuse(const Piece& piece, svmcut_scan_fault* fault) const {
    if (piece.status == SVMCUT_BAD_INPUT) {
        *fault = piece.fault;
        fault->line += lines;
    }
    return piece.status;
}

// Appends a piece that was scanned elsewhere.
int svmcut_scan::join(const Piece& piece, int64_t left, svmcut_scan_fault* fault) {
    if (piece.status != SVMCUT_OK) return refuse(piece, fault);
    if (left >= 0) left += piece.end - piece.begin;
    if (!make_room(values, piece.entries, left) || !make_room(indices, piece.entries, left))
        return SVMCUT_NO_MEMORY;
    std::copy_n(piece.values, piece.entries, values.data() + values.size());
    std::copy_n(piece.indices, piece.entries, indices.data() + indices.size());
    return add_rows(piece, left) ? SVMCUT_OK : SVMCUT_NO_MEMORY;
}

int svmcut_scan::scan_in_place(Piece& piece, int64_t left, svmcut_scan_fault* fault) {
    const int64_t bytes = piece.end - piece.begin, room = bytes / 4 + 1,
                  ahead = left < 0 ? -1 : left + bytes;
    if (!make_room(values, room, ahead) || !make_room(indices, room, ahead))
        return SVMCUT_NO_MEMORY;
    piece.values = values.data() + values.size();
    piece.indices = indices.data() + indices.size();
    scan_piece(piece);
    if (piece.status != SVMCUT_OK) return refuse(piece, fault);
    return add_rows(piece, ahead) ? SVMCUT_OK : SVMCUT_NO_MEMORY;
}

int svmcut_scan::scan_round(int threads, int64_t left, const volatile int* cancel,
                            svmcut_scan_fault* fault) {
    if (cancel && *cancel) return SVMCUT_CANCELLED;
    if (round.size() == 1) return scan_in_place(round[0], left, fault);
    if (parts.size() < round.size()) parts = std::vector<svmcut_scan_part>(round.size());
    for_pieces(static_cast<int64_t>(round.size()), threads, [&](int64_t i) {
        svmcut_scan_part& part = parts[static_cast<size_t>(i)];
        part.piece = std::move(round[static_cast<size_t>(i)]);
        if (cancel && *cancel) part.piece.status = SVMCUT_CANCELLED;
        else part.scan(scan_piece);
    });
    int64_t ahead = left;
    if (left >= 0)
        for (size_t i = 0; i < round.size(); ++i)
            ahead += parts[i].piece.end - parts[i].piece.begin;
    for (size_t i = 0; i < round.size(); ++i) {
        const Piece& piece = parts[i].piece;
        if (left >= 0) ahead -= piece.end - piece.begin;
        const int status = join(piece, ahead, fault);
        if (status != SVMCUT_OK) return status;
    }
    return SVMCUT_OK;
}

int svmcut_scan::feed(const char* text, int64_t bytes, bool last, int64_t left, int threads,
                      const volatile int* cancel, int64_t* used, svmcut_scan_fault* fault) {
    *used = 0;
    const char *p = text, *stop = text + bytes;
    if (!last)
        while (stop > p && stop[-1] != '\n') --stop;
    if (stop == p) return SVMCUT_OK;
    *used = stop - text;
    if (!started) p = past_mark(p, stop);
    started = true;
    threads = std::max(threads, 1);
    const size_t most = threads == 1 ? 1 : 8 * static_cast<size_t>(threads);
    for (Piece piece; next_piece(p, stop, piece);) {
        const bool long_lines = piece.end - piece.begin > 4 * piece_bytes;
        if (long_lines && !round.empty()) {
            const int status =
                scan_round(threads, left < 0 ? -1 : left + (stop - piece.begin), cancel, fault);
            round.clear();
            if (status != SVMCUT_OK) return status;
        }
        round.push_back(std::move(piece));
        if (p == stop || long_lines || round.size() == most) {
            const int status =
                scan_round(threads, left < 0 ? -1 : left + (stop - p), cancel, fault);
            round.clear();
            if (status != SVMCUT_OK) return status;
        }
    }
    return SVMCUT_OK;
}

extern "C" {

svmcut_scan* svmcut_scan_new(int portable, int64_t piece_bytes) {
    auto* scan = new (std::nothrow) svmcut_scan;
    if (!scan) return nullptr;
    scan->scan_piece = portable ? scan_portable : fastest_scan();
    if (piece_bytes > 0) scan->piece_bytes = piece_bytes;
    return scan;
}

void svmcut_scan_format(svmcut_scan* scan, int multilabel, int zero_based) {
    scan->multilabel = multilabel != 0;
    scan->zero_based = zero_based != 0;
}

void svmcut_scan_unlabelled(svmcut_scan* scan) { scan->unlabelled = true; }

void svmcut_scan_delete(svmcut_scan* scan) { delete scan; }

int svmcut_scan_feed(svmcut_scan* scan, const char* text, int64_t bytes, int last,
                     int64_t bytes_left, int threads, const volatile int* cancel, int64_t* used,
                     svmcut_scan_fault* fault) {
    try {
        return scan->feed(text, bytes, last != 0, bytes_left, threads, cancel, used, fault);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

svmcut_scan_part* svmcut_scan_part_new(void) { return new (std::nothrow) svmcut_scan_part; }

void svmcut_scan_part_delete(svmcut_scan_part* part) { delete part; }

void svmcut_scan_part_scan(svmcut_scan_part* part, const svmcut_scan* scan, const char* text,
                           int64_t bytes, int first) {
    part->piece = Piece{};
    part->piece.multilabel = scan->multilabel;
    part->piece.zero_based = scan->zero_based;
    part->piece.unlabelled = scan->unlabelled;
    part->piece.begin = first ? past_mark(text, text + bytes) : text;
    part->piece.end = text + bytes;
    part->scan(scan->scan_piece);
}

int svmcut_scan_join(svmcut_scan* scan, const svmcut_scan_part* part, int64_t bytes_left,
                     svmcut_scan_fault* fault) {
    scan->started = true;
    return scan->join(part->piece, bytes_left, fault);
}

int64_t svmcut_scan_bytes(const svmcut_scan* scan) { return scan->bytes() + scan->wanted; }

int svmcut_scan_take(svmcut_scan* scan, svmcut_rows* rows) {
    if (scan->indptr.size() == 0) {
        if (!scan->indptr.reserve(1, 0)) return SVMCUT_NO_MEMORY;
        scan->indptr.data()[0] = 0;
        scan->indptr.set_size(1);
    }
    scan->values.move_out(rows->values);
    scan->indices.move_out(rows->indices);
    scan->indptr.move_out(rows->indptr);
    scan->labels.move_out(rows->labels);
    scan->qids.move_out(rows->qids);
    scan->costs.move_out(rows->costs);
    scan->skips.move_out(rows->skips);
    scan->label_ids.move_out(rows->label_ids);
    rows->n_features = scan->largest;
    scan->largest = 0;
    scan->bytes_seen = 0;
    scan->skipped = scan->lines;
    return SVMCUT_OK;
}

void svmcut_array_free(svmcut_array* array) {
    release(array->data, array->mapped);
    *array = svmcut_array{nullptr, 0, 0};
}

}  // extern "C"
