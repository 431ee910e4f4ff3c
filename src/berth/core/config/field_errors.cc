// SPDX-License-Identifier: Apache-2.0
#include "berth/core/config/field_errors.h"

#include <algorithm>

#include "berth/base/text.h"

namespace berth::config {
namespace {

// Limit on listed errors, because a broken file repeats the same ones.
constexpr std::size_t kMessagesMax = 20;

}  // namespace

void FieldErrors::Add(std::string_view path, std::string_view message) {
  std::string text(path);
  if (!text.empty()) text += ": ";
  text += message;
  // Paths contain keys of the document, which may have control characters.
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (std::find(messages_.begin(), messages_.end(), text) == messages_.end()) messages_.push_back(std::move(text));
}

void FieldErrors::Invalid(std::string_view path, std::int64_t value, std::string_view message) {
  Add(path, "Invalid value: " + std::to_string(value) + ": " + std::string(message));
}

void FieldErrors::Invalid(std::string_view path, std::string_view value, std::string_view message) {
  Add(path, "Invalid value: " + Quoted(value) + ": " + std::string(message));
}

void FieldErrors::Required(std::string_view path, std::string_view message) {
  Add(path, message.empty() ? std::string("Required value") : "Required value: " + std::string(message));
}

void FieldErrors::Duplicate(std::string_view path, std::string_view value) {
  Add(path, "Duplicate value: " + Quoted(value));
}

void FieldErrors::Forbidden(std::string_view path, std::string_view message) {
  Add(path, "Forbidden: " + std::string(message));
}

void FieldErrors::NotSupported(std::string_view path, std::string_view value,
                               std::initializer_list<std::string_view> supported) {
  std::string text = "Unsupported value: " + Quoted(value) + ": supported values: ";
  std::string_view separator;
  for (const std::string_view name : supported) {
    text += separator;
    text += Quoted(name);
    separator = ", ";
  }
  Add(path, text);
}

Expected<void> FieldErrors::Result() const {
  if (messages_.empty()) return {};
  if (messages_.size() == 1) return InvalidError(messages_.front());
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(messages_.size(), kMessagesMax); ++i) {
    if (i > 0) text += ", ";
    text += messages_[i];
  }
  if (messages_.size() > kMessagesMax) text += ", and " + std::to_string(messages_.size() - kMessagesMax) + " more";
  return InvalidError(text + ']');
}

}  // namespace berth::config
