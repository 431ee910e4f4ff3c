// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/pod_group_annotations/pod_group_annotations.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/meta.h"
#include "berth/base/text.h"
#include "berth/framework/pod_group_namer.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

std::string Annotation(std::string_view key, std::string_view value) {
  return "annotation " + std::string(key) + ": " + Quoted(value);
}

class PodGroupAnnotations final : public framework::PodGroupNamer {
 public:
  static constexpr std::string_view kName = "berth.dev/pod-group";
  static constexpr std::string_view kMinCount = "berth.dev/min-count";

  std::string_view Name() const override { return names::kPodGroupAnnotations; }
  Expected<std::optional<framework::NamedPodGroup>> NameGroup(const api::Pod& pod) const override {
    const std::string* const name = pod.metadata.annotations.Find(kName);
    if (name == nullptr) return std::optional<framework::NamedPodGroup>();
    if (!api::IsDnsSubdomain(*name))
      return InvalidError(Annotation(kName, *name) + " should be a name such as \"training-1\"");
    const std::string* const count = pod.metadata.annotations.Find(kMinCount);
    if (count == nullptr) {
      return InvalidError(Annotation(kName, *name) + " needs " + std::string(kMinCount) +
                          " beside it: how many pods of the group have to fit at once");
    }
    framework::NamedPodGroup group{*name, 0};
    const char* const end = count->data() + count->size();
    const auto [read, error] = std::from_chars(count->data(), end, group.min_count);
    if (error != std::errc() || read != end || group.min_count < 1)
      return InvalidError(Annotation(kMinCount, *count) + " should be a whole number from 1 to 2147483647");
    return std::optional(std::move(group));
  }
};

}  // namespace

std::unique_ptr<framework::Plugin> CreatePodGroupAnnotations() { return std::make_unique<PodGroupAnnotations>(); }

}  // namespace berth::plugins
