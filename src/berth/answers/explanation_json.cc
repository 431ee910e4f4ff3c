// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/explanation_json.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/answers/answer_text.h"
#include "berth/base/time.h"

namespace berth::answers {
namespace {

namespace json = codec::json;
using whatif::Change, whatif::ChangeKind, whatif::ChangeSearch, whatif::Explanation, whatif::FunnelStep,
    whatif::NodeScore, whatif::NodeVerdict, whatif::PodState, whatif::Refusal;
using whatif::LiveRecord, whatif::QueueStanding;

std::string_view ToString(queue::Place place) {
  switch (place) {
    case queue::Place::kActive: return "Active";
    case queue::Place::kBackoff: return "Backoff";
    case queue::Place::kErrorBackoff: return "ErrorBackoff";
    case queue::Place::kUnschedulable: return "Unschedulable";
    case queue::Place::kGated: return "Gated";
    case queue::Place::kInFlight: return "InFlight";
  }
  return "";
}

json::object NodeJson(const NodeVerdict& verdict) {
  json::object node{{"name", verdict.node}};
  if (!verdict.refusals.empty()) {
    json::array& refusals = node["refusals"].emplace_array();
    for (const Refusal& refusal : verdict.refusals) {
      refusals.push_back(
          json::object{{"plugin", refusal.plugin}, {"reason", refusal.reason}, {"resolvable", refusal.is_resolvable}});
    }
    return node;
  }
  node["total"] = verdict.total;
  json::array& scores = node["scores"].emplace_array();
  for (const NodeScore& score : verdict.scores) {
    scores.push_back(json::object{{"plugin", score.plugin},
                                  {"raw", score.raw},
                                  {"normalized", score.normalized},
                                  {"weight", score.weight},
                                  {"weighted", score.weighted()}});
  }
  return node;
}

json::object LiveJson(const LiveRecord& live) {
  json::object out{{"askedAt", FormatRfc3339Micro(live.asked_at)}, {"decisionsKept", live.decisions_max}};
  if (live.decision) {
    const scheduler::Decision& kept = *live.decision;
    // As text: a seed has more digits than a number has in JavaScript.
    json::object& decision = out["decision"].emplace_object();
    decision = {{"time", FormatRfc3339Micro(kept.time)},
                {"cycle", kept.cycle},
                {"seed", std::to_string(kept.seed)},
                {"attempt", kept.attempt},
                {"node", kept.node_name},
                {"total", kept.total},
                {"nodeCount", kept.node_count},
                {"feasibleCount", kept.feasible_count},
                {"message", kept.message}};
    json::array& refusals = decision["refusals"].emplace_array();
    for (const auto& [status, nodes] : kept.refusals)
      refusals.push_back(json::object{{"plugin", status.plugin()}, {"reason", status.Message()}, {"nodes", nodes}});
  }
  if (live.queue) {
    json::object& queue = out["queue"].emplace_object();
    queue["place"] = ToString(live.queue->place);
    if (live.queue->backoff_until) queue["backoffUntil"] = FormatRfc3339Micro(*live.queue->backoff_until);
    queue["refusedBy"] = NamesJson(live.queue->refused_by);
    queue["wokenBy"] = NamesJson(live.queue->woken_by);
  }
  out["notAsked"] = NamesJson(live.not_asked);
  return out;
}

// Reads the members of an object. `problem` names the first one that has another type; all others are read.
class ExplanationFields {
 public:
  // `path` is that of the object, with a dot behind it, or empty.
  ExplanationFields(const json::value& value, std::string path, std::string& problem)
      : object_(value.if_object()), path_(std::move(path)), problem_(problem) {
    if (object_ == nullptr && !value.is_null()) Expect(path_.substr(0, path_.rfind('.')), "an object");
  }

