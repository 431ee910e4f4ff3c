// SPDX-License-Identifier: Apache-2.0
// The errors of one configuration, each with its field path, worded as upstream's field errors. Plain values.
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
  // "path: message"; the same one twice counts once.
  void Add(std::string_view path, std::string_view message);
  void Invalid(std::string_view path, std::int64_t value, std::string_view message);
  void Invalid(std::string_view path, std::string_view value, std::string_view message);
  void Required(std::string_view path, std::string_view message = {});
  void Duplicate(std::string_view path, std::string_view value);
  void Forbidden(std::string_view path, std::string_view message);
  void NotSupported(std::string_view path, std::string_view value, std::initializer_list<std::string_view> supported);

  // How many have been noted.
  std::size_t count() const { return messages_.size(); }

  // Success, the one error, or "[a, b]".
  Expected<void> Result() const;

 private:
  std::vector<std::string> messages_;
};

}  // namespace berth::config
