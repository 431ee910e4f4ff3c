// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/answer_text.h"

#include <array>
#include <cstdint>
#include <utility>

namespace berth::answers {
namespace {

std::string CpuText(std::int64_t milli) {
  return milli % 1000 == 0 ? std::to_string(milli / 1000) : std::to_string(milli) + "m";
}

std::string BytesText(std::int64_t bytes) {
  static constexpr std::array<std::string_view, 6> kSuffixes = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  std::size_t suffix = 0;
  while (suffix + 1 < kSuffixes.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++suffix;
  }
  return std::to_string(bytes).append(kSuffixes[suffix]);
}

std::vector<std::pair<std::string, std::string>> Amounts(const framework::Resource& amounts) {
  std::vector<std::pair<std::string, std::string>> texts;
  if (amounts.cpu_milli != 0) texts.emplace_back(framework::resources::kCpu, CpuText(amounts.cpu_milli));
  if (amounts.memory_bytes != 0) texts.emplace_back(framework::resources::kMemory, BytesText(amounts.memory_bytes));
  if (amounts.ephemeral_storage_bytes != 0)
    texts.emplace_back(framework::resources::kEphemeralStorage, BytesText(amounts.ephemeral_storage_bytes));
  for (const auto& [name, amount] : amounts.scalars) {
    if (amount != 0) texts.emplace_back(name, std::to_string(amount));
  }
  return texts;
}

}  // namespace

codec::json::object AmountsJson(const framework::Resource& amounts) {
  codec::json::object object;
  for (const auto& [name, amount] : Amounts(amounts)) object[name] = amount;
  return object;
}

std::string AmountsText(const framework::Resource& amounts) {
  std::string text;
  for (const auto& [name, amount] : Amounts(amounts))
    text.append(text.empty() ? "" : ", ").append(name).append(" ").append(amount);
  return text.empty() ? "nothing" : text;
}

codec::json::object RefusalJson(const whatif::PlacementRefusal& refusal) {
  codec::json::array reasons;
  for (const whatif::RefusalReason& reason : refusal.reasons) {
    reasons.push_back(
        codec::json::object{{"reason", reason.reason}, {"plugin", reason.plugin}, {"nodes", reason.node_count}});
  }
  codec::json::object object{{"message", refusal.message}, {"reasons", std::move(reasons)}};
  if (!refusal.preemption_node.empty()) {
    object["preemption"] =
        codec::json::object{{"node", refusal.preemption_node}, {"victims", NamesJson(refusal.preemption_victims)}};
  }
  return object;
}

std::string NamesText(const std::vector<std::string>& names, std::size_t names_max) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < names_max; ++i) text.append(i == 0 ? "" : ", ").append(names[i]);
  if (names.size() > names_max) text.append(" and ").append(std::to_string(names.size() - names_max)).append(" more");
  return text;
}

std::string Counted(std::size_t count, std::string_view one, std::string_view many) {
  return std::to_string(count).append(" ").append(count == 1 ? one : many);
}

codec::json::array NamesJson(const std::vector<std::string>& names) {
  codec::json::array array;
  for (const std::string& name : names) array.emplace_back(name);
  return array;
}

codec::json::object KeyJson(const std::string& key) {
  const std::size_t slash = key.find('/');
  return {{"namespace", key.substr(0, slash)}, {"name", key.substr(slash + 1)}};
}

}  // namespace berth::answers