  bool Has(std::string_view name) const { return object_ != nullptr && object_->contains(name); }
  std::string Text(std::string_view name) const {
    const json::value* const value = Find(name);
    if (value == nullptr) return "";
    if (const json::string* const text = value->if_string()) return std::string(*text);
    Expect(path_ + std::string(name), "a text");
    return "";
  }
  template <typename Number = std::size_t>
  Number Count(std::string_view name) const {
    const json::value* const value = Find(name);
    if (value == nullptr) return 0;
    boost::system::error_code failure;
    const auto number = value->to_number<Number>(failure);
    if (!failure) return number;
    Expect(path_ + std::string(name), "a number");
    return 0;
  }
  bool Flag(std::string_view name) const {
    const json::value* const value = Find(name);
    if (value == nullptr) return false;
    if (const bool* const flag = value->if_bool()) return *flag;
    Expect(path_ + std::string(name), "true or false");
    return false;
  }
  std::optional<Time> At(std::string_view name) const {
    if (!Has(name)) return std::nullopt;
    const std::optional<Time> time = ParseRfc3339(Text(name));
    if (!time) Expect(path_ + std::string(name), "a time");
    return time;
  }
  std::vector<std::string> Texts(std::string_view name) const {
    std::vector<std::string> texts;
    EachValue(name, [&](const json::value& value, const std::string& path) {
      if (const json::string* const text = value.if_string()) {
        texts.emplace_back(*text);
      } else {
        Expect(path, "a text");
      }
    });
    return texts;
  }
  ExplanationFields Object(std::string_view name) const {
    static const json::value nothing;
    const json::value* const value = Find(name);
    return {value == nullptr ? nothing : *value, path_ + std::string(name) + ".", problem_};
  }
  // `read` gets the fields of each element of the array.
  template <typename Read>
  void Each(std::string_view name, Read&& read) const {
    EachValue(name, [&](const json::value& value, const std::string& path) {
      read(ExplanationFields(value, path + ".", problem_));
    });
  }
  // The value, up to `last`, whose name by ToString() the member has; Value{} and a problem when there is none.
  template <typename Value>
  Value OneOf(std::string_view name, Value last) const {
    const std::string text = Text(name);
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      if (ToString(static_cast<Value>(i)) == text) return static_cast<Value>(i);
    }
    Expect(path_ + std::string(name), "one of those that this version knows");
    return Value{};
  }

 private:
  const json::value* Find(std::string_view name) const {
    return object_ == nullptr ? nullptr : object_->if_contains(name);
  }
  void Expect(const std::string& path, std::string_view what) const {
    if (problem_.empty()) problem_ = (path.empty() ? "the answer" : path) + " should be " + std::string(what);
  }
  template <typename Visit>
  void EachValue(std::string_view name, Visit&& visit) const {
    const json::value* const value = Find(name);
    if (value == nullptr) return;
    const std::string path = path_ + std::string(name);
    const json::array* const array = value->if_array();
    if (array == nullptr) return Expect(path, "a list");
    for (std::size_t i = 0; i < array->size(); ++i) visit((*array)[i], path + "[" + std::to_string(i) + "]");
  }

  const json::object* const object_;  // null: there is none
  const std::string path_;
  std::string& problem_;
};

LiveRecord ReadLive(const ExplanationFields& fields) {
  LiveRecord live;
  live.asked_at = fields.At("askedAt").value_or(Time{});
  live.decisions_max = fields.Count("decisionsKept");
  live.not_asked = fields.Texts("notAsked");
  if (fields.Has("decision")) {
    const ExplanationFields decision = fields.Object("decision");
    scheduler::Decision& kept = live.decision.emplace();
    kept.time = decision.At("time").value_or(Time{});
    kept.cycle = decision.Count<std::uint64_t>("cycle");
    const std::string seed = decision.Text("seed");
    std::from_chars(seed.data(), seed.data() + seed.size(), kept.seed);  // one that is none is 0
    kept.attempt = decision.Count<std::int32_t>("attempt");
    kept.node_name = decision.Text("node");
    kept.total = decision.Count<std::int64_t>("total");
    kept.node_count = decision.Count<std::uint32_t>("nodeCount");
    kept.feasible_count = decision.Count<std::uint32_t>("feasibleCount");
    kept.message = decision.Text("message");
    decision.Each("refusals", [&](const ExplanationFields& each) {
      kept.refusals.emplace_back(framework::Status::Unschedulable(each.Text("reason")).WithPlugin(each.Text("plugin")),
                                 each.Count("nodes"));
    });
  }
  if (fields.Has("queue")) {
    const ExplanationFields queue = fields.Object("queue");
    QueueStanding& standing = live.queue.emplace();
    standing.place = queue.OneOf("place", queue::Place::kInFlight);
    standing.backoff_until = queue.At("backoffUntil");
    standing.refused_by = queue.Texts("refusedBy");
    standing.woken_by = queue.Texts("wokenBy");
  }
  return live;
}

NodeVerdict ReadNode(const ExplanationFields& fields) {
  NodeVerdict verdict;
  verdict.node = fields.Text("name");
  fields.Each("refusals", [&](const ExplanationFields& each) {
    verdict.refusals.push_back({each.Text("plugin"), each.Text("reason"), each.Flag("resolvable")});
  });
  verdict.total = fields.Count<std::int64_t>("total");
  fields.Each("scores", [&](const ExplanationFields& each) {
    verdict.scores.push_back({each.Text("plugin"), each.Count<std::int64_t>("raw"),
                              each.Count<std::int64_t>("normalized"), each.Count<std::int64_t>("weight")});
  });
  return verdict;
}

Explanation ReadExplanation(const ExplanationFields& fields) {
  Explanation said;
  said.pod = fields.Text("pod");
  said.state = fields.OneOf("state", PodState::kFailed);
  said.scheduler_name = fields.Text("schedulerName");
  if (fields.Has("askedProfile")) said.asked_profile = fields.Text("askedProfile");
  said.node = fields.Text("node");
  said.message = fields.Text("message");
  said.condition = fields.Text("condition");
  said.node_count = fields.Count("nodeCount");
  said.feasible_count = fields.Count("feasibleCount");
  said.best_count = fields.Count("bestCount");
  said.rank = fields.Count("rank");
  fields.Each("funnel", [&](const ExplanationFields& each) {
    said.funnel.push_back({each.Text("plugin"), each.Text("reason"), each.Count("refused"), each.Count("wouldRefuse")});
  });
  if (fields.Has("changes")) {
    ChangeSearch& search = said.changes.emplace();
    search.is_complete = fields.Flag("changesComplete");
    fields.Each("changes", [&](const ExplanationFields& each) {
      search.changes.push_back({each.OneOf("kind", ChangeKind::kTogether), each.Texts("what"), each.Count("nodeCount"),
                                each.Texts("nodes")});
    });
  }
  if (fields.Has("preemption")) {
    const ExplanationFields answer = fields.Object("preemption");
    said.preemption = {answer.Text("node"), answer.Texts("victims"), answer.Count<std::int64_t>("pdbViolations"),
                       answer.Count("candidateCount"), answer.Text("whyNot")};
  }
  said.blocking_objects = fields.Texts("blockingObjects");
  said.woken_by = fields.Texts("wokenBy");
  fields.Each("nodes", [&](const ExplanationFields& each) { said.nodes.push_back(ReadNode(each)); });
  said.left_out = fields.Texts("leftOut");
  if (fields.Has("live")) said.live = ReadLive(fields.Object("live"));
  return said;
}

}  // namespace

