// SPDX-License-Identifier: Apache-2.0
// LineQueue: a bounded queue of log lines with a writer thread, so that logging does not block on a slow reader. When
// its bytes reach the limit, the oldest line of the lowest rank is dropped and counted. Thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace berth::log {

class LineQueue final {
 public:
  // Ranks in the order in which they are dropped: lines enabled by --v, information, warnings and errors.
  enum class Rank : std::uint8_t { kDetail, kInfo, kProblem };
  static constexpr std::size_t kRankCount = 3;
  static constexpr std::size_t kLineCost = 64;  // approximate bytes that a line takes besides its text

  struct Options {
    std::size_t bytes_max = 0;  // limit on lines that wait or are being written, including kLineCost
    // Writes the text to the stream with this file descriptor; may block. Called by Run().
    std::function<void(int stream, std::string_view text)> write;
    // Pushes a line with the number of dropped lines. Called by Run() when at most half of the limit is used.
    std::function<void(std::uint64_t dropped)> log_dropped;
    // How long lines are gathered after others were written (write coalescing), so that a busy process does not wake
    // the thread for each line. After a pause a line is written at once.
    std::chrono::milliseconds gathering{0};
  };

  explicit LineQueue(Options options);

  // `line` includes its line break. Never waits for the writer.
  void Push(Rank rank, int stream, std::string line);
  // Writes lines in order until Close() was called and nothing is left. For one thread.
  void Run();
  void Close();
  // Waits until all lines pushed so far are written, or dropped and reported; returns whether that happened within this
  // time.
  bool WaitUntilWritten(std::chrono::milliseconds most);
  // Total number of dropped lines.
  std::uint64_t dropped() const;

 private:
  static constexpr std::size_t kBatchBytes = std::size_t{64} << 10;  // limit on one write

  struct Entry {
    std::uint64_t number = 0;
    int stream = 0;
    std::string text;
    std::size_t Cost() const { return kLineCost + text.size(); }
  };

  struct Batch {
    int stream = 0;
    std::string text;
    std::size_t bytes = 0;  // included in bytes_
  };

  // The lock must be held for the following functions.
  bool MakeRoom(Rank rank, std::size_t bytes);
  std::deque<Entry>* Oldest();
  bool HasLines() const;
  bool ShouldReport() const { return dropped_ != reported_ && bytes_ <= options_.bytes_max / 2; }
  bool IsDone() const { return !HasLines() && !is_writing_ && dropped_ == reported_; }
  bool IsUrgent() const { return is_closed_ || waiting_count_ > 0 || bytes_ > options_.bytes_max / 4; }
  Batch TakeBatch();

  const Options options_;
  mutable std::mutex mutex_;  // guards the following members
  std::condition_variable has_come_, is_urgent_, is_written_;
  std::array<std::deque<Entry>, kRankCount> lines_;  // by rank
  std::uint64_t next_number_ = 0;
  std::size_t bytes_ = 0;  // of lines that wait or are being written
  std::uint64_t dropped_ = 0;
  std::uint64_t reported_ = 0;     // the part of dropped_ that was reported
  std::size_t waiting_count_ = 0;  // callers in WaitUntilWritten()
  bool is_writing_ = false;
  bool is_closed_ = false;
};

}  // namespace berth::log
