// SPDX-License-Identifier: Apache-2.0
// Any text as a catalogue, as Karpenter's objects, as nodes: it is read or refused with one line.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/base/check.h"
#include "berth/buy/catalogue_sources.h"
#include "berth/buy/node_catalogue.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto catalogue = berth::buy::ReadCatalogue(text);
  if (!catalogue.ok()) BERTH_CHECK(!catalogue.error().message.empty());
  const auto nodes = berth::buy::ReadNodes(text);
  if (nodes.ok()) berth::buy::CatalogueOfNodes(*nodes, [](std::string_view) { return "1"; });
  static_cast<void>(berth::buy::CatalogueOfNodePools(text, text));
  return 0;
}
