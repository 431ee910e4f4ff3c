// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/block_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "berth/shell/recording/bytes.h"

namespace berth::recording {
namespace {

constexpr std::string_view kMagic = "BERTHRC1";
// A higher level saves little, since values.h already leaves out what repeats.
constexpr int kLevel = -5;
// A larger buffer is freed after its block.
constexpr std::size_t kKeptMax = std::size_t{1} << 20;

struct BlockHeader {
  std::uint32_t compressed_size = 0;
  std::uint32_t size = 0;
  std::uint64_t hash = 0;
};
struct TailHeader {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t hash = 0;
};

template <typename Header>
std::string_view BytesOf(const Header& header) {
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

std::string TextOfErrno(int error) { return std::generic_category().message(error); }

Error OfErrno(const std::string& path, int error) {
  const ErrorCode code = error == EEXIST   ? ErrorCode::kAlreadyExists
                         : error == ENOENT ? ErrorCode::kNotFound
                                           : ErrorCode::kInvalid;
  return {code, path + ": " + TextOfErrno(error)};
}

}  // namespace

// --- Writing ---------------------------------------------------------------------------------------------------------

struct BlockWriter::Compressor {
  ~Compressor() { ZSTD_freeCCtx(context); }

  ZSTD_CCtx* const context = ZSTD_createCCtx();
  std::string out;
};

BlockWriter::BlockWriter(std::string path, int fd)
    : path_(std::move(path)), fd_(fd), compressor_(std::make_unique<Compressor>()) {
  ZSTD_CCtx_setParameter(compressor_->context, ZSTD_c_compressionLevel, kLevel);
}

BlockWriter::~BlockWriter() { ::close(fd_); }

Expected<std::unique_ptr<BlockWriter>> BlockWriter::Create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return OfErrno(path, errno);
  // On file systems without locks a file counts as finished, so a failure is ignored.
  static_cast<void>(::flock(fd, LOCK_EX | LOCK_NB));
  std::unique_ptr<BlockWriter> writer(new BlockWriter(path, fd));
  BERTH_RETURN_IF_ERROR(writer->WriteOut(kMagic));
  return writer;
}

Expected<void> BlockWriter::WriteOut(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return OfErrno(path_, errno);
    bytes_written_ += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Expected<void> BlockWriter::Append(std::string_view bytes) {
  std::string& out = compressor_->out;
  // Room for the stream's header.
  const std::size_t size_max = sizeof(BlockHeader) + ZSTD_compressBound(bytes.size()) + 64;
  if (out.size() < size_max) out.resize(size_max);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), sizeof(BlockHeader)};
  const std::size_t left = ZSTD_compressStream2(compressor_->context, &to, &in, ZSTD_e_flush);
  if (left != 0) {
    const char* const why = ZSTD_isError(left) != 0 ? ZSTD_getErrorName(left) : "no room";
    return Error{ErrorCode::kInternal, path_ + ": compressing: " + why};
  }
  const BlockHeader header{static_cast<std::uint32_t>(to.pos - sizeof(BlockHeader)),
                           static_cast<std::uint32_t>(bytes.size()), HashBytes(bytes)};
  std::memcpy(out.data(), &header, sizeof(header));
  const auto written = WriteOut(std::string_view(out).substr(0, to.pos));
  if (out.size() > kKeptMax) out = std::string();
  return written;
}

