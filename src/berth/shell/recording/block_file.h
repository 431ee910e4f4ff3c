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

// The most bytes of one block, for writers and readers.
inline constexpr std::size_t kBlockBytesMax = std::size_t{256} << 20;

// A file's name is kFilePrefix, the time at which it begins, and kFileSuffix: the order of names is that of times.
inline constexpr std::string_view kFilePrefix = "berth-";
inline constexpr std::string_view kFileSuffix = ".rec";
inline constexpr std::string_view kTailSuffix = ".tail";

// One thread.
class BlockWriter {
 public:
  // Makes the file, which must not exist. It is locked while it is written.
  static Expected<std::unique_ptr<BlockWriter>> Create(const std::string& path);
  ~BlockWriter();
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  // Appends a block of at most kBlockBytesMax.
  Expected<void> Append(std::string_view bytes);

  const std::string& path() const { return path_; }
  // The size of the file.
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

// Appends bytes of the stream, which begin at `offset` in it, to the tail file `fd`. Safe in a signal handler. False:
// it failed.
bool AppendToTail(int fd, std::uint64_t offset, std::string_view bytes) noexcept;
inline constexpr std::string_view kTailMagic = "BERTHRCT";

// One thread.
class BlockReader {
 public:
  // Fails when the file is no recording. Errors name `path`.
  static Expected<std::unique_ptr<BlockReader>> Open(const std::string& path);
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // The next block, valid until the next call; empty: there is none. Errors are those of reading the file.
  Expected<std::string_view> Next();
  // After the end: what was wrong behind the last complete block, as half a sentence; empty: nothing.
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
  std::uint64_t offset_ = 0;  // the place in the stream of the next block
  bool is_in_tail_ = false;
  bool has_ended_ = false;
  std::string damage_;
};

struct RecordingFile {
  std::string path;
  std::uint64_t bytes = 0;        // with its tail
  bool is_being_written = false;  // by a running process
};
// The recordings of a directory, the oldest first. A directory that does not exist has none.
Expected<std::vector<RecordingFile>> ListRecordings(const std::string& directory);
// The file that is named, or the newest recording if that is a directory; an error if it holds none.
Expected<std::string> NewestRecording(const std::string& file_or_directory);

}  // namespace berth::recording
