// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, field by field, over protozero, whose exceptions are caught here. The caller knows what a
// field means: api/protobuf_decoder.h. Skipping a field costs no more than reading its length. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

namespace berth::codec {

// Iterates over the fields of one message:
//   ProtobufReader reader(bytes);
//   while (reader.Next()) { if (reader.number() == 1) name = reader.bytes(); }
//   if (reader.is_malformed()) ...
class ProtobufReader {
 public:
  enum class Type : std::uint8_t { kNumber, kBytes, kFixed };

  explicit ProtobufReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // Returns false at the end, and at the first malformed field.
  bool Next() {
    // Fast path: a tag and a value or length of one byte each, as most fields of API objects have.
    if (end_ - at_ >= 2 && ((at_[0] | at_[1]) & 0x80) == 0 && Set(Byte(0), Byte(1), 2)) return true;
    return at_ != end_ && NextLong();
  }

  std::uint32_t number() const { return number_; }
  Type type() const { return type_; }
  bool is_number() const { return type_ == Type::kNumber; }
  bool is_bytes() const { return type_ == Type::kBytes; }
  // For kNumber: the varint; narrower types are its low bits.
  std::uint64_t value() const { return value_; }
  // For kBytes: a string, or the fields of a message.
  std::string_view bytes() const { return bytes_; }
  bool is_malformed() const { return is_malformed_; }

  // The number of consecutive fields with this number, including this one. With the usual encoders this is the length
  // of a list.
  std::size_t CountRun() const {
    std::size_t count = 1;
    for (ProtobufReader next = *this; next.Next() && next.number() == number_;) ++count;
    return count;
  }

 private:
  unsigned Byte(int i) const { return static_cast<unsigned char>(at_[i]); }

  // Sets the field from a tag and a value or length, which took `size` bytes. Returns false, and changes nothing, if
  // the wire type is another one or the bytes are invalid.
  bool Set(unsigned tag, unsigned value, int size) {
    constexpr unsigned kNumberOne = 8;
    const unsigned type = tag & 7U;
    if (tag < kNumberOne) return false;
    if (type == 2 && end_ - at_ - size >= static_cast<std::ptrdiff_t>(value)) {
      type_ = Type::kBytes;
      bytes_ = {at_ + size, value};
      at_ += size + static_cast<std::ptrdiff_t>(value);
    } else if (type == 0) {
      type_ = Type::kNumber;
      value_ = value;
      at_ += size;
    } else {
      return false;
    }
    number_ = tag >> 3U;
    return true;
  }

  // Tags and values of up to two bytes. These fast paths save a tenth of the decoding time; protozero handles all other
  // cases and all errors.
  [[gnu::noinline]] bool NextLong() {
    if (end_ - at_ < 4) return NextOfAny();
    unsigned tag = Byte(0);
    int size = 1;
    if (tag >= 0x80U) {
      if (Byte(1) >= 0x80U) return NextOfAny();
      tag = (tag & 0x7FU) | Byte(1) << 7U;
      size = 2;
    }
    unsigned value = Byte(size++);
    if (value >= 0x80U) {
      if (Byte(size) >= 0x80U) return NextOfAny();
      value = (value & 0x7FU) | Byte(size++) << 7U;
    }
    return Set(tag, value, size) || NextOfAny();
  }

  bool NextOfAny() {
    try {
      protozero::pbf_reader reader(at_, static_cast<std::size_t>(end_ - at_));
      reader.next();
      number_ = reader.tag();
      Take(reader);
      at_ = end_ - reader.length();
      return true;
    } catch (const protozero::exception&) {
      is_malformed_ = true;
      return false;
    }
  }

  void Take(protozero::pbf_reader& reader) {
    switch (reader.wire_type()) {
      case protozero::pbf_wire_type::varint:
        type_ = Type::kNumber;
        value_ = reader.get_uint64();
        return;
      case protozero::pbf_wire_type::length_delimited: {
        type_ = Type::kBytes;
        const protozero::data_view view = reader.get_view();
        bytes_ = {view.data(), view.size()};
        return;
      }
      default: type_ = Type::kFixed; reader.skip();
    }
  }

  const char* at_;
  const char* end_;
  std::uint32_t number_ = 0;
  Type type_ = Type::kNumber;
  bool is_malformed_ = false;
  std::uint64_t value_ = 0;
  std::string_view bytes_;
};

}  // namespace berth::codec
