// SPDX-License-Identifier: Apache-2.0
#include "berth/page/pending_view.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "berth/base/hash_map.h"
#include "berth/whatif/cluster_state.h"
#include "berth/whatif/pending_pods.h"

namespace berth::page {

using codec::json::array, codec::json::object;

namespace {

constexpr std::string_view kAvailable = " nodes are available: ";

// What makes pods of one owner wait for the same.
using FoldKey =
    std::tuple<whatif::Workload, std::string_view, std::vector<std::pair<std::string, std::string>>, std::string>;

FoldKey KeyOf(const WaitingPod& waiting, const whatif::Workload& owner) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const Reason& reason : waiting.reasons) reasons.emplace_back(reason.plugin, reason.text);
  std::ranges::sort(reasons);
  return {owner, waiting.state, std::move(reasons), waiting.reasons.empty() ? waiting.message : std::string()};
}

Time CreationOf(const api::Pod& pod) { return pod.metadata.creation_time.value_or(Time{}); }

void SetFromSample(const WaitingPod& waiting, PendingClass& to) {
  const api::Pod& pod = *waiting.pod;
  to.oldest = CreationOf(pod);
  to.sample = pod.metadata.name;
  to.scheduler = pod.spec.scheduler_name;
  to.group = pod.spec.pod_group_name;
  to.state = waiting.state;
  to.message = waiting.message;
  to.reasons = waiting.reasons;
  to.nodes = waiting.nodes;
}

void AddTo(const WaitingPod& waiting, PendingClass& to) {
  const api::Pod& pod = *waiting.pod;
  const bool is_older =
      to.count == 0 || std::make_pair(CreationOf(pod), pod.metadata.name) < std::make_pair(to.oldest, to.sample);
  if (is_older) SetFromSample(waiting, to);
  ++to.count;
  if (waiting.attempts) to.attempts = std::max(to.attempts.value_or(0), *waiting.attempts);
  if (waiting.backoff_until) to.backoff_until = std::max(to.backoff_until.value_or(Time{}), *waiting.backoff_until);
  if (waiting.queue) {
    if (!to.queue) to.queue.emplace();
    *to.queue += *waiting.queue;
  }
  for (const std::string& event : waiting.waits_for) {
    const auto at = std::ranges::lower_bound(to.waits_for, event);
    if (at == to.waits_for.end() || *at != event) to.waits_for.insert(at, event);
  }
}

// In an order that does not change while one reads.
void SortAndBound(PendingView& view) {
  std::ranges::sort(view.classes, [](const PendingClass& a, const PendingClass& b) {
    return std::tie(a.oldest, a.owner, a.sample) < std::tie(b.oldest, b.owner, b.sample);
  });
  if (view.classes.size() <= PendingView::kClassesMax) return;
  for (std::size_t i = PendingView::kClassesMax; i < view.classes.size(); ++i)
    view.not_looked_at += view.classes[i].count;
  view.classes.resize(PendingView::kClassesMax);
}

object ClassJson(const PendingClass& of) {
  object json{
      {"id", of.Id()},
      {"owner", object{{"kind", of.owner.kind}, {"namespace", of.owner.namespace_name}, {"name", of.owner.name}}},
      {"count", of.count},
      {"oldest", FormatRfc3339(of.oldest)},
      {"sample", object{{"namespace", of.owner.namespace_name}, {"name", of.sample}}},
      {"scheduler", of.scheduler}};
  if (!of.group.empty()) json["group"] = of.group;
  json["state"] = of.state;
  json["message"] = of.message;
  json["reasons"] = ReasonsJson(of.reasons);
  if (of.nodes) json["nodes"] = *of.nodes;
  if (of.attempts) json["attempts"] = *of.attempts;
  if (of.queue) json["queue"] = QueueJson(*of.queue);
  if (of.backoff_until) json["backoffUntil"] = FormatRfc3339Micro(*of.backoff_until);
  json["waitsFor"] = array(of.waits_for.begin(), of.waits_for.end());
  return json;
}

array SummaryJson(const std::vector<PendingClass>& classes) {
  struct Sum {
    std::size_t pods = 0, owners = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const PendingClass& of : classes) {
    const bool has_reason = !of.reasons.empty();
    Sum& sum =
        sums[has_reason ? std::make_pair(of.reasons.front().plugin, of.reasons.front().text)
                        : std::make_pair(std::string(), of.message.empty() ? std::string(of.state) : of.message)];
    sum.pods += of.count;
    ++sum.owners;
  }
  std::vector<std::pair<std::pair<std::string, std::string>, Sum>> sorted(sums.begin(), sums.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.second.pods != b.second.pods ? a.second.pods > b.second.pods : a.first < b.first;
  });
  array json;
  for (const auto& [reason, sum] : sorted) {
    json.push_back(
        object{{"plugin", reason.first}, {"text", reason.second}, {"pods", sum.pods}, {"owners", sum.owners}});
  }
  return json;
}

}  // namespace

