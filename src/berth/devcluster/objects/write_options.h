// SPDX-License-Identifier: Apache-2.0
// How a write is to be done, as its query parameters say. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::objects {

// How strictly bodies are read, from the parameter fieldValidation.
enum class FieldValidation : std::uint8_t { kIgnore, kWarn, kStrict };

// Who writes, for metadata.managedFields (managed_fields.h).
struct FieldWriter {
  std::string manager;
  bool is_named = false;    // by the request's fieldManager, not by its User-Agent alone
  std::string subresource;  // "" for the object itself
  bool is_apply = false;    // the document has its managedFields already
};

struct WriteOptions {
  bool is_dry_run = false;
  FieldValidation field_validation = FieldValidation::kIgnore;
  std::vector<std::string>* warnings = nullptr;  // of kWarn
  FieldWriter writer;
};

}  // namespace berth::objects
