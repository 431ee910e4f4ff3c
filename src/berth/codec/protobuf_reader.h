// Protobuf's wire format, field after field, over protozero, whose exceptions end here. What a field means is up to the
// reader's user: api/decode_protobuf*.cc. One that is of no interest costs no more than its length. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

namespace berth::codec {

// Goes over the fields of one message:
//   ProtobufReader reader(bytes);
//   while (reader.Next()) { if (reader.number() == 1) name = reader.bytes(); }
//   if (reader.is_malformed()) ...
class ProtobufReader {
 public:
  enum class Type : std::uint8_t { kNumber, kBytes, kFixed };

  explicit ProtobufReader(std::string_view bytes) : reader_(bytes.data(), bytes.size()) {}

  // False behind the last field, and at the first that is malformed.
  bool Next() {
    try {
      if (!reader_.next()) return false;
      number_ = reader_.tag();
      Take();
      return true;
    } catch (const protozero::exception&) {
      is_malformed_ = true;
      return false;
    }
  }

  std::uint32_t number() const { return number_; }
  Type type() const { return type_; }
  bool is_number() const { return type_ == Type::kNumber; }
  bool is_bytes() const { return type_ == Type::kBytes; }
  // Of a kNumber: the varint, of which narrower types are the low bits.
  std::uint64_t value() const { return value_; }
  // Of a kBytes: a string, or the fields of a message.
  std::string_view bytes() const { return bytes_; }
  bool is_malformed() const { return is_malformed_; }

  // How many fields of this number stand here in a row, this one included: as many elements a list has, as messages are
  // usually written.
  std::size_t CountRun() const {
    std::size_t count = 1;
    try {
      for (protozero::pbf_reader next = reader_; next.next() && next.tag() == number_; next.skip()) ++count;
    } catch (const protozero::exception&) {
      return count;  // Next() will find it, too.
    }
    return count;
  }

 private:
  void Take() {
    switch (reader_.wire_type()) {
      case protozero::pbf_wire_type::varint:
        type_ = Type::kNumber;
        value_ = reader_.get_uint64();
        return;
      case protozero::pbf_wire_type::length_delimited: {
        type_ = Type::kBytes;
        const protozero::data_view view = reader_.get_view();
        bytes_ = {view.data(), view.size()};
        return;
      }
      default: type_ = Type::kFixed; reader_.skip();
    }
  }

  protozero::pbf_reader reader_;
  std::uint32_t number_ = 0;
  Type type_ = Type::kNumber;
  bool is_malformed_ = false;
  std::uint64_t value_ = 0;
  std::string_view bytes_;
};

}  // namespace berth::codec
