// SPDX-License-Identifier: Apache-2.0
#include "berth/core/queue/rejectors.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "berth/core/queue/entry.h"
#include "berth/core/queue/large_pods.h"
#include "berth/framework/guarded.h"

namespace berth::queue {
namespace {

using framework::ClusterEvent;
using framework::QueueingHint;

// Capacity above which an empty set frees the memory of its waiting lists.
constexpr std::size_t kClassesKept = 1024;

constexpr std::uint32_t kNoProfile = std::numeric_limits<std::uint32_t>::max();

bool Has(const std::vector<PluginId>& sorted, PluginId id) { return std::ranges::binary_search(sorted, id); }

HintUse::Answer Ask(const framework::QueueingHintFn& hint, const framework::PodInfo& pod,
                    const framework::EventObjects& event) {
  QueueingHint said = QueueingHint::kQueue;
  if (!hint) return HintUse::kQueue;
  const framework::Status failed = framework::GuardedCall([&] { said = hint(pod, event); });
  if (!failed.IsSuccess()) return HintUse::kError;
  return said == QueueingHint::kSkip ? HintUse::kSkip : HintUse::kQueue;
}

}  // namespace

void RejectorSet::Link(Entry* entry) {
  const framework::PodClass* const pod_class = entry->info.pod->pod_class.get();
  const auto [at, is_new] = waiting_of_class.try_emplace(pod_class, waiting.size());
  if (is_new) waiting.push_back({pod_class, nullptr});
  Entry*& first = waiting[at->second].first;
  entry->earlier = nullptr;
  entry->later = first;
  if (first != nullptr) first->earlier = entry;
  first = entry;
}

void RejectorSet::Unlink(Entry* entry) {
  if (entry->later != nullptr) entry->later->earlier = entry->earlier;
  Entry* const later = std::exchange(entry->later, nullptr);
  if (Entry* const earlier = std::exchange(entry->earlier, nullptr)) {
    earlier->later = later;
    return;
  }
  const auto at = waiting_of_class.find(entry->info.pod->pod_class.get());
  const std::size_t position = at->second;
  waiting[position].first = later;
  if (later != nullptr) return;
  waiting_of_class.erase(at);
  if (position + 1 < waiting.size()) {
    waiting[position] = waiting.back();
    waiting_of_class[waiting[position].pod_class] = position;
  }
  waiting.pop_back();
  if (!waiting.empty() || waiting.capacity() <= kClassesKept) return;
  waiting = {};
  waiting_of_class = {};
}

Rejectors::Rejectors(absl::flat_hash_map<std::string, ProfileHooks> profiles, bool wildcards_reach_gates)
    : wildcards_reach_gates_(wildcards_reach_gates) {
  // Sorted by name, so that ids do not depend on the hash table's order.
  std::map<std::string, ProfileHooks> ordered(std::make_move_iterator(profiles.begin()),
                                              std::make_move_iterator(profiles.end()));
  for (auto& [name, hooks] : ordered) {
    auto profile = std::make_unique<Profile>();
    profile->id = static_cast<std::uint32_t>(profiles_.size());
    profile->hooks = std::move(hooks);
    for (const framework::PreEnqueuePlugin* plugin : profile->hooks.pre_enqueue) {
      profile->pre_enqueue_ids.push_back(InternPlugin(plugin->Name()));
    }
    for (const Registration& registration : profile->hooks.events) {
      const PluginId id = InternPlugin(registration.plugin);
      profile->event_ids.push_back(id);
      events_by_plugin_[id].push_back(registration.event.event);
    }
    profile_by_name_.emplace(name, profile.get());
    profiles_.push_back(std::move(profile));
  }
}

const Profile* Rejectors::FindProfile(std::string_view scheduler_name) const {
  if (latest_profile_ != nullptr && latest_name_ == scheduler_name) return latest_profile_;
  const auto profile = profile_by_name_.find(scheduler_name);
  if (profile == profile_by_name_.end()) return nullptr;
  latest_name_ = scheduler_name;
  return latest_profile_ = profile->second;
}

PluginId Rejectors::InternPlugin(std::string_view name) {
  if (const auto known = plugin_by_name_.find(name); known != plugin_by_name_.end()) return known->second;
  const auto id = static_cast<PluginId>(plugin_names_.size());
  plugin_names_.emplace_back(name);
  plugin_by_name_.emplace(name, id);
  return id;
}

RejectorSet* Rejectors::Intern(const Profile* profile, const std::set<std::string>& unschedulable,
                               const std::set<std::string>& pending) {
  if (unschedulable.empty() && pending.empty()) return nullptr;
  key_.assign(
      {profile == nullptr ? kNoProfile : profile->id, kNoPlugin, static_cast<std::uint32_t>(unschedulable.size())});
  for (const std::string& name : unschedulable) key_.push_back(InternPlugin(name));
  for (const std::string& name : pending) key_.push_back(InternPlugin(name));
  return InternKey();
}

RejectorSet* Rejectors::WithGate(const Profile* profile, const RejectorSet* set, PluginId plugin) {
  key_.assign({profile == nullptr ? kNoProfile : profile->id, plugin, 0});
  if (set != nullptr) key_.insert(key_.end(), set->unschedulable.begin(), set->unschedulable.end());
  if (plugin != kNoPlugin && (set == nullptr || !Has(set->unschedulable, plugin))) key_.push_back(plugin);
  key_[2] = static_cast<std::uint32_t>(key_.size() - 3);
  if (set != nullptr) key_.insert(key_.end(), set->pending.begin(), set->pending.end());
  return key_.size() == 3 ? nullptr : InternKey();
}

RejectorSet* Rejectors::InternKey() {
  const auto unschedulable = std::span(key_).subspan(3, key_[2]);
  const auto pending = std::span(key_).subspan(3 + key_[2]);
  std::ranges::sort(unschedulable);
  std::ranges::sort(pending);
  if (const auto known = sets_.find(key_); known != sets_.end()) return known->second.get();
  auto set = std::make_unique<RejectorSet>();
  if (key_[0] != kNoProfile) set->profile = profiles_[key_[0]].get();
  set->gating = key_[1];
  set->unschedulable.assign(unschedulable.begin(), unschedulable.end());
  set->pending.assign(pending.begin(), pending.end());
  set->flushes = !set->is_gated() || GateWants(set->gating, ClusterEvent());
  return sets_.emplace(key_, std::move(set)).first->second.get();
}

bool Rejectors::GateWants(PluginId gating, const ClusterEvent& event) const {
  if (wildcards_reach_gates_ && event.IsWildcard()) return true;
  const auto events = events_by_plugin_.find(gating);
  return events != events_by_plugin_.end() &&
         std::ranges::any_of(events->second, [&event](const ClusterEvent& registered) {
           return ClusterEvent::Matches(registered, event);
         });
}

EventId Rejectors::InternEvent(const ClusterEvent& event) {
  const std::uint64_t key = (static_cast<std::uint64_t>(event.resource) << 32) | event.actions;
  if (const auto known = event_ids_.find(key); known != event_ids_.end()) return known->second;
  const auto id = static_cast<EventId>(events_.size());
  bool is_of_interest = event.IsWildcard();
  for (const auto& [plugin, events] : events_by_plugin_) is_of_interest |= GateWants(plugin, event);
  events_.push_back({event, is_of_interest});
  event_ids_.emplace(key, id);
  return id;
}

const Relevance& Rejectors::RelevanceOf(RejectorSet& set, EventId event) {
  if (event >= set.relevance.size()) set.relevance.resize(event + 1);
  std::unique_ptr<Relevance>& slot = set.relevance[event];
  if (slot != nullptr) return *slot;
  slot = std::make_unique<Relevance>();
  const ClusterEvent& incoming = events_[event].event;
  slot->reaches_gate = !set.is_gated() || GateWants(set.gating, incoming);
  if (set.profile == nullptr) return *slot;
  const std::vector<Registration>& registrations = set.profile->hooks.events;
  for (std::size_t i = 0; i < registrations.size(); ++i) {
    const PluginId plugin = set.profile->event_ids[i];
    const bool is_pending = Has(set.pending, plugin);
    if (!is_pending && !Has(set.unschedulable, plugin)) continue;
    if (!ClusterEvent::Matches(registrations[i].event.event, incoming)) continue;
    const framework::ClusterEventWithHint& registered = registrations[i].event;
    const bool is_of_class = !registered.hint || registered.is_hint_of_class;
    slot->matches.push_back({&registered.hint, is_pending, is_of_class, UseOf(plugin, event)});
    slot->is_of_class &= is_of_class;
    slot->is_of_pod_group = registered.is_hint_of_pod_group && (slot->matches.size() == 1 || slot->is_of_pod_group);
  }
  // The order does not change the answer, but finds it sooner.
  std::ranges::sort(slot->matches, {}, [](const Relevance::Match& match) {
    return std::tuple(!match.is_pending, static_cast<bool>(*match.hint), match.hint);
  });
  return *slot;
}

HintUse* Rejectors::UseOf(PluginId plugin, EventId event) {
  std::unique_ptr<HintUse>& use = hint_uses_[(static_cast<std::uint64_t>(plugin) << 32) | event];
  if (use == nullptr) use = std::make_unique<HintUse>(HintUse{.plugin = plugin, .event = event});
  return use.get();
}

// Returns whether the hint says that the event may help the pod. A hint that fails counts as true, or the pod could be
// stranded.
bool Rejectors::AskHint(const Relevance::Match& match, const framework::PodInfo& pod,
                        const framework::EventObjects& event) {
  if (stopwatch_ == nullptr) return Ask(*match.hint, pod, event) != HintUse::kSkip;
  if (used_hints_.empty()) hints_began_ = stopwatch_->Read();
  const HintUse::Answer answer = Ask(*match.hint, pod, event);
  if (match.use->total() == 0) used_hints_.push_back(match.use);
  ++match.use->counts[answer];
  return answer != HintUse::kSkip;
}

Strategy Rejectors::IsWorthRequeuing(const framework::PodInfo& pod, RejectorSet& set, EventId event,
                                     const EventSource& source) {
  if (events_[event].event.IsWildcard()) {
    // A wildcard event with an object is meant for that pod only.
    const bool has_object = source.new_pod != nullptr || source.new_node != nullptr;
    const bool is_own = source.new_pod != nullptr && source.new_pod->uid == pod.uid;
    return has_object && !is_own ? Strategy::kSkip : Strategy::kAfterBackoff;
  }
  // Without a profile no plugin can say what helps the pod.
  if (set.profile == nullptr) return Strategy::kAfterBackoff;
  const framework::EventObjects objects = source.View();
  std::optional<bool> is_large;
  for (const Relevance::Match& match : RelevanceOf(set, event).matches) {
    // A hint would look at each of the thousands of things that a large pod asks for.
    if (*match.hint && !is_large) is_large = IsLarge(*pod.pod_class);
    if (!is_large.value_or(false) && !AskHint(match, pod, objects)) continue;
    return match.is_pending ? Strategy::kImmediately : Strategy::kAfterBackoff;
  }
  return Strategy::kSkip;
}

std::string Rejectors::DescribeRescue(RejectorSet& set, Time now) const {
  constexpr Duration kInterval = std::chrono::minutes(1);
  if (set.rescue_logged && now - *set.rescue_logged < kInterval) return {};
  set.rescue_logged = now;
  std::string text;
  for (const std::vector<PluginId>* const ids : {&set.unschedulable, &set.pending}) {
    for (const PluginId id : *ids) {
      text.append(text.empty() ? "" : "; ").append(PluginName(id)).append(": ");
      const auto events = events_by_plugin_.find(id);
      if (events == events_by_plugin_.end() || events->second.empty()) {
        text += "no event";
        continue;
      }
      for (std::size_t i = 0; i < events->second.size(); ++i)
        text.append(i == 0 ? "" : ", ").append(events->second[i].Label(true));
    }
  }
  return text;
}

}  // namespace berth::queue
