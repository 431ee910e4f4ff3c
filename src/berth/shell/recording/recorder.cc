// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/recorder.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "berth/base/log.h"

namespace berth::recording {
namespace {

// A block is written after this time, or when this many bytes wait. Each block costs a wake-up, a write and the
// compressor's tables.
constexpr auto kBlockEvery = std::chrono::seconds(1);
constexpr std::size_t kBlockBytes = std::size_t{256} << 10;

// The recorder whose bytes a failing process saves.
std::atomic<Recorder*> newest{nullptr};

std::string FileName(Time started_at) {
  std::string time = FormatRfc3339Micro(started_at);
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });  // "20261125T101630.123456Z"
  return std::string(kFilePrefix) + time + std::string(kFileSuffix);
}

void Remove(const std::string& path) {
  ::unlink(path.c_str());
  ::unlink((path + std::string(kTailSuffix)).c_str());
}

}  // namespace

Expected<std::unique_ptr<Recorder>> Recorder::Start(Options options, const RecordingHeader& header,
                                                    AnnotationFilters annotations) {
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error) return InvalidError(options.directory + ": " + error.message());
  BERTH_ASSIGN_OR_RETURN(
      auto file,
      BlockWriter::Create((std::filesystem::path(options.directory) / FileName(header.started_at)).string()));
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(options), std::move(file), header, std::move(annotations)));
  const std::string first = WriteHeader(header);
  BERTH_RETURN_IF_ERROR(recorder->file_->Append(first));
  recorder->written_ = first.size();
  recorder->thread_ = std::thread([raw = recorder.get()] { raw->Run(); });
  newest = recorder.get();
  return recorder;
}

Recorder::Recorder(Options options, std::unique_ptr<BlockWriter> file, const RecordingHeader& header,
                   AnnotationFilters annotations)
    : options_(std::move(options)),
      file_(std::move(file)),
      tail_path_(file_->path() + std::string(kTailSuffix)),
      bytes_total_(options_.metrics->GetCounter("berth_recording_bytes_total",
                                                "Bytes of the recording in its file, compressed.", {})),
      is_recording_(
          options_.metrics->GetGauge("berth_recording_active",
                                     "Whether the scheduler's inputs are being recorded: 0 when the recording "
                                     "has ended before the scheduler.",
                                     {})),
      inputs_(std::move(annotations)),
      now_(header.origin) {
  is_recording_.Set(1);
}

Recorder::~Recorder() {
  Recorder* self = this;
  newest.compare_exchange_strong(self, nullptr);
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  news_.notify_one();
  if (thread_.joinable()) thread_.join();
}

// --- Turns -----------------------------------------------------------------------------------------------------------

void Recorder::BeginTurn(Time now, Duration wall_ahead) {
  if (!is_on_) return;
  turn_.Byte(static_cast<std::uint8_t>(Op::kTurn));
  turn_.Signed((now - now_).count());
  turn_.Signed((wall_ahead - wall_ahead_).count());
  now_ = now;
  wall_ahead_ = wall_ahead;
}

void Recorder::Cancels() {
  if (is_on_) turn_.Byte(static_cast<std::uint8_t>(Op::kCancel));
}

void Recorder::Takes(const scheduler::Input& input) {
  if (!is_on_) return;
  turn_.Byte(static_cast<std::uint8_t>(Op::kInput));
  inputs_.Put(turn_, input);
}

void Recorder::Ticks() {
  if (is_on_) turn_.Byte(static_cast<std::uint8_t>(Op::kTick));
}

void Recorder::Schedules() {
  if (!is_on_) return;
  turn_.Byte(static_cast<std::uint8_t>(Op::kSchedule));
  turn_.Byte(static_cast<std::uint8_t>(recording::Scheduled::kFailed));  // the value if ScheduleOne() does not return
}

void Recorder::Scheduled(recording::Scheduled outcome) {
  if (is_on_) turn_.ReplaceByte(static_cast<std::uint8_t>(outcome));
}

void Recorder::Decided(const scheduler::Decision& decision) {
  if (!is_on_) return;
  turn_.Byte(static_cast<std::uint8_t>(Op::kDecision));
  turn_.Fixed32(DigestOf(decision));
}

