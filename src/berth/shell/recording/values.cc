// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/values.h"

#include <algorithm>

namespace berth::recording {

bool AnnotationFilter::Keeps(std::string_view key) const {
  return keeps_all_ || std::any_of(keys_.begin(), keys_.end(), [key](std::string_view kept) {
           if (kept.ends_with('*')) return key.starts_with(kept.substr(0, kept.size() - 1));
           return kept.ends_with('/') ? key.starts_with(kept) : key == kept;
         });
}

api::StringMap AnnotationFilter::Of(const api::StringMap& annotations) const {
  std::vector<api::StringMap::Entry> kept;
  std::uint64_t left_out = 0;
  for (const auto& [key, value] : annotations) {
    if (Keeps(key)) {
      kept.emplace_back(key, value);
    } else {
      left_out = HashBytes(value, HashBytes(key, left_out + 1));
    }
  }
  if (left_out != 0) kept.emplace_back(kLeftOutAnnotations, std::to_string(left_out));
  return api::StringMap(std::move(kept));
}

}  // namespace berth::recording
