// SPDX-License-Identifier: Apache-2.0
// Asynchronous logging: the process must not block on the reader of its log, as it would on a full pipe. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

namespace berth::log {

class LineQueue;

// During its life, lines go to a queue and a thread writes them; otherwise the caller writes. Only one may exist at a
// time. The destructor waits up to kEndMax for lines that are not written yet. If the reader still blocks, the thread
// is detached and lines are lost.
class AsyncWriter final {
 public:
  static constexpr std::size_t kBytesMax = std::size_t{8} << 20;  // limit on the queue
  static constexpr std::chrono::seconds kEndMax{2};
  static constexpr std::chrono::milliseconds kGathering{20};  // write coalescing after other lines were written

  AsyncWriter();
  ~AsyncWriter();
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;

 private:
  std::shared_ptr<LineQueue> queue_;
  std::thread thread_;
};

// To be called before the process ends without destructors (_exit, abort): waits until all lines are written, but at
// most `most`.
void Flush(std::chrono::milliseconds most);

// Number of lines dropped since the process began because the queue was full.
std::uint64_t DroppedLines();

// For log.cc: the queue of the AsyncWriter; null: there is none.
std::shared_ptr<LineQueue> WaitingLines();

}  // namespace berth::log
