// SPDX-License-Identifier: Apache-2.0
#include "berth/rebalance/move_ledger.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "berth/base/hash_map.h"
#include "berth/codec/json.h"
#include "berth/rebalance/workloads.h"

namespace berth::rebalance {
namespace {

using State = MoveRecord::State;
using Kind = MoveChange::Kind;

constexpr std::size_t kBytesMax = std::size_t{4} << 20;
constexpr std::int64_t kVersion = 1;

struct StateName {
  State state;
  std::string_view name;
};
constexpr std::array kStateNames = {StateName{State::kIntended, "Intended"}, StateName{State::kEvicted, "Evicted"},
                                    StateName{State::kSettled, "Settled"}, StateName{State::kNotPlaced, "NotPlaced"}};

std::string_view StateText(State state) { return std::ranges::find(kStateNames, state, &StateName::state)->name; }

// --- The text --------------------------------------------------------------------------------------------------------

codec::json::object ToJson(const MoveRecord& record) {
  codec::json::array ties;
  for (const std::string& node : record.ties) ties.emplace_back(node);
  return {{"pod", record.key},
          {"uid", record.uid},
          {"workload", record.workload},
          {"from", record.from},
          {"to", record.to},
          {"ties", std::move(ties)},
          {"hasMoreTies", record.has_more_ties},
          {"strategy", record.strategy},
          {"at", FormatRfc3339Micro(record.at)},
          {"newest", FormatRfc3339Micro(record.newest)},
          {"state", StateText(record.state)},
          {"replacement", record.replacement_uid}};
}

// Reads members that must be there.
class RecordReader {
 public:
  explicit RecordReader(const codec::json::object& object) : object_(object) {}

  std::string Text(std::string_view key) {
    const codec::json::value* const value = object_.if_contains(key);
    if (value != nullptr && value->is_string()) return std::string(value->get_string());
    is_whole_ = false;
    return {};
  }
  std::vector<std::string> Texts(std::string_view key) {
    std::vector<std::string> texts;
    const codec::json::value* const value = object_.if_contains(key);
    is_whole_ = is_whole_ && value != nullptr && value->is_array();
    if (!is_whole_) return texts;
    for (const codec::json::value& item : value->get_array()) {
      is_whole_ = is_whole_ && item.is_string();
      if (item.is_string()) texts.emplace_back(item.get_string());
    }
    return texts;
  }
  bool Truth(std::string_view key) {
    const codec::json::value* const value = object_.if_contains(key);
    is_whole_ = is_whole_ && value != nullptr && value->is_bool();
    return is_whole_ && value->get_bool();
  }
  Time TimeOf(std::string_view key) {
    const auto time = ParseRfc3339(Text(key));
    is_whole_ = is_whole_ && time.has_value();
    return time.value_or(Time{});
  }
  State StateOf(std::string_view key) {
    const std::string name = Text(key);
    const auto* const found = std::ranges::find(kStateNames, name, &StateName::name);
    is_whole_ = is_whole_ && found != kStateNames.end();
    return found == kStateNames.end() ? State::kIntended : found->state;
  }
  bool is_whole() const { return is_whole_; }