void Recorder::EndTurn(const std::vector<scheduler::Output>& outputs) {
  if (!is_on_) return;
  turn_.Byte(static_cast<std::uint8_t>(Op::kOutputs));
  turn_.Number(outputs.size());
  if (!outputs.empty()) turn_.Fixed32(DigestOf(outputs));
  bool is_due = false;
  {
    const std::lock_guard lock(mutex_);
    const bool is_first = waiting_.empty();
    const std::size_t before = waiting_.size();
    waiting_ += turn_.bytes();
    if (waiting_.size() + being_written_.size() > options_.buffer_bytes_max) {
      waiting_.resize(before);
      End("the disk is too slow for what there is to record");
    }
    is_on_ = !has_ended_;
    // Otherwise the thread is sleeping for kBlockEvery, or checks waiting_ before it sleeps.
    is_due = is_first || (before < kBlockBytes && waiting_.size() >= kBlockBytes);
  }
  turn_.Clear();
  if (is_due) news_.notify_one();
}

// --- The thread ------------------------------------------------------------------------------------------------------

void Recorder::End(const std::string& why) {
  if (std::exchange(has_ended_, true)) return;
  is_written_.notify_all();
  is_recording_.Set(0);
  log::Warning("recording", "The recording has ended; what it has can be replayed",
               {{"file", file_->path()}, {"why", why}});
}

void Recorder::WaitUntilWritten() {
  std::unique_lock lock(mutex_);
  is_awaited_ = true;
  news_.notify_one();
  is_written_.wait(lock, [this] { return has_ended_ || (waiting_.empty() && being_written_.empty()); });
  is_awaited_ = false;
}

bool Recorder::has_ended() const {
  const std::lock_guard lock(mutex_);
  return has_ended_;
}

// Waits for bytes to write. False: there will be none.
bool Recorder::AwaitBytes(std::unique_lock<std::mutex>& lock) {
  news_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
  if (!is_stopping_) {
    news_.wait_for(lock, kBlockEvery, [this] { return is_stopping_ || is_awaited_ || waiting_.size() >= kBlockBytes; });
  }
  return !waiting_.empty();
}

void Recorder::Run() {
  std::unique_lock lock(mutex_);
  while (AwaitBytes(lock)) {
    being_written_.swap(waiting_);
    lock.unlock();
    const std::uint64_t before = file_->bytes_written();
    const auto written = file_->Append(being_written_);
    const std::uint64_t after = file_->bytes_written();
    bytes_total_.Add(static_cast<double>(after - before));
    const bool has_room = MakeRoom(after);
    lock.lock();
    if (!written.ok()) End(written.error().message);
    if (!has_room) End("its directory holds as much as --record-bytes-max allows");
    if (!written.ok() || !has_room) return;
    written_ += being_written_.size();
    // Frees the memory that the first lists took.
    if (being_written_.capacity() > 4 * kBlockBytes) being_written_ = std::string();
    being_written_.clear();
    is_written_.notify_all();
  }
}

bool Recorder::MakeRoom(std::uint64_t bytes) {
  // The directory is read again after this many bytes; a block is far smaller.
  constexpr std::uint64_t kLookEvery = std::uint64_t{1} << 20;
  if (bytes < next_look_) return true;
  next_look_ = bytes + std::min(kLookEvery, options_.files_bytes_max / 16);
  const auto files = ListRecordings(options_.directory);
  if (!files.ok()) return true;
  std::uint64_t total = 0;
  for (const RecordingFile& file : *files) total += file.bytes;
  for (const RecordingFile& file : *files) {
    if (total <= options_.files_bytes_max) return true;
    if (file.is_being_written) continue;
    Remove(file.path);
    total -= file.bytes;
    log::Info("recording", "Removed an old recording", {{"file", file.path}});
  }
  return total <= options_.files_bytes_max;
}

// --- A failing process -----------------------------------------------------------------------------------------------

void Recorder::WriteTailsOnFailure() noexcept {
  if (Recorder* const recorder = newest.load()) recorder->WriteTail();
}

void Recorder::WriteTail() noexcept {
  // The writing thread holds the lock only for a moment. If it stays locked, the failing thread holds it.
  constexpr timespec kMoment{0, 1'000'000};
  for (int tries = 0; !mutex_.try_lock(); ++tries) {
    if (tries == 100) return;
    ::nanosleep(&kMoment, nullptr);
  }
  if (!has_ended_) {
    const int fd = ::open(tail_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
      std::uint64_t offset = written_;
      bool is_good = ::write(fd, kTailMagic.data(), kTailMagic.size()) == static_cast<ssize_t>(kTailMagic.size());
      for (const std::string_view part :
           {std::string_view(being_written_), std::string_view(waiting_), turn_.bytes()}) {
        is_good = is_good && AppendToTail(fd, offset, part);
        offset += part.size();
      }
      ::close(fd);
    }
  }
  // The lock is never released, so that nobody writes behind the tail until the process ends.
}

}  // namespace berth::recording
