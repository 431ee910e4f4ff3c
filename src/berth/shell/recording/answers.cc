// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/recording/answers.h"

#include <array>

#include "berth/codec/json_reader.h"

namespace berth::recording {
namespace {

constexpr std::array<std::string_view, 3> kKindsRead = {"PersistentVolume", "PersistentVolumeClaim", "ResourceClaim"};

}  // namespace

AnswerFilter::AnswerFilter(const AnnotationFilter& annotations) : keeps_all_(annotations.keeps_all()) {
  api::PruneOptions options;
  for (std::string key : annotations.keys()) {
    if (key.ends_with('/')) key += '*';
    options.annotations.push_back(std::move(key));
  }
  for (const std::string_view kind : kKindsRead) pruners_.emplace(kind, api::JsonPruner(kind, options));
}

std::string AnswerFilter::Of(const std::string& body) const {
  if (keeps_all_ || body.empty()) return body;
  codec::JsonReader reader;
  const auto parsed = reader.Parse(body);
  if (!parsed.ok()) return body;
  std::string kept;
  if (const auto at = pruners_.find(codec::StringOrEmpty(*parsed, "kind")); at != pruners_.end())
    at->second.Append(*parsed, kept);
  return kept;
}

}  // namespace berth::recording
