// SPDX-License-Identifier: Apache-2.0
// FakeFilters: stands for the runtime in tests of PostFilter plugins: what the filters said, and what they say again.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "berth/framework/plugin.h"

namespace berth::plugins {

class FakeFilters final : public framework::NodeStatuses, public framework::FilterRunner {
 public:
  std::map<framework::NodeIndex, framework::Status> said;  // absent: success
  std::function<framework::Status(const framework::NodeInfo&)> again = [](const auto&) { return framework::Status(); };
  framework::Status on_remove, on_add;
  std::vector<std::string> calls;  // "-pod@node", "+pod@node": of pods that left and came back
  int removed_count = 0;
  int added_count = 0;
  int run_count = 0;

  framework::Status Get(framework::NodeIndex row) const override {
    const auto it = said.find(row);
    return it == said.end() ? framework::Status() : it->second;
  }
  framework::Status RunFiltersWithNominatedPods(framework::CycleState&, const framework::PodInfo&,
                                                const framework::NodeInfo& node) override {
    ++run_count;
    return again(node);
  }
  framework::Status RunRemovePod(framework::CycleState&, const framework::PodInfo&, const framework::PodInfo& other,
                                 const framework::NodeInfo& node) override {
    calls.push_back("-" + other.name + "@" + node.name());
    ++removed_count;
    return on_remove;
  }
  framework::Status RunAddPod(framework::CycleState&, const framework::PodInfo&, const framework::PodInfo& other,
                              const framework::NodeInfo& node) override {
    calls.push_back("+" + other.name + "@" + node.name());
    ++added_count;
    return on_add;
  }
};

}  // namespace berth::plugins
