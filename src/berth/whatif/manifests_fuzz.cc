// SPDX-License-Identifier: Apache-2.0
// Any text as manifests, and what is added to an empty cluster by those that are right.
#include <cstddef>
#include <cstdint>
#include <string>

#include "berth/testing/builders.h"
#include "berth/whatif/additions.h"
#include "berth/whatif/manifests.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Valid ones may ask for half a million pods: that is slow, and no finding.
  constexpr std::size_t kBytesMax = 1 << 14;
  if (size > kBytesMax) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto read = berth::whatif::ReadManifests({{"m", text}}, "default");
  if (!read.ok()) return 0;
  berth::whatif::ClusterState state;
  state.nodes.push_back(berth::testing::MakeNode("n1").Build());
  for (const auto& manifest : read->documents) {
    const auto* spec = manifest.object.if_contains("spec");
    if (spec == nullptr || !spec->is_object()) continue;
    for (const char* count : {"replicas", "parallelism"}) {
      const auto* value = spec->get_object().if_contains(count);
      if (value != nullptr && value->is_int64() && value->get_int64() > 100) return 0;
    }
  }
  static_cast<void>(berth::whatif::MakeAdditions(*read, state, {}));
  return 0;
}