bool AppendToTail(int fd, std::uint64_t offset, std::string_view bytes) noexcept {
  const TailHeader header{offset, bytes.size(), HashBytes(bytes)};
  for (std::string_view part : {BytesOf(header), bytes}) {
    while (!part.empty()) {
      const ssize_t written = ::write(fd, part.data(), part.size());
      if (written <= 0) return false;
      part.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  return true;
}

// --- Reading ---------------------------------------------------------------------------------------------------------

struct BlockReader::Decompressor {
  ~Decompressor() { ZSTD_freeDCtx(context); }

  ZSTD_DCtx* const context = ZSTD_createDCtx();
};

BlockReader::BlockReader(std::string path, int fd)
    : path_(std::move(path)), fd_(fd), decompressor_(std::make_unique<Decompressor>()) {}

BlockReader::~BlockReader() {
  if (fd_ >= 0) ::close(fd_);
}

Expected<std::unique_ptr<BlockReader>> BlockReader::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return OfErrno(path, errno);
  std::unique_ptr<BlockReader> reader(new BlockReader(path, fd));
  std::array<char, kMagic.size()> magic{};
  BERTH_ASSIGN_OR_RETURN(const std::size_t size, reader->ReadSome(magic.data(), magic.size()));
  if (std::string_view(magic.data(), size) != kMagic)
    return InvalidError(path + ": is no recording of berth: want a file that `berth run --record` has written");
  return reader;
}

Expected<std::size_t> BlockReader::ReadSome(char* out, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd_, out + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return OfErrno(path_, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::string_view BlockReader::Damaged(std::string what) {
  if (damage_.empty()) damage_ = std::move(what);
  return {};
}

Expected<std::string_view> BlockReader::Next() {
  if (has_ended_) return std::string_view();
  if (is_in_tail_) return NextOfTail();
  BlockHeader header;
  BERTH_ASSIGN_OR_RETURN(std::size_t got, ReadSome(reinterpret_cast<char*>(&header), sizeof(header)));
  bool is_whole = got == sizeof(header);
  if (is_whole) {
    if (header.compressed_size > kBlockBytesMax || header.size > kBlockBytesMax) {
      has_ended_ = true;
      return Damaged("its next block has an impossible size");
    }
    compressed_.resize(header.compressed_size);
    BERTH_ASSIGN_OR_RETURN(got, ReadSome(compressed_.data(), compressed_.size()));
    is_whole = got == compressed_.size();
  }
  if (!is_whole) {
    if (got > 0) Damaged("its last block is cut off");
    BERTH_RETURN_IF_ERROR(OpenTail());
    return NextOfTail();
  }
  bytes_.resize(header.size);
  ZSTD_inBuffer in{compressed_.data(), compressed_.size(), 0};
  ZSTD_outBuffer out{bytes_.data(), bytes_.size(), 0};
  while (in.pos < in.size) {
    const std::size_t before = in.pos + out.pos;
    const std::size_t left = ZSTD_decompressStream(decompressor_->context, &out, &in);
    if (ZSTD_isError(left) != 0 || in.pos + out.pos == before) break;
  }
  // Flushes what the decompressor still holds after the last input.
  for (std::size_t before = out.size + 1; out.pos < out.size && out.pos != before;) {
    before = out.pos;
    if (ZSTD_isError(ZSTD_decompressStream(decompressor_->context, &out, &in)) != 0) break;
  }
  if (out.pos != header.size || HashBytes(bytes_) != header.hash) {
    has_ended_ = true;
    return Damaged("its next block is damaged");
  }
  offset_ += bytes_.size();
  return std::string_view(bytes_);
}

Expected<void> BlockReader::OpenTail() {
  is_in_tail_ = true;
  ::close(std::exchange(fd_, -1));
  fd_ = ::open((path_ + std::string(kTailSuffix)).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) {
    has_ended_ = true;
    return errno == ENOENT ? Expected<void>() : OfErrno(path_ + std::string(kTailSuffix), errno);
  }
  std::array<char, kTailMagic.size()> magic{};
  BERTH_ASSIGN_OR_RETURN(const std::size_t size, ReadSome(magic.data(), magic.size()));
  if (std::string_view(magic.data(), size) != kTailMagic) {
    has_ended_ = true;
    Damaged("its tail is damaged");
  }
  return {};
}

Expected<std::string_view> BlockReader::NextOfTail() {
  while (!has_ended_) {
    TailHeader header;
    BERTH_ASSIGN_OR_RETURN(std::size_t got, ReadSome(reinterpret_cast<char*>(&header), sizeof(header)));
    has_ended_ = true;  // unless a complete part follows
    if (got == 0) break;
    if (got != sizeof(header) || header.size > kBlockBytesMax || header.offset > offset_)
      return Damaged("its tail is damaged");
    bytes_.resize(header.size);
    BERTH_ASSIGN_OR_RETURN(got, ReadSome(bytes_.data(), bytes_.size()));
    if (got != bytes_.size() || HashBytes(bytes_) != header.hash) return Damaged("its tail is cut off");
    has_ended_ = false;
    const std::uint64_t known = std::min<std::uint64_t>(offset_ - header.offset, bytes_.size());
    if (known == bytes_.size()) continue;
    offset_ += bytes_.size() - known;
    damage_.clear();  // The tail has the bytes of the block that was cut off.
    return std::string_view(bytes_).substr(known);
  }
  return std::string_view();
}

Expected<std::vector<RecordingFile>> ListRecordings(const std::string& directory) {
  namespace fs = std::filesystem;
  std::vector<RecordingFile> files;
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error == std::errc::no_such_file_or_directory) return files;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!name.starts_with(kFilePrefix) || !name.ends_with(kFileSuffix)) continue;
    RecordingFile file{entries->path().string()};
    std::error_code ignored;
    file.bytes = fs::file_size(entries->path(), ignored);
    if (ignored) continue;  // it has just gone
    const auto tail = fs::file_size(file.path + std::string(kTailSuffix), ignored);
    if (!ignored) file.bytes += tail;
    const int fd = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
      file.is_being_written = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      ::close(fd);
    }
    files.push_back(std::move(file));
  }
  if (error) return InvalidError(directory + ": " + error.message());
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

Expected<std::string> NewestRecording(const std::string& file_or_directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(file_or_directory, error)) return file_or_directory;
  BERTH_ASSIGN_OR_RETURN(const auto files, ListRecordings(file_or_directory));
  if (files.empty())
    return InvalidError(file_or_directory + ": holds no recording: want the directory of `berth run --record`");
  return files.back().path;
}

}  // namespace berth::recording
