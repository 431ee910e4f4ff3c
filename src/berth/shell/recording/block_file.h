// SPDX-License-Identifier: Apache-2.0
// The file of a recording: a stream of bytes in blocks, all compressed as one zstd stream and each flushed, so that a
// reader gets everything up to the last whole block. Linux only, as the rest of the shell.
//
//   "BERTHRC1"
//   size of the compressed bytes, size of the bytes (4 bytes each), their hash (8 bytes), the compressed bytes
//   ...
//
// Beside a file that a failed check cut off may stand NAME.tail, with bytes that had not been compressed yet:
//
//   "BERTHRCT"
//   how many bytes of the stream come before, how many these are, their hash (8 bytes each), the bytes
//   ...
//
// A block that is cut off or damaged ends the recording: what comes behind it could not be replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"

namespace berth::recording {

// Of one block's bytes, on both sides.
inline constexpr std::size_t kBlockBytesMax = std::size_t{256} << 20;

// Names begin and end so; in between is the time of the beginning, so that the order of names is that of time.
inline constexpr std::string_view kFilePrefix = "berth-";
inline constexpr std::string_view kFileSuffix = ".rec";
inline constexpr std::string_view kTailSuffix = ".tail";

// One thread.
class BlockWriter {
 public:
  // The file must be new. Others see by its lock that it is being written.
  static Expected<std::unique_ptr<BlockWriter>> Create(const std::string& path);
  ~BlockWriter();
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  // At most kBlockBytesMax.
  Expected<void> Append(std::string_view bytes);

  const std::string& path() const { return path_; }
  // In the file.
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  struct Compressor;
  BlockWriter(std::string path, int fd);
  Expected<void> WriteOut(std::string_view bytes);

  const std::string path_;
  const int fd_;
  std::unique_ptr<Compressor> compressor_;
  std::uint64_t bytes_written_ = 0;
};

// Writes bytes of the stream that stand at `offset` behind the ones that are there in the tail with this descriptor.
// Safe in a signal handler. False: it did not work.
bool AppendToTail(int fd, std::uint64_t offset, std::string_view bytes) noexcept;
inline constexpr std::string_view kTailMagic = "BERTHRCT";

// One thread.
class BlockReader {
 public:
  // Fails when it is no recording. `path` is in its errors.
  static Expected<std::unique_ptr<BlockReader>> Open(const std::string& path);
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // The next block, valid until the next call; empty: there is none. Errors are those of reading the file.
  Expected<std::string_view> Next();
  // After the end: what was wrong with what came behind the last whole block, as half a sentence; empty: nothing.
  const std::string& damage() const { return damage_; }

 private:
  struct Decompressor;
  BlockReader(std::string path, int fd);
  Expected<std::size_t> ReadSome(char* out, std::size_t size);
  Expected<std::string_view> NextOfTail();
  Expected<void> OpenTail();
  std::string_view Damaged(std::string what);

  const std::string path_;
  int fd_;
  std::unique_ptr<Decompressor> decompressor_;
  std::string compressed_;
  std::string bytes_;
  std::uint64_t offset_ = 0;  // of what comes next in the stream
  bool is_in_tail_ = false;
  bool has_ended_ = false;
  std::string damage_;
};

struct RecordingFile {
  std::string path;
  std::uint64_t bytes = 0;        // with its tail
  bool is_being_written = false;  // by a process that lives
};
// Those of a directory, the oldest first. A directory that is not there has none.
Expected<std::vector<RecordingFile>> ListRecordings(const std::string& directory);

}  // namespace berth::recording
