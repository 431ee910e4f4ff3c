// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/yaml_writer.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "berth/codec/yaml.h"

namespace berth::codec {
namespace {

bool MayBePlain(std::string_view text) {
  constexpr std::string_view kInside = "_./-";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kInside.find(c) != std::string_view::npos;
  });
}

// A plain scalar if it parses as the same string, otherwise as in JSON, which is valid in YAML.
std::string Text(std::string_view text) {
  if (MayBePlain(text)) {
    const auto read = ParseYaml(text);
    if (read.ok() && read->is_string() &&
        std::string_view(read->get_string().data(), read->get_string().size()) == text)
      return std::string(text);
  }
  return WriteJson(json::value(json::string_view(text.data(), text.size())));
}

std::string Scalar(const json::value& value) {
  if (const json::string* text = value.if_string()) return Text({text->data(), text->size()});
  if (const double* number = value.if_double()) {
    char digits[64];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, *number);
    if (error == std::errc()) return std::string(digits, end);
  }
  return WriteJson(value);
}

bool IsBlock(const json::value& value) {
  return (value.is_object() && !value.get_object().empty()) || (value.is_array() && !value.get_array().empty());
}

void Write(const json::value& value, std::size_t indent, std::string& out);

void WriteMembers(const json::object& object, std::size_t indent, bool starts_indented, std::string& out) {
  std::vector<const json::key_value_pair*> members;
  for (const auto& member : object) members.push_back(&member);
  std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->key() < b->key(); });
  for (const json::key_value_pair* member : members) {
    if (!starts_indented) out.append(indent, ' ');
    starts_indented = false;
    out += Text({member->key().data(), member->key().size()}) + ':';
    if (!IsBlock(member->value())) {
      out += ' ' + Scalar(member->value()) + '\n';
      continue;
    }
    out += '\n';
    Write(member->value(), member->value().is_array() ? indent : indent + 2, out);
  }
}

void Write(const json::value& value, std::size_t indent, std::string& out) {
  if (const json::object* object = value.if_object(); object != nullptr && !object->empty()) {
    WriteMembers(*object, indent, false, out);
  } else if (const json::array* array = value.if_array(); array != nullptr && !array->empty()) {
    for (const json::value& item : *array) {
      out.append(indent, ' ').append("- ");
      if (const json::object* fields = item.if_object(); fields != nullptr && !fields->empty()) {
        WriteMembers(*fields, indent + 2, true, out);
      } else if (IsBlock(item)) {
        out.back() = '\n';
        Write(item, indent + 2, out);
      } else {
        out += Scalar(item) + '\n';
      }
    }
  } else {
    out.append(indent, ' ').append(Scalar(value)).append("\n");
  }
}

}  // namespace

std::string WriteYaml(const json::value& value) {
  std::string out;
  Write(value, 0, out);
  return out;
}

}  // namespace berth::codec
