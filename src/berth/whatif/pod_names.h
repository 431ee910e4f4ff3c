// SPDX-License-Identifier: Apache-2.0
// PodNames: says which pod may have been meant when there is none of a name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/error.h"

namespace berth::whatif {

class PodNames {
 public:
  // Names of pods in the namespace, of which the nearest is looked for.
  static constexpr std::size_t kNamesMax = 10'000;

  // The pod that was asked for.
  PodNames(std::string namespace_name, std::string name)
      : namespace_name_(std::move(namespace_name)), name_(std::move(name)) {}

  // Adds a pod that exists; the texts must live until NoSuchPod().
  void Add(std::string_view namespace_name, std::string_view name);
  Error NoSuchPod() const;

 private:
  const std::string namespace_name_;
  const std::string name_;
  std::vector<std::string_view> here_;
  std::string elsewhere_;  // a namespace that has one of that name
};

}  // namespace berth::whatif
