// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that stay for a run of many small jobs. Between jobs they look for the next one for some
// microseconds, then sleep; a job never waits for a thread that has not taken a piece of it.
#ifndef SVMCUT_CREW_H
#define SVMCUT_CREW_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace svmcut {

class Crew {
  public:
    // When the system gives no more threads, those there are do all the work.
    explicit Crew(int threads) {
        try {
            for (int i = 1; i < threads; ++i) members.emplace_back([this] { serve(); });
        } catch (...) {
        }
    }
    ~Crew() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            over = true;
        }
        wake.notify_all();
        for (auto& member : members) member.join();
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // Calls work(piece) once for every piece in [0, pieces), pieces < 65536, in any order. work
    // must not throw.
    template <class Work>
    void run(int64_t pieces, Work&& work) {
        if (members.empty() || pieces <= 1) {
            for (int64_t piece = 0; piece < pieces; ++piece) work(piece);
            return;
        }
        call = [](void* w, int64_t piece) {
            (*static_cast<std::remove_reference_t<Work>*>(w))(piece);
        };
        subject = &work;
        left.store(pieces, std::memory_order_relaxed);
        // (I1) job holds round, pieces and next piece: who takes a piece takes it from the present
        // round, which lasts until the piece is done.
        const uint64_t round = (job.load(std::memory_order_relaxed) >> 32) + 1;
        job.store(round << 32 | static_cast<uint64_t>(pieces) << 16);
        if (asleep.load() > 0) {
            std::lock_guard<std::mutex> lock(mutex);
            wake.notify_all();
        }
        while (take()) {
        }
        while (left.load(std::memory_order_acquire) > 0) pause();
    }

  private:
    std::vector<std::thread> members;
    std::atomic<uint64_t> job{0};
    std::atomic<int64_t> left{0};
    std::atomic<int> asleep{0};
    void (*call)(void*, int64_t) = nullptr;
    void* subject = nullptr;
    std::mutex mutex;
    std::condition_variable wake;
    bool over = false;

    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        std::this_thread::yield();
#endif
    }
    static bool open(uint64_t word) { return (word & 0xffff) < (word >> 16 & 0xffff); }

    bool take() {
        uint64_t word = job.load();
        do {
            if (!open(word)) return false;
        } while (!job.compare_exchange_weak(word, word + 1));
        call(subject, static_cast<int64_t>(word & 0xffff));
        left.fetch_sub(1, std::memory_order_release);
        return true;
    }

    void serve() {
        for (;;) {
            for (int idle = 0; idle < 2000; ++idle) {
                if (take()) idle = 0;
                pause();
            }
            std::unique_lock<std::mutex> lock(mutex);
            asleep.fetch_add(1);
            wake.wait(lock, [this] { return over || open(job.load()); });
            asleep.fetch_sub(1);
            if (over) return;
        }
    }
};

}  // namespace svmcut
#endif
