// SPDX-License-Identifier: Apache-2.0
// The errors of a configuration, each with its field path, in the words of upstream's field errors. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"

namespace berth::config {

class FieldErrors {
 public:
  // Adds "path: message", unless it is there already.
  void Add(std::string_view path, std::string_view message);
  void Invalid(std::string_view path, std::int64_t value, std::string_view message);
  void Invalid(std::string_view path, std::string_view value, std::string_view message);
  void Required(std::string_view path, std::string_view message = {});
  void Duplicate(std::string_view path, std::string_view value);
  void Forbidden(std::string_view path, std::string_view message);
  void NotSupported(std::string_view path, std::string_view value, std::initializer_list<std::string_view> supported);

  // Number of errors.
  std::size_t count() const { return messages_.size(); }

  // Success, the only error, or "[a, b]".
  Expected<void> Result() const;

 private:
  std::vector<std::string> messages_;
};

}  // namespace berth::config
