// SPDX-License-Identifier: Apache-2.0
// The log of a process that must not wait for whoever reads it: a pipe that nobody empties would stop it. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

namespace berth::log {

class LineQueue;

// While it lives, lines wait in a queue for a thread that writes them; before and after, who logs writes. One at a
// time. Its end waits for what is not written yet, as long as kEndMax; if somebody does not read even then, the thread
// is left behind, and so are lines.
class AsyncWriter final {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{8} << 20;  // of lines that wait
  static constexpr std::chrono::seconds kEndMax{2};
  static constexpr std::chrono::milliseconds kGathering{20};  // of lines, after others were written

  AsyncWriter();
  ~AsyncWriter();
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;

 private:
  std::shared_ptr<LineQueue> queue_;
  std::thread thread_;
};

// Before an end of the process that destroys nothing (_exit, abort): waits until what was logged is written, but not
// longer than `most`.
void Flush(std::chrono::milliseconds most);

// Lines that were dropped since the process began, because too many waited.
std::uint64_t DroppedLines();

// For log.cc: where lines go while there is an AsyncWriter; null: there is none.
std::shared_ptr<LineQueue> WaitingLines();

}  // namespace berth::log
