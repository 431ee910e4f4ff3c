// SPDX-License-Identifier: Apache-2.0
// SpotLabels: by which labels a node is known to run on spot capacity, which costs less and may be taken away.
// Immutable once made; any thread may read it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/node.h"
#include "berth/base/hash_map.h"

namespace berth::plugins {

class SpotLabels {
 public:
  // One label of spot nodes. Without a value, any value of the key will do.
  struct Label {
    std::string key;
    std::optional<std::string> value;
  };

  // Knows the labels that clouds, autoscalers and installers set, and `added`.
  explicit SpotLabels(const std::vector<Label>& added = {});

  // True when one label tells so.
  bool IsSpot(const api::Node& node) const;

 private:
  struct Values {
    bool any = false;
    std::vector<std::string> some;
  };
  void Add(std::string_view key, std::optional<std::string_view> value);

  StringHashMap<Values> by_key_;
};

}  // namespace berth::plugins
