// SPDX-License-Identifier: Apache-2.0
// What the decoders of JSON and of protobuf share: the first failure and the path to it. Each level that a failure
// passes on its way out puts its name in front, so that success pays nothing for paths. Private to this folder.
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
  // False, always: the failure is noted.
  [[gnu::cold]] bool Fail(std::string_view message);
  // False, always, with one more step in front of the path: spec.nodeName, containers[2], requests[cpu].
  [[gnu::cold]] bool At(std::string_view name);
  [[gnu::cold]] bool AtItem(std::size_t index);
  [[gnu::cold]] bool AtEntry(std::string_view key);
  [[gnu::cold]] bool NameMissing();

  // "Pod namespace/name: path: failure", as far as the object has a name.
  [[gnu::cold]] Error Failure(std::string_view namespace_name, std::string_view name) const;

  std::string_view kind() const { return kind_; }

 private:
  std::string_view kind_;
  std::string path_;
  std::string failure_;
};

}  // namespace berth::api::internal
