// SPDX-License-Identifier: BSD-3-Clause
//
// Scaling of example files in two passes over their text: ranges, then rows.
//
// (I1) A feature that rows leave out is 0 in them. Where that scales to something else the rows
//      must name it: the text of all such features stands in `fill`, in their order, and what a row
//      leaves out between two features it names is one piece of it.
#include "include/scaling.h"

#include <algorithm>
#include <new>
#include <vector>

#include "text/general_text.h"
#include "text/scaling_lines.h"
#include "text/scaling_table.h"

using namespace svmcut;

namespace {

double scale(double value, double low, double high, double lower, double upper) {
    if (value == low) return lower;
    if (value == high) return upper;
    return lower + (upper - lower) * (value - low) / (high - low);
}

// Which of two equal numbers, 0 and -0, is kept shows in the text of the range.
void widen(double& low, double& high, double value) {
    low = low < value ? low : value;
    high = high > value ? high : value;
}

char* put_feature(char* out, int64_t index, double value) {
    out = std::to_chars(out, out + 12, index).ptr;
    *out++ = ':';
    out = put_g(out, value);
    *out++ = ' ';
    return out;
}

}  // namespace

struct svmcut_scaling {
    Table table;
    svmcut_scaling_counts counts{};
    int64_t lines = 0, varying = 0;
    bool started = false, libsvm = false;
    // From here on for the second pass.
    double lower = 0, upper = 0;
    bool scales_labels = false, checked = false;
    svmcut_scaling_range label_range{};
    Text fill, out;
    std::vector<int64_t> page_places;  // where the text of a page's features begins in fill
    std::vector<int32_t> missing;
    int64_t place = 0;  // fill up to here is in the row, or stood for by a feature it names

    int64_t fill_before_page(int64_t number) const {
        return number < static_cast<int64_t>(page_places.size())
                   ? page_places[static_cast<size_t>(number)]
                   : fill.size();
    }

    Feature& unknown(int64_t index);
    int start(const int32_t* indices, const double* low, const double* high, int64_t n,
              int64_t* where);
};

namespace {

constexpr size_t most_missing = 16;

// What the first pass does with a line.
struct Measure {
    svmcut_scaling& s;
    static constexpr bool check = true;

    bool label(double value) {
        ++s.counts.rows;
        if (s.counts.rows == 1) s.counts.lowest_label = s.counts.highest_label = value;
        widen(s.counts.lowest_label, s.counts.highest_label, value);
        return true;
    }
    bool feature(int64_t index, double value) {
        Feature& f = s.table.make(index);
        const int64_t row = s.counts.rows;
        if (f.place == 0) f.low = f.high = row > 1 ? 0.0 : value;
        if (f.place < row - 1) widen(f.low, f.high, 0.0);
        widen(f.low, f.high, value);
        f.place = row;
        ++s.counts.entries;
        return true;
    }
    void key(const char*, const char*) {}
    void comment(const char*, const char*) {}
    void end_row() {}
    void other_line(const char*, const char*) {}
};

// What the second pass does with it.
struct Write {
    svmcut_scaling& s;
    const bool check;

    bool label(double value) {
        ++s.counts.rows;
        s.place = 0;
        const svmcut_scaling_range& r = s.label_range;
        if (s.scales_labels) value = scale(value, r.low, r.high, r.lower, r.upper);
        if (!std::isfinite(value)) return false;
        char* to = s.out.room(general_width + 1);
        const auto small = static_cast<int>(std::fabs(value) < 1e9 ? value : 0);
        if (small == value && small) to = std::to_chars(to, to + 12, small).ptr;
        else to = put_general(to, value, 17);
        *to++ = ' ';
        s.out.end_at(to);
        return true;
    }

    bool feature(int64_t index, double value) {
        ++s.counts.entries;
        s.counts.zeros += index == 0;
        Feature* found = s.table.find(index);
        const Feature& f = found && found->known == Known::yes ? *found : s.unknown(index);
        if (f.place > s.place) s.out.append(s.fill.data() + s.place, f.place - s.place);
        s.place = f.place + f.length;
        s.counts.written -= f.length > 0;
        if (f.known != Known::yes || f.low == f.high) return true;
        const double scaled = scale(value, f.low, f.high, s.lower, s.upper);
        if (!std::isfinite(scaled)) return false;
        if (scaled == 0) return true;
        ++s.counts.written;
        s.out.end_at(put_feature(s.out.room(2 * general_width), index, scaled));
        return true;
    }

    void key(const char* from, const char* stop) {
        s.out.append(from, stop - from);
        s.out.append(' ');
    }
    void end_row() {
        s.out.append(s.fill.data() + s.place, s.fill.size() - s.place);
        s.place = s.fill.size();
        s.out.append('\n');
    }
    // Behind the features, in front of the line's end.
    void comment(const char* from, const char* stop) {
        s.out.append(s.fill.data() + s.place, s.fill.size() - s.place);
        s.place = s.fill.size();
        s.out.append(from, stop - from);
    }
    void other_line(const char* from, const char* stop) {
        s.out.append(from, stop - from);
        s.out.append('\n');
    }
};

// Lines until `full` or the end of the whole ones.
template <class Visitor, class Full>
int read_lines(svmcut_scaling& s, Visitor visitor, const char* text, int64_t bytes, bool last,
               int64_t* used, svmcut_scan_fault* fault, Full full) {
    *used = 0;
    const char *p = text, *stop = text + bytes;
    if (!last)
        while (stop > p && stop[-1] != '\n') --stop;
    if (p < stop && !s.started) {
        if (stop - p >= 3 && !std::memcmp(p, "\xef\xbb\xbf", 3)) p += 3;
        s.started = true;
    }
    while (p < stop && !full()) {
        p = Reader<Visitor>(visitor, s.lines + 1, s.libsvm, fault).read(p, stop);
        if (!p) return SVMCUT_BAD_INPUT;
        ++s.lines;
    }
    *used = p - text;
    return SVMCUT_OK;
}

}  // namespace

