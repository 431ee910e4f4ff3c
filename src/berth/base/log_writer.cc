// SPDX-License-Identifier: Apache-2.0
#include "berth/base/log_writer.h"

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "berth/base/line_queue.h"
#include "berth/base/log.h"

namespace berth::log {
namespace {

// Holds the queue of the current AsyncWriter.
class Waiting {
 public:
  void Set(std::shared_ptr<LineQueue> queue) {
    const std::lock_guard lock(mutex_);
    if (queue_ != nullptr) dropped_before_ += queue_->dropped();
    queue_ = std::move(queue);
  }
  // Null: there is none.
  std::shared_ptr<LineQueue> Get() const {
    const std::lock_guard lock(mutex_);
    return queue_;
  }
  std::uint64_t Dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_before_ + (queue_ == nullptr ? 0 : queue_->dropped());
  }

 private:
  mutable std::mutex mutex_;  // guards the following members; acquired before the queue's mutex
  std::shared_ptr<LineQueue> queue_;
  std::uint64_t dropped_before_ = 0;
};

Waiting& TheWaiting() {
  static Waiting waiting;
  return waiting;
}

// Gives up on an error, as when the reader has closed the stream.
void WriteAll(int stream, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(stream, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready{stream, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

void LogDropped(std::uint64_t count) {
  Warning("log", "Lines of the log were dropped: they are read too slowly",
          {{"dropped", count}, {"bytesMax", AsyncWriter::kBytesMax}});
}

std::terminate_handler g_terminate_before = nullptr;

[[noreturn]] void FlushAndTerminate() {
  Flush(std::chrono::seconds(1));
  if (g_terminate_before != nullptr) g_terminate_before();
  std::abort();
}

}  // namespace

AsyncWriter::AsyncWriter()
    : queue_(std::make_shared<LineQueue>(LineQueue::Options{
          .bytes_max = kBytesMax, .write = WriteAll, .log_dropped = LogDropped, .gathering = kGathering})),
      thread_([queue = queue_] { queue->Run(); }) {
  TheWaiting().Set(queue_);
  g_terminate_before = std::set_terminate(FlushAndTerminate);
}

AsyncWriter::~AsyncWriter() {
  std::set_terminate(g_terminate_before);
  // If the reader blocks, lines are still queued, because callers would block in a write as the thread does.
  if (queue_->WaitUntilWritten(kEndMax)) TheWaiting().Set(nullptr);
  queue_->Close();
  if (queue_->WaitUntilWritten(std::chrono::milliseconds(100))) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void Flush(std::chrono::milliseconds most) {
  if (const auto queue = TheWaiting().Get()) queue->WaitUntilWritten(most);
}

std::uint64_t DroppedLines() { return TheWaiting().Dropped(); }

std::shared_ptr<LineQueue> WaitingLines() { return TheWaiting().Get(); }

}  // namespace berth::log
