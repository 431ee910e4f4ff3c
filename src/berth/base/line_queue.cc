// SPDX-License-Identifier: Apache-2.0
#include "berth/base/line_queue.h"

#include <algorithm>
#include <utility>

namespace berth::log {

LineQueue::LineQueue(Options options) : options_(std::move(options)) {}

void LineQueue::Push(Rank rank, int stream, std::string line) {
  const std::lock_guard lock(mutex_);
  Entry entry{next_number_++, stream, std::move(line)};
  const std::size_t cost = entry.Cost();
  if (!MakeRoom(rank, cost)) {
    ++dropped_;
    return;
  }
  bytes_ += cost;
  lines_[static_cast<std::size_t>(rank)].push_back(std::move(entry));
  has_come_.notify_one();
  if (IsUrgent()) is_urgent_.notify_one();
}

// Drops lines of this rank and below, the lowest first. Returns false, and drops nothing, if that does not make enough
// room.
bool LineQueue::MakeRoom(Rank rank, std::size_t bytes) {
  if (bytes > options_.bytes_max) return false;
  std::size_t givable = 0;
  for (std::size_t r = 0; r <= static_cast<std::size_t>(rank); ++r) {
    for (auto entry = lines_[r].begin(); bytes_ - givable + bytes > options_.bytes_max && entry != lines_[r].end();
         ++entry)
      givable += entry->Cost();
  }
  if (bytes_ - givable + bytes > options_.bytes_max) return false;
  for (std::size_t r = 0; bytes_ + bytes > options_.bytes_max; ++r) {
    std::deque<Entry>& lines = lines_[r];
    while (!lines.empty() && bytes_ + bytes > options_.bytes_max) {
      bytes_ -= lines.front().Cost();
      lines.pop_front();
      ++dropped_;
    }
  }
  return true;
}

bool LineQueue::HasLines() const {
  return std::any_of(lines_.begin(), lines_.end(), [](const auto& lines) { return !lines.empty(); });
}

std::deque<LineQueue::Entry>* LineQueue::Oldest() {
  std::deque<Entry>* oldest = nullptr;
  for (std::deque<Entry>& lines : lines_) {
    if (lines.empty()) continue;
    if (oldest == nullptr || lines.front().number < oldest->front().number) oldest = &lines;
  }
  return oldest;
}

// Takes the next lines that go to the same stream; at least one.
LineQueue::Batch LineQueue::TakeBatch() {
  Batch batch;
  for (std::deque<Entry>* oldest = Oldest(); oldest != nullptr; oldest = Oldest()) {
    const Entry& entry = oldest->front();
    const bool is_full = batch.text.size() + entry.text.size() > kBatchBytes;
    if (batch.bytes > 0 && (entry.stream != batch.stream || is_full)) break;
    batch.stream = entry.stream;
    batch.bytes += entry.Cost();
    batch.text += entry.text;
    oldest->pop_front();
  }
  return batch;
}

void LineQueue::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_come_.wait(lock, [this] { return is_closed_ || HasLines() || ShouldReport(); });
    if (!HasLines() && !ShouldReport()) return;
    Batch batch;
    std::uint64_t newly_dropped = 0;
    if (ShouldReport()) {
      newly_dropped = dropped_ - std::exchange(reported_, dropped_);
    } else {
      batch = TakeBatch();
    }
    is_writing_ = true;
    lock.unlock();
    if (newly_dropped > 0) {
      options_.log_dropped(newly_dropped);
    } else {
      options_.write(batch.stream, batch.text);
    }
    lock.lock();
    is_writing_ = false;
    bytes_ -= batch.bytes;
    if (!IsDone()) continue;
    is_written_.notify_all();
    is_urgent_.wait_for(lock, options_.gathering, [this] { return IsUrgent(); });
  }
}

void LineQueue::Close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  has_come_.notify_all();
  is_urgent_.notify_all();
}

bool LineQueue::WaitUntilWritten(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  ++waiting_count_;
  is_urgent_.notify_one();
  const bool is_done = is_written_.wait_for(lock, most, [this] { return IsDone(); });
  --waiting_count_;
  return is_done;
}

std::uint64_t LineQueue::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace berth::log