 private:
  const codec::json::object& object_;
  bool is_whole_ = true;
};

std::optional<MoveRecord> FromJson(const codec::json::value& value) {
  if (!value.is_object()) return std::nullopt;
  RecordReader reader(value.get_object());
  MoveRecord record;
  record.key = reader.Text("pod");
  record.uid = reader.Text("uid");
  record.workload = reader.Text("workload");
  record.from = reader.Text("from");
  record.to = reader.Text("to");
  record.ties = reader.Texts("ties");
  record.has_more_ties = reader.Truth("hasMoreTies");
  record.strategy = reader.Text("strategy");
  record.at = reader.TimeOf("at");
  record.newest = reader.TimeOf("newest");
  record.state = reader.StateOf("state");
  record.replacement_uid = reader.Text("replacement");
  return reader.is_whole() ? std::optional(record) : std::nullopt;
}

// --- A look at the cluster -------------------------------------------------------------------------------------------

struct SeenPod {
  const api::Pod* pod = nullptr;
  bool is_ready = false;
};

class Sight {
 public:
  Sight(const whatif::ClusterState& state, const std::vector<MoveRecord>& records) {
    for (const MoveRecord& record : records) of_workload_[record.workload];
    const Workloads workloads(state);
    for (std::size_t i = 0; i < state.pods.size(); ++i) {
      const api::Pod& pod = *state.pods[i];
      const SeenPod seen{&pod, IsReady(*state.pod_details[i])};
      by_uid_[pod.metadata.uid] = seen;
      if (const auto at = of_workload_.find(workloads.Of(pod)); at != of_workload_.end()) at->second.push_back(seen);
    }
    for (const auto& pod : state.finished_pods) by_uid_[pod->metadata.uid] = {pod.get(), false};
  }

  const SeenPod* Find(const std::string& uid) const {
    const auto at = by_uid_.find(uid);
    return at == by_uid_.end() ? nullptr : &at->second;
  }
  // The pod exists and is not being deleted.
  bool IsAlive(const std::string& uid) const {
    const SeenPod* const seen = Find(uid);
    return seen != nullptr && !seen->pod->metadata.deletion_time;
  }
  const std::vector<SeenPod>& Of(const std::string& workload) const { return of_workload_.find(workload)->second; }

