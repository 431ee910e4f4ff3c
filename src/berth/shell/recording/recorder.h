// SPDX-License-Identifier: Apache-2.0
// Recorder: records the inputs of a core and digests of its decisions and outputs, so that the run can be repeated.
// Turns put bytes into a buffer, and a thread compresses and writes them, at least once a second. A turn never waits
// for that: when the disk is too slow or full, or the bound of the files is reached, the recording ends, with a line in
// the log and a metric. It can be read up to there.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/core/scheduler/decision_log.h"
#include "berth/core/scheduler/io.h"
#include "berth/framework/metrics.h"
#include "berth/shell/recording/block_file.h"
#include "berth/shell/recording/header.h"
#include "berth/shell/recording/records.h"

namespace berth::recording {

inline constexpr std::uint64_t kFilesBytesMax = std::uint64_t{1} << 30;  // the default

class Recorder final {
 public:
  struct Options {
    std::string directory;  // created if it does not exist
    // The bound of all recordings in the directory. Older ones are deleted to make room. If there is still no room, the
    // recording ends.
    std::uint64_t files_bytes_max = kFilesBytesMax;
    // The bound of the bytes that wait to be written.
    std::size_t buffer_bytes_max = std::size_t{64} << 20;
    framework::Metrics* metrics = &framework::Metrics::None();  // outlives it
  };

  // Makes the file. Its name comes from header.started_at.
  static Expected<std::unique_ptr<Recorder>> Start(Options options, const RecordingHeader& header,
                                                   AnnotationFilters annotations);
  // Writes what is left.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // To be called within turns, in the order of the calls of the core, and each before its call of the core.
  void BeginTurn(Time now, Duration wall_ahead);
  void Cancels();
  void Takes(const scheduler::Input& input);
  void Ticks();
  void Schedules();
  void Scheduled(Scheduled outcome);  // after Schedules()
  void Decided(const scheduler::Decision& decision);
  void EndTurn(const std::vector<scheduler::Output>& outputs);

  const std::string& path() const { return file_->path(); }
  // Once it has ended, nothing more is recorded. Any thread.
  bool has_ended() const;

  // Waits until everything recorded so far is in the file, or the recording has ended. Not within turns.
  void WaitUntilWritten();

  // For the handler of a signal that ends the program: writes what the thread has not written into the file's tail. It
  // does not wait for other threads.
  static void WriteTailsOnFailure() noexcept;

 private:
  Recorder(Options options, std::unique_ptr<BlockWriter> file, const RecordingHeader& header,
           AnnotationFilters annotations);

  void Run();
  bool AwaitBytes(std::unique_lock<std::mutex>& lock);
  // mutex_ is held.
  void End(const std::string& why);
  // Deletes older recordings. False: there is no room for this one. Only on the writing thread.
  bool MakeRoom(std::uint64_t bytes);
  void WriteTail() noexcept;

  const Options options_;
  const std::unique_ptr<BlockWriter> file_;
  const std::string tail_path_;
  framework::Counter& bytes_total_;
  framework::Gauge& is_recording_;

  // Used within turns.
  InputWriter inputs_;
  ByteWriter turn_;
  Time now_;
  Duration wall_ahead_{0};
  bool is_on_ = true;

  mutable std::mutex mutex_;  // guards what follows; never held while something is compressed or written
  std::condition_variable news_;
  std::condition_variable is_written_;
  std::string waiting_;  // whole turns
  std::string being_written_;
  std::uint64_t written_ = 0;  // bytes of the stream before being_written_
  bool has_ended_ = false;
  bool is_stopping_ = false;
  bool is_awaited_ = false;  // somebody waits until all is written

  std::uint64_t next_look_ = 0;  // the size of the file at which the directory is read again; the writing thread's
  std::thread thread_;
};

}  // namespace berth::recording
