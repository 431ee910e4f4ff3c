// SPDX-License-Identifier: Apache-2.0
// What a stretch of work costs: wall clock, CPU, instructions, allocations, memory. For one thread.
#pragma once

#include <cstdint>
#include <optional>

namespace berth::bench {

// All but the last two grow from the start of the process.
struct Reading {
  double wall_s = 0;
  double cpu_s = 0;                           // user and system time of the process
  std::optional<std::uint64_t> instructions;  // in user space; nullopt: the kernel does not let us count
  std::uint64_t allocations = 0;              // calls of operator new
  std::uint64_t allocated_bytes = 0;          // what they asked for, given back or not
  double rss_mib = 0;                         // resident now
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
  int counter_ = -1;  // of perf_event_open; -1: none
};

// By the wall clock, from some fixed moment on.
double NowMicroseconds();

// Gives what the allocator holds without use back to the system, so that resident memory shows what is in use.
void ReturnFreeMemory();

}  // namespace berth::bench
