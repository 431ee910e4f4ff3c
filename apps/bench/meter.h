// SPDX-License-Identifier: Apache-2.0
// The cost of a piece of work: wall clock, CPU, instructions, allocations, memory. For one thread.
#pragma once

#include <cstdint>
#include <optional>

namespace berth::bench {

// All values except the last two accumulate from the start of the process.
struct Reading {
  double wall_s = 0;
  double cpu_s = 0;                           // user and system time of the process
  std::optional<std::uint64_t> instructions;  // in user space; nullopt: the kernel does not allow counting
  std::uint64_t allocations = 0;              // calls of operator new
  std::uint64_t allocated_bytes = 0;          // requested in total, including memory that was freed
  double rss_mib = 0;                         // resident at present
  double rss_peak_mib = 0;
};

class Meter {
 public:
  Meter();
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  Reading Read() const;

 private:
  int counter_ = -1;  // file descriptor of perf_event_open; -1: none
};

// Wall clock, relative to some fixed moment.
double NowMicroseconds();

// User and system time of the process.
double CpuMicroseconds();

// Returns unused memory of the allocator to the system, so that resident memory shows what is in use.
void ReturnFreeMemory();

}  // namespace berth::bench
