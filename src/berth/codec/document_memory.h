// SPDX-License-Identifier: Apache-2.0
// DocumentMemory: memory for the values of a small JSON document that is written at once: none is allocated, or freed,
// one by one. A larger document takes more. One thread at a time.
#pragma once

#include <array>

#include "berth/codec/json.h"

namespace berth::codec {

class DocumentMemory {
 public:
  DocumentMemory() : resource_(room_.data(), room_.size()) {}
  DocumentMemory(const DocumentMemory&) = delete;
  DocumentMemory& operator=(const DocumentMemory&) = delete;

  // What is made with it must not outlive the memory.
  json::storage_ptr storage() { return &resource_; }

 private:
  std::array<unsigned char, 2048> room_;
  json::monotonic_resource resource_;
};

}  // namespace berth::codec
