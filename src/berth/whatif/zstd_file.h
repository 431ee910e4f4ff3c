// SPDX-License-Identifier: Apache-2.0
// Files of lines compressed with zstd: one that is written under another name until it is whole, and the reading of
// one. Bounded memory. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "berth/base/expected.h"

namespace berth::whatif {

class ZstdFileWriter {
 public:
  // `overwrites` false: a file of that name is an error, now and in Finish().
  static Expected<std::unique_ptr<ZstdFileWriter>> Create(const std::string& path, bool overwrites);
  // Without Finish() nothing is left behind.
  ~ZstdFileWriter();
  ZstdFileWriter(const ZstdFileWriter&) = delete;
  ZstdFileWriter& operator=(const ZstdFileWriter&) = delete;

  Expected<void> Write(std::string_view text);
  // Writes what is left and gives the file its name.
  Expected<void> Finish();
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  struct Stream;
  ZstdFileWriter(std::string path, bool overwrites);
  Expected<void> Compress(std::string_view text, bool is_last);
  Expected<void> WriteOut(std::string_view bytes);
  Error Failed(const std::string& doing) const;

  const std::string path_;
  const std::string temporary_path_;
  const bool overwrites_;
  int fd_ = -1;
  std::unique_ptr<Stream> stream_;
  std::uint64_t bytes_written_ = 0;
};

struct LineLimits {
  std::size_t line_bytes_max = 0;
  std::uint64_t bytes_max = 0;  // of the text
  // Of a compressed byte's text beyond kTextBytesFree: text that says so much less than it is long is none of berth's.
  static constexpr std::uint64_t kTextPerByteMax = 1000;
  static constexpr std::uint64_t kTextBytesFree = std::uint64_t{64} << 20;
};

// Calls `take` with each line, without its end; its error ends the reading. What is wrong with the compression is an
// error of one line that does not name the file. `read` fills a buffer and returns how many bytes it has; 0: the end.
Expected<void> ReadZstdLines(const std::function<Expected<std::size_t>(char* buffer, std::size_t size)>& read,
                             const LineLimits& limits, const std::function<Expected<void>(std::string_view)>& take);
// Calls `take` with each line of a file. Errors name the file.
Expected<void> ReadZstdFile(const std::string& path, const LineLimits& limits,
                            const std::function<Expected<void>(std::string_view)>& take);

}  // namespace berth::whatif
