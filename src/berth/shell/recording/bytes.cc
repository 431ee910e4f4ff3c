// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/bytes.h"

#include <algorithm>
#include <array>

namespace berth::recording {
namespace {

constexpr std::size_t kUidBytes = 16;
constexpr std::string_view kUidForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
constexpr std::uint64_t kUidMark = 1;  // in place of a length: lengths are written doubled, so they are even

// The value of a hexadecimal digit; 0xFF: it is none. Upper case is none either, so that a uid is read back as the same
// text.
constexpr std::array<std::uint8_t, 256> kHexValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(0xFF);
  for (std::uint8_t i = 0; i < 10; ++i) values[std::size_t{'0'} + i] = i;
  for (std::uint8_t i = 0; i < 6; ++i) values[std::size_t{'a'} + i] = static_cast<std::uint8_t>(10 + i);
  return values;
}();

constexpr std::array<std::uint8_t, kUidBytes> kDigitsAt = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

bool ReadUid(std::string_view text, std::array<char, kUidBytes>& out) {
  if (text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-') return false;
  unsigned all = 0;
  for (std::size_t i = 0; i < kUidBytes; ++i) {
    const std::uint8_t high = kHexValues[static_cast<unsigned char>(text[kDigitsAt[i]])];
    const std::uint8_t low = kHexValues[static_cast<unsigned char>(text[kDigitsAt[i] + 1])];
    all |= high | low;
    out[i] = static_cast<char>(high << 4 | low);
  }
  return all < 16;
}

std::string UidText(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(kUidForm);
  std::size_t digits = 0;
  for (char& c : text) {
    if (c == '-') continue;
    const auto byte = static_cast<unsigned char>(bytes[digits / 2]);
    c = kDigits[digits % 2 == 0 ? byte >> 4 : byte & 15];
    ++digits;
  }
  return text;
}

}  // namespace

bool ByteWriter::TextOfUid(std::string_view text) {
  std::array<char, kUidBytes> uid;
  if (!ReadUid(text, uid)) return false;
  Number(kUidMark);
  Append({uid.data(), uid.size()});
  return true;
}

void ByteWriter::Grow(std::size_t bytes) {
  constexpr std::size_t kFirst = 4096;
  buffer_.resize(std::max(kFirst, 2 * (size_ + bytes)));
}

std::string_view ByteReader::Take(std::size_t size) {
  if (size > left_.size()) {
    Fail();
    return {};
  }
  const std::string_view taken = left_.substr(0, size);
  left_.remove_prefix(size);
  return taken;
}

std::uint8_t ByteReader::Byte() {
  const std::string_view byte = Take(1);
  return byte.empty() ? 0 : static_cast<std::uint8_t>(byte[0]);
}

std::uint64_t ByteReader::Number() {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = Byte();
    number |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) return number;
  }
  Fail();
  return 0;
}

std::uint32_t ByteReader::Fixed32() {
  std::uint32_t number = 0;
  if (const std::string_view bytes = Take(sizeof(number)); !bytes.empty())
    std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

std::string ByteReader::Text() {
  const std::uint64_t mark = Number();
  if (mark == kUidMark) {
    const std::string_view uid = Take(kUidBytes);
    return uid.empty() ? std::string() : UidText(uid);
  }
  if ((mark & 1) != 0) {
    Fail();
    return {};
  }
  return std::string(Take(mark >> 1));
}

std::size_t ByteReader::Size() {
  const std::uint64_t size = Number();
  if (size > left_.size()) {
    Fail();
    return 0;
  }
  return static_cast<std::size_t>(size);
}

}  // namespace berth::recording
