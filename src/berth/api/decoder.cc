// SPDX-License-Identifier: Apache-2.0
#include "berth/api/decoder.h"

#include "berth/api/decode_rules.h"
#include "berth/base/utf8.h"

namespace berth::api::internal {

bool Decoder::Fail(std::string_view message) {
  failure_ = message;
  return false;
}

bool Decoder::At(std::string_view name) {
  if (!path_.empty() && path_.front() != '[') path_.insert(0, ".");
  path_.insert(0, name);
  return false;
}

bool Decoder::AtItem(std::size_t index) { return AtEntry(std::to_string(index)); }

bool Decoder::AtEntry(std::string_view key) { return At('[' + std::string(CutUtf8(key, kShownTextMax)) + ']'); }

bool Decoder::NameMissing() {
  Fail("is missing");
  return At("metadata.name");
}

Error Decoder::Failure(std::string_view namespace_name, std::string_view name) const {
  std::string text(kind_);
  if (!namespace_name.empty()) text.append(" ").append(namespace_name).append("/");
  if (!name.empty()) {
    if (text.back() != '/') text += ' ';
    text += name;
  }
  text += ": ";
  if (!path_.empty()) text.append(path_).append(": ");
  return InvalidError(text.append(failure_));
}

}  // namespace berth::api::internal
