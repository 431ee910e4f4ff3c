// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/simulate_question.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "berth/answers/page.h"
#include "berth/answers/simulation_answer.h"
#include "berth/ask/question_fields.h"
#include "berth/whatif/placement.h"
#include "berth/whatif/pod_group_warnings.h"
#include "berth/whatif/replacement.h"
#include "berth/whatif/simulation.h"

namespace berth::ask {

using codec::json::array, codec::json::object, codec::json::value;

namespace {

std::string TextOf(const whatif::Workload& workload) {
  return workload.kind + " " + workload.namespace_name + "/" + workload.name;
}

Reply ReplyOf(whatif::Simulation found, std::vector<std::string> left_out, bool is_about_waiting) {
  Reply reply;
  reply.document = answers::SimulationJson(found, left_out);
  const std::size_t left = is_about_waiting ? found.WaitingCount() : found.PendingCount();
  reply.verdict = left == 0 ? Verdict::kYes : Verdict::kNo;
  const auto simulation = std::make_shared<const whatif::Simulation>(std::move(found));
  reply.text = [simulation](const TextStyle& style) {
    const std::size_t without_terminal = style.is_wide ? 0 : answers::kAnswerColumns;
    return answers::SimulationText(
        *simulation, {style.is_wide, style.has_color, style.columns > 0 ? style.columns : without_terminal});
  };
  return reply;
}

}  // namespace

Expected<std::vector<MoreReplicas>> ReplicasIn(const object& of) {
  std::vector<MoreReplicas> all;
  const value* const found = of.if_contains("replicas");
  if (found == nullptr) return all;
  if (!found->is_array()) return WrongField("replicas", "an array of objects");
  for (const value& one : found->as_array()) {
    if (!one.is_object()) return WrongField("replicas", "an array of objects");
    MoreReplicas more;
    BERTH_ASSIGN_OR_RETURN(more.workload.kind, TextIn(one.as_object(), "kind"));
    BERTH_ASSIGN_OR_RETURN(more.workload.namespace_name, TextIn(one.as_object(), "namespace"));
    BERTH_ASSIGN_OR_RETURN(more.workload.name, TextIn(one.as_object(), "name"));
    BERTH_ASSIGN_OR_RETURN(more.add, NumberIn(one.as_object(), "add", 0, MoreReplicas::kAddMax));
    all.push_back(std::move(more));
  }
  return all;
}

Expected<void> AddReplicas(const whatif::ClusterState& state, const whatif::PodIndex* index, const MoreReplicas& more,
                           whatif::Additions& additions) {
  const whatif::PodPtrs& pods = index == nullptr ? state.pods : index->PodsOf(more.workload);
  const auto sample =
      std::ranges::find_if(pods, [&](const auto& pod) { return whatif::WorkloadOf(*pod) == more.workload; });
  if (sample == pods.end())
    return InvalidError("replicas: the cluster has no pod of " + TextOf(more.workload) + " that others could be like");
  for (std::size_t i = 1; i <= more.add; ++i) {
    const std::string name = more.workload.name + "-more-" + std::to_string(i);
    api::Pod pod = whatif::AsNew(**sample, "page-" + TextOf(more.workload) + "-" + std::to_string(i));
    pod.metadata.name = name;
    additions.pods.emplace_back(std::make_shared<const api::Pod>(std::move(pod)));
  }
  return {};
}

Expected<SimulateQuestion> SimulateQuestion::Parse(const object& body) {
  BERTH_RETURN_IF_ERROR(
      CheckFields(body, {"manifests", "files", "namespace", "addNodes", "nodeLike", "removeNodes", "replicas"}));
  SimulateQuestion question;
  BERTH_ASSIGN_OR_RETURN(question.files, ManifestsIn(body));
  BERTH_ASSIGN_OR_RETURN(const std::string namespace_name, TextIn(body, "namespace"));
  if (!namespace_name.empty()) question.namespace_name = namespace_name;
  BERTH_ASSIGN_OR_RETURN(question.add_nodes, NumberIn(body, "addNodes", 0, whatif::kNodeCopiesMax));
  BERTH_ASSIGN_OR_RETURN(question.node_like, TextIn(body, "nodeLike"));
  BERTH_ASSIGN_OR_RETURN(question.remove_nodes, TextsIn(body, "removeNodes"));
  BERTH_ASSIGN_OR_RETURN(question.replicas, ReplicasIn(body));
  if (question.add_nodes > 0 && question.node_like.empty())
    return InvalidError("nodeLike should name the node that the added ones are like");
  return question;
}

object SimulateQuestion::ToJson() const {
  object json{{"files", FilesJson(files)}, {"namespace", namespace_name}};
  if (add_nodes > 0) {
    json["addNodes"] = add_nodes;
    json["nodeLike"] = node_like;
  }
  if (!remove_nodes.empty()) json["removeNodes"] = array(remove_nodes.begin(), remove_nodes.end());
  array more;
  for (const MoreReplicas& each : replicas) {
    more.push_back(object{{"kind", each.workload.kind},
                          {"namespace", each.workload.namespace_name},
                          {"name", each.workload.name},
                          {"add", each.add}});
  }
  if (!more.empty()) json["replicas"] = std::move(more);
  return json;
}

Expected<Reply> Answer(const SimulateQuestion& question, const AskLimits& limits, AskedCluster& cluster) {
  BERTH_ASSIGN_OR_RETURN(whatif::Manifests manifests, whatif::ReadManifests(question.files, question.namespace_name));
  const bool has_more = question.add_nodes > 0 || !question.remove_nodes.empty() || !question.replicas.empty();
  // By another configuration these are a question, too.
  const bool is_about_waiting = question.files.empty() && !has_more;
  if (is_about_waiting && !cluster.HasOwnConfiguration())
    return InvalidError("nothing to simulate: want manifests, replicas, addNodes, removeNodes or a configuration");
  if (manifests.documents.empty() && !has_more && !is_about_waiting)
    return InvalidError("nothing to simulate: the files have no object that makes pods, nodes or volumes");
  if (question.add_nodes > limits.node_copies_max)
    return InvalidError("addNodes should be at most " + std::to_string(limits.node_copies_max));
  const whatif::ClusterState& state = cluster.state();
  whatif::AdditionOptions adding;
  adding.now = state.read_at;
  adding.removed_nodes = {question.remove_nodes.begin(), question.remove_nodes.end()};
  adding.node_copies = question.add_nodes;
  adding.node_like = question.node_like;
  adding.pods_max = limits.added_pods_max;
  adding.index = cluster.index();
  auto additions = whatif::MakeAdditions(manifests, state, adding);
  if (!additions.ok()) return OfQuestion(additions.error());
  for (const MoreReplicas& more : question.replicas)
    BERTH_RETURN_IF_ERROR(AddReplicas(state, cluster.index(), more, *additions));
  if (additions->pods.size() > limits.added_pods_max)
    return Error{ErrorCode::kTooLarge, "more than " + std::to_string(limits.added_pods_max) + " pods in all"};
  if (const auto known = whatif::CheckNodes(state, question.remove_nodes); !known.ok())
    return OfQuestion(known.error());
  std::optional<whatif::Simulation> simulation;
  std::vector<std::string> warnings = manifests.left_out;
  BERTH_RETURN_IF_ERROR(cluster.Try(additions->Models(), [&](whatif::OfflineCluster& core) -> Expected<void> {
    for (std::string& line : whatif::PodGroupWarnings(manifests, core.options().configuration.release))
      warnings.push_back(std::move(line));
    simulation = whatif::SimulateOn({state, *additions, question.remove_nodes, cluster.index()}, core);
    return {};
  }));
  Reply reply = ReplyOf(*std::move(simulation), manifests.left_out, is_about_waiting);
  reply.warnings = cluster.TakeNotes();
  reply.warnings.insert(reply.warnings.end(), warnings.begin(), warnings.end());
  return reply;
}

}  // namespace berth::ask
