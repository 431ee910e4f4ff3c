// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/pod_names.h"

#include "berth/base/edit_distance.h"

namespace berth::whatif {

void PodNames::Add(std::string_view namespace_name, std::string_view name) {
  if (namespace_name == namespace_name_ && here_.size() < kNamesMax) here_.push_back(name);
  if (name == name_ && elsewhere_.empty()) elsewhere_ = namespace_name;
}

Error PodNames::NoSuchPod() const {
  std::string text = "there is no pod \"" + name_ + "\" in namespace \"" + namespace_name_ + "\"";
  if (!elsewhere_.empty()) {
    text += "; there is one in namespace \"" + elsewhere_ + "\"";
  } else if (const std::string_view nearest = NearestName(name_, here_); !nearest.empty()) {
    text += "; did you mean \"" + std::string(nearest) + "\"?";
  } else {
    text += ", which has no pods that are not finished";
  }
  return {ErrorCode::kNotFound, std::move(text)};
}

}  // namespace berth::whatif
