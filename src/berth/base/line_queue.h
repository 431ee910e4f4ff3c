// SPDX-License-Identifier: Apache-2.0
// LineQueue: lines of the log that wait for a thread to write them, so that whoever logs does not wait for whoever
// reads. Bounded in bytes: where there is no more room, the oldest line of the lowest rank gives way, and is counted.
// Thread-safe.
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
  // What gives way first comes first: lines that --v asks for, information, warnings and errors.
  enum class Rank : std::uint8_t { kDetail, kInfo, kProblem };
  static constexpr std::size_t kRankCount = 3;
  static constexpr std::size_t kLineCost = 64;  // bytes that a line takes beside its text, about

  struct Options {
    std::size_t bytes_max = 0;  // of lines that wait or are being written, with what it takes to keep them
    // Writes the text to the stream with this file descriptor, however long that takes. Called by Run().
    std::function<void(int stream, std::string_view text)> write;
    // Pushes a line that says how many were dropped. Called by Run(), when at most half of the room is taken.
    std::function<void(std::uint64_t dropped)> log_dropped;
    // How long lines are gathered after others were written, so that a busy process does not wake the thread for each.
    // A quiet one's line is written at once.
    std::chrono::milliseconds gathering{0};
  };

  explicit LineQueue(Options options);

  // `line` with its end. Never waits for what is written.
  void Push(Rank rank, int stream, std::string line);
  // Writes lines in their order until Close() has been called and nothing is left. One thread.
  void Run();
  void Close();
  // Whether all lines that were pushed have been written, or dropped and told, within this time.
  bool WaitUntilWritten(std::chrono::milliseconds most);
  // Lines that were dropped since the beginning.
  std::uint64_t dropped() const;

 private:
  static constexpr std::size_t kBatchBytes = std::size_t{64} << 10;  // that are written at once

  struct Entry {
    std::uint64_t number = 0;
    int stream = 0;
    std::string text;
    std::size_t Cost() const { return kLineCost + text.size(); }
  };

  struct Batch {
    int stream = 0;
    std::string text;
    std::size_t bytes = 0;  // of bytes_
  };

  // These with the lock held.
  bool MakeRoom(Rank rank, std::size_t bytes);
  std::deque<Entry>* Oldest();
  bool HasLines() const;
  bool ShouldTell() const { return dropped_ != told_ && bytes_ <= options_.bytes_max / 2; }
  bool IsDone() const { return !HasLines() && !is_writing_ && dropped_ == told_; }
  bool IsUrgent() const { return is_closed_ || waiting_count_ > 0 || bytes_ > options_.bytes_max / 4; }
  Batch TakeBatch();

  const Options options_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable has_come_, is_urgent_, is_written_;
  std::array<std::deque<Entry>, kRankCount> lines_;  // by rank
  std::uint64_t next_number_ = 0;
  std::size_t bytes_ = 0;  // of lines that wait and of what is being written
  std::uint64_t dropped_ = 0;
  std::uint64_t told_ = 0;  // of these, those that a line has told
  std::size_t waiting_count_ = 0;  // in WaitUntilWritten()
  bool is_writing_ = false;
  bool is_closed_ = false;
};

}  // namespace berth::log
