// SPDX-License-Identifier: Apache-2.0
// Keys of hash tables by namespace and label: a selector looks up the label that it asks for and finds the few entries
// that may have it, instead of being compared with all. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "berth/api/meta.h"

namespace berth::plugins {

// Writes the key of a bucket. Each table says what an empty namespace or label stands for: mostly any.
inline void SetBucket(std::string& bucket, std::string_view namespace_name, std::string_view label,
                      std::string_view value) {
  bucket.assign(namespace_name);
  bucket += '\0';
  bucket += label;
  bucket += '\0';
  bucket += value;
}

// Calls visit() with the key in `bucket`: of the namespace alone, and of each label.
template <typename Visit>
void ForLabelBuckets(std::string_view namespace_name, const api::StringMap& labels, std::string& bucket,
                     const Visit& visit) {
  SetBucket(bucket, namespace_name, "", "");
  visit();
  for (const auto& [label, value] : labels) {
    SetBucket(bucket, namespace_name, label, value);
    visit();
  }
}

}  // namespace berth::plugins
