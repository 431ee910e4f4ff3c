// The keys of tables by namespace and label, in which what asks for labels finds what may have them. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "berth/api/meta.h"

namespace berth::plugins {

// Writes the key of a bucket. What an empty namespace or label stands for is the table's to say: any, mostly.
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
