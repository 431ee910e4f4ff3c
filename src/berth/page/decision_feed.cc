// SPDX-License-Identifier: Apache-2.0
#include "berth/page/decision_feed.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "berth/base/utf8.h"

namespace berth::page {

using codec::json::array, codec::json::object;

namespace {

object EntryJson(const DecisionFeed::Entry& entry) {
  const scheduler::Decision& decision = entry.decision;
  object json{{"sequence", entry.sequence},
              {"cycle", decision.cycle},
              {"seed", std::to_string(decision.seed)},
              {"time", FormatRfc3339Micro(entry.time)},
              {"namespace", decision.pod_namespace},
              {"name", decision.pod_name},
              {"node", decision.node_name},
              {"attempt", decision.attempt},
              {"nodes", decision.node_count},
              {"feasible", decision.feasible_count},
              {"total", decision.total},
              {"why", CutUtf8(decision.Why(), DecisionFeed::kMessageBytesMax)}};
  if (!decision.message.empty()) json["message"] = CutUtf8(decision.message, DecisionFeed::kMessageBytesMax);
  json["reasons"] = ReasonsJson(ReasonsOf(decision));
  return json;
}

}  // namespace

object ReasonJson(const Reason& reason) {
  return {{"plugin", reason.plugin}, {"text", reason.text}, {"nodes", reason.nodes}};
}

array ReasonsJson(const std::vector<Reason>& reasons) {
  array json;
  for (const Reason& reason : reasons) json.push_back(ReasonJson(reason));
  return json;
}

std::vector<Reason> ReasonsOf(const scheduler::Decision& decision) {
  std::vector<Reason> reasons;
  for (const auto& [status, nodes] : decision.refusals)
    reasons.push_back({std::string(status.plugin()), status.Message(), nodes});
  std::ranges::sort(reasons, [](const Reason& a, const Reason& b) {
    return a.nodes != b.nodes ? a.nodes > b.nodes : std::tie(a.plugin, a.text) < std::tie(b.plugin, b.text);
  });
  return reasons;
}

void DecisionFeed::Note(const scheduler::Decision& decision, Time time_of_day) {
  if (!is_on_.load(std::memory_order_relaxed)) return;
  const auto entry = std::make_shared<Entry>();
  entry->time = time_of_day;
  entry->decision = decision;
  EntryPtr dropped;  // is freed without the lock
  const std::lock_guard lock(mutex_);
  entry->sequence = ++last_;
  newest_.push_back(entry);
  if (newest_.size() > kKeptMax) {
    dropped = std::move(newest_.front());
    newest_.pop_front();
  }
  if (const auto before = refused_.find(decision.pod_uid); before != refused_.end()) {
    refused_ages_.erase(before->second.age);
    refused_.erase(before);
  }
  if (!decision.node_name.empty()) return;
  refused_ages_.push_back(decision.pod_uid);
  refused_[decision.pod_uid] = {entry, std::prev(refused_ages_.end())};
  if (refused_.size() <= kRefusedMax) return;
  refused_.erase(refused_ages_.front());
  refused_ages_.pop_front();
}

void DecisionFeed::Clear() {
  const std::lock_guard lock(mutex_);
  newest_.clear();
  refused_.clear();
  refused_ages_.clear();
}

std::uint64_t DecisionFeed::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

DecisionFeed::EntryPtr DecisionFeed::LastRefusal(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  const auto known = refused_.find(uid);
  return known == refused_.end() ? nullptr : known->second.entry;
}

object DecisionFeed::Json(std::uint32_t epoch, std::uint64_t after, std::size_t count_max) const {
  std::vector<EntryPtr> shown;
  std::uint64_t last = 0;
  {
    const std::lock_guard lock(mutex_);
    last = last_;
    for (auto at = newest_.rbegin(); at != newest_.rend() && shown.size() < count_max; ++at) {
      if ((*at)->sequence <= after) break;
      shown.push_back(*at);
    }
  }
  std::ranges::reverse(shown);
  array decisions;
  for (const EntryPtr& entry : shown) decisions.push_back(EntryJson(*entry));
  const std::uint64_t dropped = last > after ? last - after - shown.size() : 0;
  return {{"epoch", epoch}, {"last", last}, {"dropped", dropped}, {"decisions", std::move(decisions)}};
}

}  // namespace berth::page
