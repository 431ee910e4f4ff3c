// SPDX-License-Identifier: Apache-2.0
// DocumentMemory: an arena for the values of a small JSON document that is written once: values are not allocated or
// freed one by one. Larger documents allocate more. One thread at a time.
#pragma once

#include <array>

#include "berth/codec/json.h"

namespace berth::codec {

class DocumentMemory {
 public:
  DocumentMemory() : resource_(room_.data(), room_.size()) {}
  DocumentMemory(const DocumentMemory&) = delete;
  DocumentMemory& operator=(const DocumentMemory&) = delete;

  // Values made with it must not outlive the arena.
  json::storage_ptr storage() { return &resource_; }

 private:
  std::array<unsigned char, 2048> room_;
  json::monotonic_resource resource_;
};

}  // namespace berth::codec
