// SPDX-License-Identifier: Apache-2.0
// Shared by the decoders of JSON and protobuf: the first error and its path. Each level that an error passes on its way
// out prepends its name, so that paths cost nothing without an error. Private to this folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "berth/base/expected.h"

namespace berth::api::internal {

class Decoder {
 public:
  explicit Decoder(std::string_view kind) : kind_(kind) {}

 protected:
  // Records the error. Always returns false.
  [[gnu::cold]] bool Fail(std::string_view message);
  // Prepends a step to the path: spec.nodeName, containers[2], requests[cpu]. Always returns false.
  [[gnu::cold]] bool At(std::string_view name);
  [[gnu::cold]] bool AtItem(std::size_t index);
  [[gnu::cold]] bool AtEntry(std::string_view key);
  [[gnu::cold]] bool NameMissing();

  // "Pod namespace/name: path: error", with the parts of the name that the object has.
  [[gnu::cold]] Error Failure(std::string_view namespace_name, std::string_view name) const;

  std::string_view kind() const { return kind_; }

 private:
  std::string_view kind_;
  std::string path_;
  std::string failure_;
};

}  // namespace berth::api::internal
