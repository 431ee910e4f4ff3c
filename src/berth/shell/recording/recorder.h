// SPDX-License-Identifier: Apache-2.0
// Recorder: writes down what a core is given and what comes of it, so that the run can be repeated. Turns put bytes
// into a buffer; a thread of its own compresses and writes them, at least once a second. A turn never waits for either:
// when the disk is too slow or full, or the bound of the files is reached, the recording ends, with a line in the log
// and a metric. The part up to there stays good.
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

inline constexpr std::uint64_t kFilesBytesMax = std::uint64_t{1} << 30;  // where nothing else is said

class Recorder final {
 public:
  struct Options {
    std::string directory;  // made when it is not there
    // Of all recordings in it. Older ones go to make room; one that has no room any more ends.
    std::uint64_t files_bytes_max = kFilesBytesMax;
    // That wait to be written.
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

  // Within turns, in the order in which the core is called. What is given to the core is told before it is called.
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

  // Until all that has been told is in the file, or the recording has ended. Not within turns.
  void WaitUntilWritten();

  // In the handler of a signal that ends the program: writes what the thread has not written into the file's tail.
  // Nothing of other threads is waited for.
  static void WriteTailsOnFailure() noexcept;

 private:
  Recorder(Options options, std::unique_ptr<BlockWriter> file, const RecordingHeader& header,
           AnnotationFilters annotations);

  void Run();
  bool AwaitBytes(std::unique_lock<std::mutex>& lock);
  // mutex_ is held.
  void End(const std::string& why);
  // False: there is no room for the recording. Only on its thread.
  bool MakeRoom(std::uint64_t bytes);
  void WriteTail() noexcept;

  const Options options_;
  const std::unique_ptr<BlockWriter> file_;
  const std::string tail_path_;
  framework::Counter& bytes_total_;
  framework::Gauge& is_recording_;

  // Of turns.
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

  std::uint64_t next_look_ = 0;  // when the file has so many bytes; of the thread
  std::thread thread_;
};

}  // namespace berth::recording
