// CUDA C++ on a CPU, as far as opspec's kernels use it.
//
// Idea: the threads of a block are fibers in one thread of the system, so that a barrier is a switch
// to the next fiber; blocks are shared out over several threads of the system. One warp after another
// runs as far as it can, forwards, backwards or in a shuffled order: a kernel that lacks a barrier
// gives other results in one of them. What hardware leaves undefined is made to show: shared memory starts as NaN, a copy
// that nobody waited for has not happened, a warp's instruction that not all of the warp reaches,
// a barrier that only part of a block reaches, and an unaligned vector are errors.
//
// It sees nothing of speed, occupancy, weak memory ordering, races between blocks, or the tensor
// cores' own order of adding.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>
#include <sys/mman.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)

struct Dim3 { unsigned x, y, z; };

// 16-bit floats with the names of cuda_fp16.h and cuda_bf16.h, rounded to nearest even.
struct __half { uint16_t bits; };
struct __nv_bfloat16 { uint16_t bits; };

template <class To, class From> inline To bits_as(From value) {
    static_assert(sizeof(To) == sizeof(From), "sizes differ");
    To made;
    memcpy(&made, &value, sizeof made);
    return made;
}

inline float __half2float(__half value) { return float(bits_as<_Float16>(value.bits)); }
inline __half __float2half_rn(float value) { return {bits_as<uint16_t>(_Float16(value))}; }
inline float __bfloat162float(__nv_bfloat16 value) { return bits_as<float>(uint32_t(value.bits) << 16); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
    if (std::isnan(value)) return {0x7fff};
    const uint32_t bits = bits_as<uint32_t>(value);
    return {uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

namespace emulated {

constexpr size_t STACK = 128 * 1024, PAGE = 4096;

enum class State { ready, at_barrier, at_warp_instruction, done };

struct Copy { void* to; const void* from; bool there; };

struct Fiber {
    void* stack_pointer;
    State state;
    std::vector<std::vector<Copy>> copies;  // groups, the last one still open
};

struct Block {
    Dim3 index, size;
    std::vector<Fiber> fibers;
    std::vector<char*> stacks;
    std::vector<std::vector<char>> exchange;  // of each warp
    void* scheduler;
    unsigned current;
    unsigned char* shared;
    void (*body)(const void*);
    const void* arguments;
    std::string fault;
};

extern thread_local Block* block;

extern "C" void opspec_switch(void** from, void* to);
asm(R"(
.text
.type opspec_switch,@function
opspec_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");

inline Fiber& me() { return block->fibers[block->current]; }

// Gives up the turn. A block with a fault is never taken up again.
inline void leave(State state) {
    Fiber& fiber = me();
    fiber.state = state;
    opspec_switch(&fiber.stack_pointer, block->scheduler);
}

[[noreturn]] inline void fail(const std::string& what) {
    block->fault = what;
    leave(State::done);
    abort();
}

inline void enter() {
    block->body(block->arguments);
    leave(State::done);
    abort();
}

inline void prepare(Block& b, unsigned count) {
    while (b.stacks.size() < count) {
        char* stack = static_cast<char*>(mmap(nullptr, STACK + PAGE, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (stack == MAP_FAILED) { b.fault = "no memory for the threads' stacks"; return; }
        mprotect(stack, PAGE, PROT_NONE);
        b.stacks.push_back(stack + PAGE);
    }
    b.fibers.assign(count, Fiber{});
    for (unsigned i = 0; i < count; i++) {
        void** top = reinterpret_cast<void**>(b.stacks[i] + STACK);
        *--top = nullptr;
        *--top = reinterpret_cast<void*>(&enter);
        for (int saved = 0; saved < 6; saved++) *--top = nullptr;
        b.fibers[i].stack_pointer = top;
        b.fibers[i].copies.resize(1);
    }
    b.exchange.assign((count + 31) / 32, std::vector<char>(32 * 64));
}

inline unsigned count_of(const Block& b, State state, size_t first, size_t end) {
    unsigned count = 0;
    for (size_t i = first; i < end; i++) count += b.fibers[i].state == state;
    return count;
}

inline void release(Block& b, State state, size_t first, size_t end) {
    for (size_t i = first; i < end; i++)
        if (b.fibers[i].state == state) b.fibers[i].state = State::ready;
}

// Runs one warp until all of it is done, at a barrier, or at an instruction that not all reach.
inline void run_warp(Block& b, size_t first, int order, std::mt19937& random) {
    const size_t end = std::min(b.fibers.size(), first + 32);
    std::vector<size_t> lanes(end - first);
    std::iota(lanes.begin(), lanes.end(), first);
    if (order == 1) std::reverse(lanes.begin(), lanes.end());
    do {
        if (order == 2) std::shuffle(lanes.begin(), lanes.end(), random);
        for (size_t i : lanes) {
            if (b.fibers[i].state != State::ready) continue;
            b.current = unsigned(i);
            opspec_switch(&b.scheduler, b.fibers[i].stack_pointer);
            if (!b.fault.empty()) return;
        }
        if (count_of(b, State::at_warp_instruction, first, end) < end - first) return;
        release(b, State::at_warp_instruction, first, end);
    } while (true);
}

// One warp after another runs as far as it can: what it needs of the others must be behind a barrier.
inline void run_block(Block& b, int order, std::mt19937& random) {
    prepare(b, b.size.x);
    const size_t all = b.fibers.size();
    std::vector<size_t> warps;
    for (size_t first = 0; first < all; first += 32) warps.push_back(first);
    if (order == 1) std::reverse(warps.begin(), warps.end());
    while (b.fault.empty()) {
        if (order == 2) std::shuffle(warps.begin(), warps.end(), random);
        for (size_t first : warps) {
            run_warp(b, first, order, random);
            if (!b.fault.empty()) return;
        }
        const unsigned done = count_of(b, State::done, 0, all), waiting = count_of(b, State::at_barrier, 0, all);
        if (done == all) return;
        if (waiting == all) {
            release(b, State::at_barrier, 0, all);
            continue;
        }
        b.fault = "deadlock: " + std::to_string(waiting) + " threads at a barrier, "
                  + std::to_string(count_of(b, State::at_warp_instruction, 0, all))
                  + " at a warp's instruction, " + std::to_string(done) + " of " + std::to_string(all) + " done";
    }
}

struct Launch {
    unsigned blocks, threads;
    size_t shared;
    int order, workers;
};

inline void work(const Launch& launch, int worker, std::atomic<uint64_t>& next, void (*body)(const void*),
                 const void* arguments, std::mutex& lock, std::string& fault) {
    Block own;
    block = &own;
    own.size = {launch.threads, 1, 1};
    own.body = body;
    own.arguments = arguments;
    own.shared = static_cast<unsigned char*>(aligned_alloc(128, (launch.shared + 255) / 128 * 128));
    std::mt19937 random(1234 + worker);
    for (uint64_t i; (i = next++) < launch.blocks;) {
        own.index = {unsigned(i), 0, 0};
        memset(own.shared, 0xff, launch.shared);
        run_block(own, launch.order, random);
        if (own.fault.empty()) continue;
        const std::lock_guard<std::mutex> guard(lock);
        fault = "block " + std::to_string(i) + ": " + own.fault;
        next = launch.blocks;
    }
    for (char* stack : own.stacks) munmap(stack - PAGE, STACK + PAGE);
    free(own.shared);
    block = nullptr;
}

// Runs a kernel; returns how many bytes of a message were written, 0 if all went well.
inline int run(const Launch& launch, void (*body)(const void*), const void* arguments, char* message, int room) {
    std::atomic<uint64_t> next{0};
    std::mutex lock;
    std::string fault;
    std::vector<std::thread> workers;
    for (int i = 0; i < launch.workers; i++)
        workers.emplace_back([&, i] { work(launch, i, next, body, arguments, lock, fault); });
    for (std::thread& worker : workers) worker.join();
    return fault.empty() ? 0 : snprintf(message, size_t(room), "%s", fault.c_str());
}

// Puts a value where the whole warp can read it, once all of the warp have put theirs.
template <class T> inline const T* shown_to_warp(const T& value) {
    static_assert(sizeof(T) <= 64, "too large for the exchange");
    T* values = reinterpret_cast<T*>(block->exchange[block->current / 32].data());
    values[block->current % 32] = value;
    leave(State::at_warp_instruction);
    return values;
}

inline void require_aligned(const void* address, size_t bytes, const char* what) {
    if (reinterpret_cast<uintptr_t>(address) % bytes) fail(std::string("an unaligned address for ") + what);
}

}  // namespace emulated

#define threadIdx (Dim3{emulated::block->current, 0, 0})
#define blockIdx (emulated::block->index)
#define SHARED_MEMORY(name) unsigned char* name = emulated::block->shared
#define __syncthreads() emulated::leave(emulated::State::at_barrier)

// The instructions of tensor.cuh.

inline void copy_16_bytes(void* to, const void* from, bool there) {
    emulated::require_aligned(to, 16, "a copy into shared memory");
    emulated::require_aligned(from, 16, "a copy from memory");
    emulated::me().copies.back().push_back({to, from, there});
}

inline void close_copies() { emulated::me().copies.emplace_back(); }

template <int LEFT> inline void wait_for_copies() {
    auto& groups = emulated::me().copies;
    while (groups.size() > LEFT + 1) {
        for (const emulated::Copy& copy : groups.front()) {
            if (copy.there) memcpy(copy.to, copy.from, 16);
            else memset(copy.to, 0, 16);
        }
        groups.erase(groups.begin());
    }
}

inline void load_matrices(uint32_t (&words)[4], const uint32_t* row) {
    emulated::require_aligned(row, 16, "a matrix row");
    const uint32_t* const* rows = emulated::shown_to_warp(row);
    const unsigned lane = emulated::block->current % 32;
    for (int n = 0; n < 4; n++) words[n] = rows[n * 8 + lane / 4][lane % 4];
    emulated::leave(emulated::State::at_warp_instruction);
}

inline void load_turned_matrices(uint32_t (&words)[4], const void* row) {
    emulated::require_aligned(row, 16, "a matrix row");
    const void* const* rows = emulated::shown_to_warp(row);
    const unsigned lane = emulated::block->current % 32;
    const auto element = [&](unsigned n) { return uint32_t(static_cast<const uint16_t*>(rows[n])[lane / 4]); };
    for (unsigned n = 0; n < 4; n++) {
        const unsigned first = n * 8 + lane % 4 * 2;
        words[n] = element(first) | element(first + 1) << 16;
    }
    emulated::leave(emulated::State::at_warp_instruction);
}

inline uint32_t as_tf32(uint32_t bits) {
    const uint32_t exponent = bits & 0x7f800000;
    return exponent == 0x7f800000 ? bits : (bits + 0x1000) & 0xffffe000;
}

template <class T> struct InWord;
template <> struct InWord<float> {
    static constexpr int COUNT = 1;
    static float value(uint32_t word, int) { return bits_as<float>(word); }
};
template <> struct InWord<__half> {
    static constexpr int COUNT = 2;
    static float value(uint32_t word, int n) { return __half2float({uint16_t(word >> 16 * n)}); }
};
template <> struct InWord<__nv_bfloat16> {
    static constexpr int COUNT = 2;
    static float value(uint32_t word, int n) { return __bfloat162float({uint16_t(word >> 16 * n)}); }
};

// PTX's layout of the fragments: lane = 4 * row + word for both operands, four words further in the
// second half of the depth, eight rows further in every second register of the left one.
template <class T>
inline void multiply_add(float (&sums)[4], const uint32_t (&left)[4], const uint32_t (&right)[2]) {
    struct Fragments { uint32_t left[4], right[2]; } mine;
    memcpy(mine.left, left, sizeof left);
    memcpy(mine.right, right, sizeof right);
    const Fragments* of = emulated::shown_to_warp(mine);
    const int lane = int(emulated::block->current % 32);
    float made[4];
    for (int n = 0; n < 4; n++) {
        const int row = lane / 4 + n / 2 * 8, channel = lane % 4 * 2 + n % 2;
        float sum = sums[n];
        for (int word = 0; word < 8; word++) {
            const uint32_t a = of[row % 8 * 4 + word % 4].left[row / 8 + word / 4 * 2];
            const uint32_t b = of[channel * 4 + word % 4].right[word / 4];
            for (int i = 0; i < InWord<T>::COUNT; i++) sum += InWord<T>::value(a, i) * InWord<T>::value(b, i);
        }
        made[n] = sum;
    }
    emulated::leave(emulated::State::at_warp_instruction);
    memcpy(sums, made, sizeof made);
}
