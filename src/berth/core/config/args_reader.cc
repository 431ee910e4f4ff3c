// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/args_reader.h"

#include <algorithm>
#include <utility>

namespace berth::config {

namespace json = codec::json;

void ArgsReader::Read(std::string_view field, std::vector<std::string>& out) {
  if (!Has(field)) return;
  Note(field, [&] {
    std::vector<std::string> values;
    reader_.Read(field, values);
    out = std::move(values);
  });
}

void ArgsReader::Read(std::string_view field, StringsByKey& out) {
  const json::value* value = reader_.Find(field);
  if (value == nullptr) return;
  Note(field, [&] {
    const json::object* object = value->if_object();
    if (object == nullptr) {
      reader_.errors().Add(reader_.PathOf(field), "must be a map of strings, not " + std::string(Describe(*value)));
      return;
    }
    StringsByKey strings;
    for (const auto& member : *object) {
      const std::string key(member.key());
      if (const json::string* text = member.value().if_string()) {
        strings[key] = std::string(text->data(), text->size());
      } else {
        reader_.errors().Add(reader_.PathOf(field) + '[' + key.substr(0, 64) + ']',
                             "must be a string, not " + std::string(Describe(member.value())));
      }
    }
    out = std::move(strings);
  });
}

void ArgsReader::ReadInRange(std::string_view field, std::int64_t& out, std::int64_t min, std::int64_t max) {
  Note(field, [&] {
    const std::size_t before = reader_.errors().count();
    std::int64_t value = out;
    reader_.Read(field, value);
    if (!Has(field) || reader_.errors().count() > before) return;
    if (value >= min && value <= max) {
      out = value;
    } else {
      reader_.errors().Invalid(reader_.PathOf(field), value,
                               "not in valid range [" + std::to_string(min) + ", " + std::to_string(max) + "]");
    }
  });
}

void ArgsReader::Object(std::string_view field, const Visit& visit) {
  const json::value* value = reader_.Find(field);
  if (value == nullptr) return;
  Note(field, [&] {
    ArgsReader object(*value, reader_.PathOf(field), reader_.errors());
    if (value->is_object()) visit(object);
  });
}

void ArgsReader::Objects(std::string_view field, const Visit& visit) {
  Note(field, [&] {
    reader_.List(field, [&](const json::value& item, const std::string& path) {
      ArgsReader object(item, path, reader_.errors());
      if (item.is_object() || item.is_null()) visit(object);
    });
  });
}

bool ArgsReader::IsBad(std::string_view field) const {
  return std::find(bad_.begin(), bad_.end(), field) != bad_.end();
}

void ArgsReader::Required(std::string_view field) {
  reader_.Find(field);  // marks the field as known
  Note(field, [&] { reader_.errors().Required(reader_.PathOf(field)); });
}

void ArgsReader::Invalid(std::string_view field, std::string_view message) {
  const json::value* value = reader_.Find(field);
  Note(field, [&] {
    if (value == nullptr) {
      reader_.errors().Add(reader_.PathOf(field), message);
    } else if (const json::string* text = value->if_string()) {
      reader_.errors().Invalid(reader_.PathOf(field), {text->data(), text->size()}, message);
    } else {
      constexpr std::size_t kShownMax = 128;
      reader_.errors().Add(reader_.PathOf(field), "Invalid value: " + json::serialize(*value).substr(0, kShownMax) +
                                                      ": " + std::string(message));
    }
  });
}

}  // namespace berth::config