json::value ExplanationJson(const Explanation& said, NodesInJson with_nodes) {
  json::object out{{"pod", said.pod},
                   {"state", ToString(said.state)},
                   {"schedulerName", said.scheduler_name},
                   {"node", said.node},
                   {"message", said.message},
                   {"condition", said.condition},
                   {"nodeCount", said.node_count},
                   {"feasibleCount", said.feasible_count},
                   {"bestCount", said.best_count}};
  if (said.asked_profile) out["askedProfile"] = *said.asked_profile;
  if (said.state == PodState::kPlaced) out["rank"] = said.rank;
  if (!said.blocking_objects.empty()) out["blockingObjects"] = NamesJson(said.blocking_objects);
  json::array& funnel = out["funnel"].emplace_array();
  for (const FunnelStep& step : said.funnel) {
    funnel.push_back(json::object{{"plugin", step.plugin},
                                  {"reason", step.reason},
                                  {"refused", step.refused},
                                  {"wouldRefuse", step.would_refuse}});
  }
  if (said.changes) {
    json::array& changes = out["changes"].emplace_array();
    for (const Change& change : said.changes->changes) {
      changes.push_back(json::object{{"kind", ToString(change.kind)},
                                     {"what", NamesJson(change.what)},
                                     {"nodeCount", change.node_count},
                                     {"nodes", NamesJson(change.nodes)}});
    }
    out["changesComplete"] = said.changes->is_complete;
  }
  if (said.preemption) {
    out["preemption"] = json::object{{"node", said.preemption->node},
                                     {"victims", NamesJson(said.preemption->victims)},
                                     {"pdbViolations", said.preemption->pdb_violations},
                                     {"candidateCount", said.preemption->candidate_count},
                                     {"whyNot", said.preemption->why_not}};
  }
  if (said.state == PodState::kRefused) out["wokenBy"] = NamesJson(said.woken_by);
  if (with_nodes == NodesInJson::kAll) {
    json::array& nodes = out["nodes"].emplace_array();
    for (const NodeVerdict& verdict : said.nodes) nodes.push_back(NodeJson(verdict));
  }
  if (!said.left_out.empty()) out["leftOut"] = NamesJson(said.left_out);
  if (said.live) out["live"] = LiveJson(*said.live);
  return out;
}

Expected<Explanation> ParseExplanation(const json::value& json) {
  std::string problem;
  const ExplanationFields fields(json, "", problem);
  Explanation said = ReadExplanation(fields);
  if (!problem.empty()) return InvalidError(problem);
  return said;
}

}  // namespace berth::answers
