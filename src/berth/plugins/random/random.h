// SPDX-License-Identifier: Apache-2.0
// Random: a policy of berth's own. Every feasible node has the same chance in each cycle, whatever the other plugins
// say of it. The same cycle seed gives the same node.
#pragma once

#include "berth/plugins/helper/row_picker.h"
#include "berth/plugins/names.h"

namespace berth::plugins {

class RandomScore final : public RowPicker {
 public:
  std::string_view Name() const override { return names::kRandom; }

 private:
  void First(const framework::Cycle& cycle, const framework::PodInfo& pod,
             std::vector<framework::NodeIndex>& rows) const override;
  framework::NodeIndex Pick(const framework::Cycle& cycle, const framework::PodInfo& pod,
                            std::span<const framework::NodeIndex> feasible) const override;
  std::string_view StateKey() const override { return "PreScoreRandom"; }
};

}  // namespace berth::plugins