// The entry of a feature without a range, for where it stands between those that have one.
Feature& svmcut_scaling::unknown(int64_t index) {
    const int64_t number = index >> page_bits;
    const bool fresh = !table.page(number);
    Feature& f = table.make(index);
    if (fresh) {
        Feature* features = table.page(number);
        for (int64_t i = 0; i < page_size; ++i) features[i].place = fill_before_page(number);
    }
    if (f.known == Known::no) {
        f.known = Known::told;
        ++counts.missing;
        if (missing.size() < most_missing) missing.push_back(static_cast<int32_t>(index));
    }
    return f;
}

int svmcut_scaling::start(const int32_t* indices, const double* low, const double* high, int64_t n,
                          int64_t* where) {
    table = Table();
    counts = {};
    lines = 0;
    started = false;
    for (int64_t i = 0; i < n; ++i) {
        Feature& f = table.make(indices[i]);
        f.low = low[i];
        f.high = high[i];
        f.known = Known::yes;
    }
    page_places.reserve(static_cast<size_t>(table.page_count()));
    for (int64_t number = 0; number < table.page_count(); ++number) {
        page_places.push_back(fill.size());
        Feature* features = table.page(number);
        for (int64_t i = 0; features && i < page_size; ++i) {
            Feature& f = features[i];
            f.place = fill.size();
            if (f.known != Known::yes || f.low == f.high) continue;
            const int64_t index = (number << page_bits) + i;
            const double scaled = scale(0.0, f.low, f.high, lower, upper);
            if (!std::isfinite(scaled)) {
                *where = index;
                return SVMCUT_BAD_INPUT;
            }
            if (scaled == 0) continue;
            fill.end_at(put_feature(fill.room(2 * general_width), index, scaled));
            f.length = static_cast<int32_t>(fill.size() - f.place);
            ++varying;
        }
    }
    return SVMCUT_OK;
}

extern "C" {

svmcut_scaling* svmcut_scaling_new(int libsvm) {
    svmcut_scaling* scaling = new (std::nothrow) svmcut_scaling;
    if (scaling) scaling->libsvm = libsvm != 0;
    return scaling;
}

void svmcut_scaling_delete(svmcut_scaling* scaling) { delete scaling; }

void svmcut_scaling_count(const svmcut_scaling* scaling, svmcut_scaling_counts* counts) {
    *counts = scaling->counts;
    counts->bytes = scaling->table.bytes() + scaling->fill.size() + scaling->out.size();
}

int svmcut_scaling_measure(svmcut_scaling* scaling, const char* text, int64_t bytes, int last,
                           int64_t* used, svmcut_scan_fault* fault) {
    try {
        return read_lines(*scaling, Measure{*scaling}, text, bytes, last != 0, used, fault,
                          [] { return false; });
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

int64_t svmcut_scaling_varying(svmcut_scaling* scaling) {
    int64_t count = 0;
    for (int64_t number = 0; number < scaling->table.page_count(); ++number) {
        Feature* features = scaling->table.page(number);
        for (int64_t i = 0; features && i < page_size; ++i) {
            Feature& f = features[i];
            if (f.place == 0) continue;
            if (f.place < scaling->counts.rows) widen(f.low, f.high, 0.0);
            f.place = scaling->counts.rows;
            count += f.low != f.high;
        }
    }
    return count;
}

void svmcut_scaling_ranges(const svmcut_scaling* scaling, int32_t* indices, double* low,
                           double* high) {
    for (int64_t number = 0; number < scaling->table.page_count(); ++number) {
        const Feature* features = scaling->table.page(number);
        for (int64_t i = 0; features && i < page_size; ++i) {
            const Feature& f = features[i];
            if (f.place == 0 || f.low == f.high) continue;
            *indices++ = static_cast<int32_t>((number << page_bits) + i);
            *low++ = f.low;
            *high++ = f.high;
        }
    }
}

int svmcut_scaling_start(svmcut_scaling* scaling, double lower, double upper,
                         const int32_t* indices, const double* low, const double* high, int64_t n,
                         const svmcut_scaling_range* label, int checked, int64_t* where) {
    scaling->lower = lower;
    scaling->upper = upper;
    scaling->scales_labels = label != nullptr;
    if (label) scaling->label_range = *label;
    scaling->checked = checked != 0;
    try {
        return scaling->start(indices, low, high, n, where);
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

int svmcut_scaling_write(svmcut_scaling* scaling, const char* text, int64_t bytes, int last,
                         int64_t enough, int64_t* used, const char** out, int64_t* out_bytes,
                         svmcut_scan_fault* fault) {
    svmcut_scaling& s = *scaling;
    s.out.clear();
    try {
        const int64_t rows = s.counts.rows;
        const int status = read_lines(s, Write{s, !s.checked}, text, bytes, last != 0, used, fault,
                                      [&] { return s.out.size() >= enough; });
        s.counts.written += (s.counts.rows - rows) * s.varying;
        *out = s.out.data();
        *out_bytes = s.out.size();
        return status;
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

int64_t svmcut_scaling_missing(const svmcut_scaling* scaling, int32_t* indices, int64_t room) {
    const int64_t count = std::min(room, static_cast<int64_t>(scaling->missing.size()));
    std::copy_n(scaling->missing.begin(), count, indices);
    return count;
}

int64_t svmcut_scaling_format(double value, int digits, char* out) {
    return (digits == 6 ? put_g(out, value) : put_general(out, value, digits)) - out;
}

}  // extern "C"
