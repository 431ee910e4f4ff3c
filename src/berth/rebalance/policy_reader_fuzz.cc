// SPDX-License-Identifier: Apache-2.0
// Any text as a policy, and what one that is right objects to on a small cluster.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/rebalance/objections.h"
#include "berth/rebalance/rebalance_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kBytesMax = 1 << 14;
  if (size > kBytesMax) return 0;
  const auto policy = berth::rebalance::ReadPolicy(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!policy.ok()) return 0;
  using berth::testing::MakeNode;
  using berth::whatif::RunningPod;
  static const berth::whatif::ClusterState state = berth::rebalance::StateOf(
      {MakeNode("n1").Taint("gpu", "yes", berth::api::TaintEffect::kNoSchedule), MakeNode("n2"), MakeNode("n3")},
      {RunningPod("web", "web-1", "n1").Request("cpu", "1"), RunningPod("web", "web-2", "n1").Request("cpu", "1"),
       RunningPod("db", "db-1", "n2").Request("cpu", "3")});
  const berth::rebalance::ClusterView view(state);
  berth::rebalance::ObjectionOptions options;
  options.now = berth::rebalance::kTestNow;
  static_cast<void>(berth::rebalance::FindObjections(*policy, view, options));
  return 0;
}
