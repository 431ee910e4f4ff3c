// Any text is an object or an error that says something.
#include <cstdint>
#include <string_view>

#include "berth/api/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto pod = berth::api::DecodePod(text);
  const auto node = berth::api::DecodeNode(text);
  if (!pod.ok()) BERTH_CHECK(!pod.error().message.empty());
  if (!node.ok()) BERTH_CHECK(!node.error().message.empty());
  if (pod.ok() && (*pod)->spec.node_affinity && (*pod)->spec.node_affinity->required) {
    for (const auto& term : *(*pod)->spec.node_affinity->required) {
      (void)term.Validate();
      (void)term.Matches("n", (*pod)->metadata.labels);
    }
  }
  return 0;
}
