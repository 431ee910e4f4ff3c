// SPDX-License-Identifier: Apache-2.0
#include "berth/page/decision_feed.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>

#include "berth/base/utf8.h"
#include "berth/codec/json_text.h"

namespace berth::page {

using codec::json::array, codec::json::object;

namespace {

// `begin` is what stands before the value: `,"cycle":`.
template <typename Number>
void AppendNumber(std::string_view begin, Number number, std::string& to) {
  char digits[24];
  char* const end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  to.append(begin).append(digits, end);
}

void AppendText(std::string_view begin, std::string_view text, std::string& to) {
  to.append(begin);
  codec::AppendJsonString(text, to);
}

// Of a busy scheduler these are hundreds a second.
void AppendEntry(const DecisionFeed::Entry& entry, std::string& to) {
  const scheduler::Decision decision = entry.decision.Unpack();
  AppendNumber(R"({"sequence":)", entry.sequence, to);
  AppendNumber(R"(,"cycle":)", decision.cycle, to);
  AppendNumber(R"(,"seed":")", decision.seed, to);
  AppendText(R"(","time":)", FormatRfc3339Micro(entry.time), to);
  AppendText(R"(,"namespace":)", decision.pod_namespace, to);
  AppendText(R"(,"name":)", decision.pod_name, to);
  AppendText(R"(,"node":)", decision.node_name, to);
  AppendNumber(R"(,"attempt":)", decision.attempt, to);
  AppendNumber(R"(,"nodes":)", decision.node_count, to);
  AppendNumber(R"(,"feasible":)", decision.feasible_count, to);
  AppendNumber(R"(,"total":)", decision.total, to);
  AppendText(R"(,"why":)", CutUtf8(decision.Why(), DecisionFeed::kMessageBytesMax), to);
  if (!decision.message.empty())
    AppendText(R"(,"message":)", CutUtf8(decision.message, DecisionFeed::kMessageBytesMax), to);
  to.append(R"(,"reasons":)");
  to.append(decision.refusals.empty() ? "[]" : codec::WriteJson(ReasonsJson(ReasonsOf(decision)))).append("}");
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
  entry->decision.Assign(decision, kTextBytesMax);
  if (decision.node_name.empty()) entry->text_bytes = std::min(decision.TextBytes(), kTextBytesMax);
  EntryPtr dropped;  // is freed without the lock
  const std::lock_guard lock(mutex_);
  entry->sequence = ++last_;
  newest_.push_back(entry);
  if (newest_.size() > kKeptMax) {
    dropped = std::move(newest_.front());
    newest_.pop_front();
  }
  if (!refused_.empty()) {
    if (const auto before = refused_.find(decision.pod_uid); before != refused_.end()) ForgetRefusal(before);
  }
  if (!decision.node_name.empty()) return;
  refused_ages_.push_back(decision.pod_uid);
  refused_[decision.pod_uid] = {entry, std::prev(refused_ages_.end())};
  refused_bytes_ += entry->text_bytes;
  while (refused_.size() > kRefusedMax || refused_bytes_ > kRefusedBytesMax)
    ForgetRefusal(refused_.find(refused_ages_.front()));
}

void DecisionFeed::ForgetRefusal(StringHashMap<Refused>::iterator refused) {
  refused_bytes_ -= refused->second.entry->text_bytes;
  refused_ages_.erase(refused->second.age);
  refused_.erase(refused);
}

void DecisionFeed::Clear() {
  const std::lock_guard lock(mutex_);
  newest_.clear();
  refused_.clear();
  refused_ages_.clear();
  refused_bytes_ = 0;
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

DecisionFeed::List DecisionFeed::Since(std::uint32_t epoch, std::uint64_t after, std::size_t count_max) const {
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
  const std::uint64_t dropped = last > after ? last - after - shown.size() : 0;
  List list{last, {}};
  AppendNumber(R"({"epoch":)", epoch, list.json);
  AppendNumber(R"(,"last":)", last, list.json);
  AppendNumber(R"(,"dropped":)", dropped, list.json);
  list.json += R"(,"decisions":[)";
  for (const EntryPtr& entry : shown) {
    if (entry != shown.front()) list.json += ',';
    AppendEntry(*entry, list.json);
  }
  list.json += "]}";
  return list;
}

}  // namespace berth::page
