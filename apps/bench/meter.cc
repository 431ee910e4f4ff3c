// SPDX-License-Identifier: Apache-2.0
#include "meter.h"

#include <linux/perf_event.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>
#include <string>

namespace {

// Counters of the replaced operators below. Separate load and store instead of an atomic addition, which is enough
// because only one thread is measured.
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> allocated_bytes{0};

void Add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

void* Count(void* memory, std::size_t size) {
  if (memory == nullptr) throw std::bad_alloc();
  Add(allocations, 1);
  Add(allocated_bytes, size);
  return memory;
}

}  // namespace

// The array and nothrow forms call these.
void* operator new(std::size_t size) { return Count(std::malloc(size == 0 ? 1 : size), size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  return Count(std::aligned_alloc(step, (size + step - 1) / step * step), size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace berth::bench {
namespace {

// Reads lines of /proc/self/status such as "VmHWM:  123 kB", converted to MiB.
void ReadMemory(Reading& reading) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) reading.rss_peak_mib = std::strtod(line.c_str() + 6, nullptr) / 1024;
    if (line.starts_with("VmRSS:")) reading.rss_mib = std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
}

}  // namespace

Meter::Meter() {
  perf_event_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  counter_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

Meter::~Meter() {
  if (counter_ >= 0) close(counter_);
}

Reading Meter::Read() const {
  Reading reading;
  ReadMemory(reading);
  reading.allocations = allocations.load(std::memory_order_relaxed);
  reading.allocated_bytes = allocated_bytes.load(std::memory_order_relaxed);
  std::uint64_t count = 0;
  if (counter_ >= 0 && read(counter_, &count, sizeof count) == sizeof count) reading.instructions = count;
  reading.cpu_s = CpuMicroseconds() * 1e-6;
  reading.wall_s = NowMicroseconds() * 1e-6;
  return reading;
}

double CpuMicroseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

double NowMicroseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void ReturnFreeMemory() { malloc_trim(0); }

}  // namespace berth::bench
