// SPDX-License-Identifier: Apache-2.0
// DuplicateFields reads text that may be anything: it must end, within its bounds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "berth/devcluster/objects/duplicate_fields.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (berth::objects::DuplicateFields(text).size() > berth::objects::kDuplicateFieldsMax) std::abort();
  return 0;
}
