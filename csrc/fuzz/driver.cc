// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a target of this folder where the compiler has no libFuzzer: files of a corpus with random
// changes, without a look at coverage. It takes libFuzzer's -max_total_time=, -max_len= and
// -artifact_prefix=, and folders; it leaves other options unread.
#include <sanitizer/common_interface_defs.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

Bytes input;
std::string prefix;

void keep() {
    std::ofstream(prefix + "crash", std::ios::binary)
        .write(reinterpret_cast<const char*>(input.data()),
               static_cast<std::streamsize>(input.size()));
}

void stop(int) {
    keep();
    std::_Exit(1);
}

class Changes {
  public:
    explicit Changes(uint32_t seed) : random_(seed) {}

    size_t below(size_t n) { return n ? random_() % n : 0; }

    void change(Bytes& bytes, const Bytes& other) {
        static const char* const tokens[] = {"\n",          ":",     " ",    "#",        "-",
                                             "e",           "1e999", "qid:", "\xc3\xa9", "\xff",
                                             "99999999999", "0",     ","};
        const size_t at = below(bytes.size() + 1), length = 1 + below(24);
        const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        const auto end =
            bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), at + length));
        switch (below(6)) {
            case 0:
                if (at < bytes.size()) bytes[at] = static_cast<uint8_t>(random_());
                break;
            case 1:
                if (at < bytes.size()) bytes[at] ^= static_cast<uint8_t>(1u << below(8));
                break;
            case 2:
                bytes.erase(place, end);
                break;
            case 3: {
                const Bytes piece(place, end);
                const size_t to = below(bytes.size() + 1);
                bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(to), piece.begin(),
                             piece.end());
                break;
            }
            case 4: {
                const std::string token = tokens[below(std::size(tokens))];
                bytes.insert(place, token.begin(), token.end());
                break;
            }
            default: {
                const size_t from = below(other.size() + 1);
                bytes.erase(place, bytes.end());
                bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(from),
                             other.end());
            }
        }
    }

  private:
    std::mt19937 random_;
};

}  // namespace

int main(int argc, char** argv) {
    double seconds = 60;
    size_t longest = 4096;
    std::vector<Bytes> corpus;
    for (int k = 1; k < argc; ++k) {
        const std::string word = argv[k];
        const std::string value = word.substr(word.find('=') + 1);
        if (word.rfind("-max_total_time=", 0) == 0) seconds = std::stod(value);
        if (word.rfind("-max_len=", 0) == 0) longest = std::stoul(value);
        if (word.rfind("-artifact_prefix=", 0) == 0) prefix = value;
        if (word[0] == '-') continue;
        for (const auto& entry : std::filesystem::directory_iterator(word)) {
            std::ifstream file(entry.path(), std::ios::binary);
            corpus.emplace_back(std::istreambuf_iterator<char>(file),
                                std::istreambuf_iterator<char>());
        }
    }
    if (corpus.empty()) {
        std::fputs("no corpus\n", stderr);
        return 2;
    }
    std::signal(SIGABRT, stop);
    __sanitizer_set_death_callback(keep);
    Changes changes(1);
    unsigned long long units = 0;
    const auto began = std::chrono::steady_clock::now();
    const auto last = std::chrono::duration<double>(seconds);
    for (; units < corpus.size() || std::chrono::steady_clock::now() - began < last; ++units) {
        input = corpus[units < corpus.size() ? units : changes.below(corpus.size())];
        if (units >= corpus.size())
            for (size_t left = 1 + changes.below(8); left; --left)
                changes.change(input, corpus[changes.below(corpus.size())]);
        if (input.size() > longest) input.resize(longest);
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    std::fprintf(stderr, "stat::number_of_executed_units: %llu\n", units);
    return 0;
}
