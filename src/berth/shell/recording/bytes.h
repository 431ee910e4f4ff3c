// SPDX-License-Identifier: Apache-2.0
// The bytes that values are written as in a recording: numbers as varints, texts with their length. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace berth::recording {

inline constexpr std::uint64_t kHashMultiplier = 0x9e3779b97f4a7c15ULL;

// A hash that is the same in every run. Not for secrets.
inline std::uint64_t HashBytes(std::string_view bytes, std::uint64_t seed = 0) {
  std::uint64_t hash = seed ^ (bytes.size() * kHashMultiplier);
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * kHashMultiplier;
    hash ^= hash >> 29;
  };
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    mix(word);
    bytes.remove_prefix(sizeof(word));
  }
  std::uint64_t rest = 0;
  if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
  mix(rest);
  return hash ^ (hash >> 32);
}

// Appends to a buffer that is never freed: appending to a string byte by byte took three times the instructions.
class ByteWriter {
 public:
  void Byte(std::uint8_t byte) {
    MakeRoom(1);
    Put(byte);
  }
  void Number(std::uint64_t number) {
    MakeRoom(kNumberBytesMax);
    for (; number >= 0x80; number >>= 7) Put(static_cast<std::uint8_t>(number | 0x80));
    Put(static_cast<std::uint8_t>(number));
  }
  void Signed(std::int64_t number) {
    Number((static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63));
  }
  // Replaces the last byte.
  void ReplaceByte(std::uint8_t byte) { buffer_[size_ - 1] = static_cast<char>(byte); }
  void Fixed32(std::uint32_t number) { Append({reinterpret_cast<const char*>(&number), sizeof(number)}); }
  // A uid of the usual form takes half its length.
  void Text(std::string_view text) {
    if (text.size() == kUidTextSize && TextOfUid(text)) return;
    Number(static_cast<std::uint64_t>(text.size()) << 1);
    Append(text);
  }

  std::string_view bytes() const { return {buffer_.data(), size_}; }
  void Clear() { size_ = 0; }

 private:
  static constexpr std::size_t kNumberBytesMax = 10;
  static constexpr std::size_t kUidTextSize = 36;

  void MakeRoom(std::size_t bytes) {
    if (buffer_.size() - size_ < bytes) [[unlikely]]
      Grow(bytes);
  }
  void Grow(std::size_t bytes);
  void Put(std::uint8_t byte) { buffer_.data()[size_++] = static_cast<char>(byte); }
  void Append(std::string_view bytes) {
    MakeRoom(bytes.size());
    if (!bytes.empty()) std::memcpy(buffer_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  // Writes the text in half its length if it is a uid. False: it is none, and nothing is written.
  bool TextOfUid(std::string_view text);

  std::vector<char> buffer_;
  std::size_t size_ = 0;
};

// Has the interface of ByteWriter, and hashes the values.
class ByteHasher {
 public:
  void Byte(std::uint8_t byte) { Number(byte); }
  void Number(std::uint64_t number) {
    hash_ = (hash_ ^ number) * kHashMultiplier;
    hash_ ^= hash_ >> 29;
  }
  void Signed(std::int64_t number) { Number(static_cast<std::uint64_t>(number)); }
  void Text(std::string_view text) { hash_ = HashBytes(text, hash_); }
  std::uint32_t Short() const { return static_cast<std::uint32_t>(hash_ ^ (hash_ >> 32)); }

 private:
  std::uint64_t hash_ = 1;
};

// Reads what a ByteWriter has written. After the first error is_good() is false and all reads return empty values:
// check it at the end.
class ByteReader {
 public:
  // The bytes must outlive it.
  explicit ByteReader(std::string_view bytes = {}) : left_(bytes) {}
  // Goes on with the next bytes of the stream.
  void Begin(std::string_view bytes) { left_ = bytes; }

  std::uint8_t Byte();
  std::uint64_t Number();
  std::int64_t Signed() {
    const std::uint64_t number = Number();
    return static_cast<std::int64_t>(number >> 1) ^ -static_cast<std::int64_t>(number & 1);
  }
  std::uint32_t Fixed32();
  std::string Text();
  // A number of elements, each of which takes at least one byte.
  std::size_t Size();

  void Fail() {
    is_good_ = false;
    left_ = {};
  }
  bool is_good() const { return is_good_; }
  bool is_at_end() const { return left_.empty(); }

 private:
  std::string_view Take(std::size_t size);

  std::string_view left_;
  bool is_good_ = true;
};

}  // namespace berth::recording