 private:
  StringHashMap<SeenPod> by_uid_;
  StringHashMap<std::vector<SeenPod>> of_workload_;  // those with records, and pods that are not finished
};

bool IsAsProved(const MoveRecord& record, const std::string& node) {
  return node == record.to || std::ranges::find(record.ties, node) != record.ties.end() ||
         (record.has_more_ties && node != record.from);
}

// "web-1" of "default/web-1".
std::string_view PodName(const MoveRecord& record) {
  return std::string_view(record.key).substr(record.key.find('/') + 1);
}

bool IsNew(const MoveRecord& record, const api::Pod& pod) {
  if (pod.metadata.deletion_time || pod.metadata.uid == record.uid) return false;
  if (record.siblings != nullptr) return !record.siblings->contains(pod.metadata.uid);
  // A StatefulSet makes the new pod under the same name. For other owners creation times are compared, which are of one
  // clock; a pod of the same second may be a sibling.
  return pod.metadata.name == PodName(record) || pod.metadata.creation_time.value_or(Time{}) > record.newest;
}

// The pod that replaces the record's; null: there is none yet. `claimed`: the replacements of other records.
const SeenPod* FindReplacement(const MoveRecord& record, const Sight& sight, const std::set<std::string>& claimed) {
  const std::string_view name = PodName(record);
  const auto rank = [&](const SeenPod& seen) {
    const api::Pod& pod = *seen.pod;
    return std::tuple(pod.spec.node_name != record.to, pod.metadata.name != name, pod.spec.node_name.empty(),
                      pod.metadata.creation_time.value_or(Time{}), std::string_view(pod.metadata.uid));
  };
  const SeenPod* best = nullptr;
  for (const SeenPod& seen : sight.Of(record.workload)) {
    if (!IsNew(record, *seen.pod) || claimed.contains(seen.pod->metadata.uid)) continue;
    if (best == nullptr || rank(seen) < rank(*best)) best = &seen;
  }
  return best;
}

}  // namespace

std::string_view ToString(MoveChange::Kind kind) {
  switch (kind) {
    case Kind::kFoundEvicted: return "found_evicted";
    case Kind::kNotEvicted: return "not_evicted";
    case Kind::kAsProved: return "as_proved";
    case Kind::kElsewhere: return "elsewhere";
    case Kind::kGone: return "gone";
    case Kind::kNotPlaced: return "not_placed";
  }
  return "";
}

Expected<MoveLedger> MoveLedger::Parse(std::string_view text) {
  MoveLedger ledger;
  if (text.empty()) return ledger;
  BERTH_ASSIGN_OR_RETURN(const codec::json::value document, codec::ParseJson(text, {.bytes_max = kBytesMax}));
  const codec::json::object* const object = document.if_object();
  const codec::json::value* const version = object == nullptr ? nullptr : object->if_contains("version");
  if (version == nullptr || *version != kVersion) return InvalidError("it has no version that this berth knows");
  const codec::json::value* const moves = object->if_contains("moves");
  if (moves == nullptr || !moves->is_array()) return InvalidError("it has no list of moves");
  if (moves->get_array().size() > kRecordsMax)
    return InvalidError("it has more than " + std::to_string(kRecordsMax) + " moves");
  for (const codec::json::value& move : moves->get_array()) {
    auto record = FromJson(move);
    if (!record) return InvalidError("moves[" + std::to_string(ledger.records_.size()) + "] is not whole");
    ledger.records_.push_back(std::move(*record));
  }
  return ledger;
}

std::string MoveLedger::Text() const {
  codec::json::array moves;
  for (const MoveRecord& record : records_) moves.push_back(ToJson(record));
  return codec::WriteJson(codec::json::object{{"version", kVersion}, {"moves", std::move(moves)}});
}

void MoveLedger::SetEvicted(const std::string& uid) {
  for (MoveRecord& record : records_) {
    if (record.uid == uid) record.state = State::kEvicted;
  }
}

void MoveLedger::Remove(const std::string& uid) {
  std::erase_if(records_, [&](const MoveRecord& record) { return record.uid == uid; });
}

std::vector<MoveChange> MoveLedger::Observe(const whatif::ClusterState& state, Time now, Duration placement_max) {
  std::vector<MoveChange> changes;
  const Sight sight(state, records_);

  std::erase_if(records_, [&](const MoveRecord& record) {
    const bool is_over = record.state == State::kSettled || record.state == State::kNotPlaced;
    if (is_over) return now - record.at >= kMemory;
    if (!sight.IsAlive(record.uid)) return false;
    changes.push_back({Kind::kNotEvicted, record, record.from});
    return true;
  });

  std::set<std::string> claimed;
  for (MoveRecord& record : records_) {
    if (record.state == State::kIntended) {
      record.state = State::kEvicted;
      changes.push_back({Kind::kFoundEvicted, record, {}});
    }
    // The replacement may be gone again: then there is another one, or will be.
    if (record.state != State::kSettled && !sight.IsAlive(record.replacement_uid)) record.replacement_uid.clear();
    if (!record.replacement_uid.empty()) claimed.insert(record.replacement_uid);
  }

  for (MoveRecord& record : records_) {
    if (record.state == State::kSettled) continue;
    if (record.to.empty()) {
      record.state = State::kSettled;
      changes.push_back({Kind::kGone, record, {}});
      continue;
    }
    const SeenPod* replacement = sight.Find(record.replacement_uid);
    // A replacement without a node may turn out to be another record's once it has one.
    if (replacement == nullptr || replacement->pod->spec.node_name.empty()) {
      claimed.erase(record.replacement_uid);
      replacement = FindReplacement(record, sight, claimed);
    }
    record.replacement_uid = replacement == nullptr ? "" : replacement->pod->metadata.uid;
    if (replacement != nullptr) claimed.insert(record.replacement_uid);
    const std::string node = replacement == nullptr ? "" : replacement->pod->spec.node_name;
    if (replacement != nullptr && replacement->is_ready && !node.empty()) {
      record.state = State::kSettled;
      changes.push_back({IsAsProved(record, node) ? Kind::kAsProved : Kind::kElsewhere, record, node});
    } else if (record.state == State::kEvicted && now - record.at >= placement_max) {
      record.state = State::kNotPlaced;
      changes.push_back({Kind::kNotPlaced, record, node});
    }
  }
  return changes;
}

}  // namespace berth::rebalance