object QueueJson(const QueueCounts& counts) {
  return {{"active", counts.active}, {"backoff", counts.backoff},    {"unschedulable", counts.unschedulable},
          {"gated", counts.gated},   {"inFlight", counts.in_flight}, {"permit", counts.permit}};
}

QueueCounts& QueueCounts::operator+=(const QueueCounts& more) {
  active += more.active;
  backoff += more.backoff;
  unschedulable += more.unschedulable;
  gated += more.gated;
  in_flight += more.in_flight;
  permit += more.permit;
  return *this;
}

std::string PendingClass::Id() const {
  // FNV-1a, which is the same in every process: ids are parts of links.
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = (hash ^ 0xff) * 0x100000001b3;
  };
  for (const std::string_view text :
       {std::string_view(owner.kind), std::string_view(owner.namespace_name), std::string_view(owner.name), state})
    add(text);
  std::vector<std::string> texts;
  for (const Reason& reason : reasons) texts.push_back(reason.plugin + "\n" + reason.text);
  if (texts.empty()) texts.push_back(message);
  std::ranges::sort(texts);
  for (const std::string& text : texts) add(text);
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof(digits), hash, 16).ptr;
  return std::string(digits, end);
}

std::vector<Reason> ReasonsIn(std::string_view message) {
  const std::size_t begin = message.find(kAvailable);
  if (begin == std::string_view::npos) return {};
  std::string_view list = message.substr(begin + kAvailable.size());
  list = list.substr(0, list.find(". "));
  if (list.ends_with('.')) list.remove_suffix(1);
  std::vector<Reason> reasons;
  while (!list.empty()) {
    // A reason may have commas of its own: the next one begins with a number.
    std::size_t nodes = 0;
    const auto [rest, failure] = std::from_chars(list.data(), list.data() + list.size(), nodes);
    if (failure != std::errc() || rest == list.data() + list.size() || *rest != ' ') return {};
    list.remove_prefix(static_cast<std::size_t>(rest - list.data()) + 1);
    std::size_t end = list.find(", ");
    while (end != std::string_view::npos && (end + 2 == list.size() || list[end + 2] < '0' || list[end + 2] > '9'))
      end = list.find(", ", end + 2);
    reasons.push_back({"", std::string(list.substr(0, end)), nodes});
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 2);
  }
  return reasons;
}

PendingView Fold(const std::vector<WaitingPod>& pods) {
  std::map<FoldKey, PendingClass> classes;
  for (const WaitingPod& waiting : pods) {
    whatif::Workload owner = whatif::WorkloadOf(*waiting.pod);
    PendingClass& of = classes[KeyOf(waiting, owner)];
    of.owner = std::move(owner);
    AddTo(waiting, of);
  }
  PendingView view;
  view.by = "scheduler";
  view.pods = pods.size();
  for (auto& [key, of] : classes) view.classes.push_back(std::move(of));
  SortAndBound(view);
  return view;
}

PendingView FromEvaluation(const whatif::PendingPods& pending, const whatif::ClusterState& state, Time now) {
  StringHashMap<const api::Pod*> by_key;
  for (const auto& pod : state.pods) {
    if (pod->spec.node_name.empty()) by_key[pod->metadata.namespace_name + "/" + pod->metadata.name] = pod.get();
  }
  PendingView view;
  view.as_of = now;
  view.pods = pending.Count();
  view.not_looked_at = pending.not_looked_at;
  for (const whatif::PendingReason& reason : pending.reasons) {
    for (const whatif::PendingOfOwner& owner : reason.owners) {
      PendingClass of;
      of.owner = owner.owner;
      of.count = owner.count;
      of.oldest = now - owner.waits_for;
      of.sample = owner.longest;
      of.state = ToString(reason.state);
      of.message = reason.refusal.message.empty() ? reason.reason : reason.refusal.message;
      for (const whatif::RefusalReason& why : reason.refusal.reasons)
        of.reasons.push_back({why.plugin, why.reason, why.node_count});
      if (reason.state == whatif::PodState::kRefused) of.nodes = state.nodes.size();
      of.waits_for = reason.woken_by;
      if (const auto pod = by_key.find(owner.owner.namespace_name + "/" + owner.longest); pod != by_key.end()) {
        of.scheduler = pod->second->spec.scheduler_name;
        of.group = pod->second->spec.pod_group_name;
        of.oldest = pod->second->metadata.creation_time.value_or(of.oldest);
      }
      view.classes.push_back(std::move(of));
    }
  }
  SortAndBound(view);
  return view;
}

object PendingJson(const PendingView& view, bool with_time) {
  array classes;
  for (const PendingClass& of : view.classes) classes.push_back(ClassJson(of));
  object json{{"by", view.by}, {"pods", view.pods}, {"notLookedAt", view.not_looked_at}};
  if (with_time) json["asOf"] = FormatRfc3339Micro(view.as_of);
  json["summary"] = SummaryJson(view.classes);
  json["classes"] = std::move(classes);
  return json;
}

}  // namespace berth::page
