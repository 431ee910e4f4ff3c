// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/questions.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "berth/answers/capacity_answer.h"
#include "berth/answers/drain_answer.h"
#include "berth/answers/explanation_json.h"
#include "berth/answers/explanation_text.h"
#include "berth/answers/headroom_answer.h"
#include "berth/answers/page.h"
#include "berth/answers/pending_answer.h"
#include "berth/ask/question_fields.h"
#include "berth/base/text.h"
#include "berth/whatif/capacity.h"
#include "berth/whatif/drain.h"
#include "berth/whatif/explanation.h"
#include "berth/whatif/headroom.h"
#include "berth/whatif/manifest_shapes.h"
#include "berth/whatif/pending_pods.h"

namespace berth::ask {

using codec::json::array, codec::json::object, codec::json::value;

namespace {

std::string TextOf(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// As wide as the terminal, or a hundred columns where there is none; wide ones are not cut.
cli::Table::Style TableStyle(const TextStyle& style) {
  const std::size_t width = style.columns > 0 ? style.columns : answers::kAnswerColumns;
  return {style.has_color, style.is_wide ? 0 : width};
}

// A reply from an answer that `lines(answer, is_wide, style)` and `json(answer)` write; with `state`, JSON tells of the
// cluster, too.
template <typename Found>
Reply ReplyOf(Found found, const whatif::ClusterState& state, object (*json)(const Found&),
              std::vector<std::string> (*lines)(const Found&, bool, const cli::Table::Style&)) {
  Reply reply;
  object document = json(found);
  document["cluster"] = ClusterJson(state);
  reply.document = std::move(document);
  const auto shared = std::make_shared<const Found>(std::move(found));
  reply.text = [shared, lines](const TextStyle& style) {
    return TextOf(lines(*shared, style.is_wide, TableStyle(style)));
  };
  return reply;
}

Verdict VerdictOf(whatif::PodState state) {
  switch (state) {
    case whatif::PodState::kPlaced:
    case whatif::PodState::kFits:
    case whatif::PodState::kEnded: return Verdict::kYes;
    case whatif::PodState::kFailed: return Verdict::kFailed;
    default: return Verdict::kNo;
  }
}

void SetIf(object& json, std::string_view field, const std::string& text) {
  if (!text.empty()) json[field] = text;
}

void SetIf(object& json, std::string_view field, const std::vector<std::string>& texts) {
  if (!texts.empty()) json[field] = array(texts.begin(), texts.end());
}

}  // namespace

object ClusterJson(const whatif::ClusterState& state) {
  return {{"source", state.source},
          {"version", state.kubernetes_version},
          {"readAt", FormatRfc3339(state.read_at)},
          {"leftOut", array(state.left_out.begin(), state.left_out.end())}};
}

Expected<ExplainQuestion> ExplainQuestion::Parse(const object& body) {
  BERTH_RETURN_IF_ERROR(CheckFields(body, {"namespace", "name", "pending", "nodes"}));
  ExplainQuestion question;
  BERTH_ASSIGN_OR_RETURN(question.namespace_name, TextIn(body, "namespace"));
  BERTH_ASSIGN_OR_RETURN(question.name, TextIn(body, "name"));
  BERTH_ASSIGN_OR_RETURN(question.of_pending, FlagIn(body, "pending"));
  BERTH_ASSIGN_OR_RETURN(question.with_nodes, FlagIn(body, "nodes"));
  if (question.of_pending != question.name.empty())
    return InvalidError("name should name a pod, or pending should be true, and not both");
  if (!question.of_pending && question.namespace_name.empty()) question.namespace_name = "default";
  return question;
}

object ExplainQuestion::ToJson() const {
  object json;
  SetIf(json, "namespace", namespace_name);
  SetIf(json, "name", name);
  if (of_pending) json["pending"] = true;
  if (with_nodes) json["nodes"] = true;
  return json;
}

Expected<Reply> Answer(const ExplainQuestion& question, AskedCluster& cluster, const IsInterrupted& is_interrupted) {
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const core, cluster.Core(OtherSchedulers::kHaveNoProfile));
  Reply reply;
  if (question.of_pending) {
    auto pending = std::make_shared<const whatif::PendingPods>(
        whatif::FindPendingPods(*core, cluster.state(), question.namespace_name));
    reply.document = answers::PendingJson(*pending);
    reply.verdict = pending->Count() == 0 ? Verdict::kYes : Verdict::kNo;
    reply.text = [pending](const TextStyle& style) {
      return TextOf(answers::PendingLines(*pending, TableStyle(style)));
    };
  } else {
    BERTH_ASSIGN_OR_RETURN(whatif::Explanation found,
                           whatif::ExplainPod(*core, cluster.state(), question.namespace_name, question.name,
                                              {.is_over = is_interrupted}));
    auto said = std::make_shared<const whatif::Explanation>(std::move(found));
    reply.document = answers::ExplanationJson(*said);
    reply.verdict = VerdictOf(said->state);
    reply.text = [said, with_nodes = question.with_nodes](const TextStyle& style) {
      const std::size_t width = style.is_wide || style.columns == 0 ? 0 : style.columns - 2;
      return TextOf(answers::ExplanationLines(*said, {{style.has_color, width}, with_nodes, style.is_wide}));
    };
  }
  reply.warnings = cluster.TakeNotes();
  return reply;
}

Expected<CapacityQuestion> CapacityQuestion::Parse(const object& body) {
  BERTH_RETURN_IF_ERROR(CheckFields(body, {"manifests", "files", "namespace", "like", "cpu", "memory", "requests",
                                           "nodeSelector", "together", "max", "require"}));
  CapacityQuestion question;
  BERTH_ASSIGN_OR_RETURN(question.files, ManifestsIn(body));
  BERTH_ASSIGN_OR_RETURN(const std::string namespace_name, TextIn(body, "namespace"));
  if (!namespace_name.empty()) question.namespace_name = namespace_name;
  BERTH_ASSIGN_OR_RETURN(question.likes, TextsIn(body, "like"));
  BERTH_ASSIGN_OR_RETURN(question.amounts.cpu, TextIn(body, "cpu"));
  BERTH_ASSIGN_OR_RETURN(question.amounts.memory, TextIn(body, "memory"));
  BERTH_ASSIGN_OR_RETURN(question.amounts.requests, TextsIn(body, "requests"));
  BERTH_ASSIGN_OR_RETURN(question.amounts.node_selector, TextsIn(body, "nodeSelector"));
  BERTH_ASSIGN_OR_RETURN(question.is_together, FlagIn(body, "together"));
  BERTH_ASSIGN_OR_RETURN(question.pods_max, NumberIn(body, "max", question.pods_max, kMax));
  BERTH_ASSIGN_OR_RETURN(question.required, NumberIfIn(body, "require", kMax));
  BERTH_RETURN_IF_ERROR(Check(question));
  return question;
}

object CapacityQuestion::ToJson() const {
  object json{{"files", FilesJson(files)}, {"namespace", namespace_name}, {"max", pods_max}};
  SetIf(json, "like", likes);
  SetIf(json, "cpu", amounts.cpu);
  SetIf(json, "memory", amounts.memory);
  SetIf(json, "requests", amounts.requests);
  SetIf(json, "nodeSelector", amounts.node_selector);
  if (is_together) json["together"] = true;
  if (required) json["require"] = *required;
  return json;
}

Expected<void> Check(const CapacityQuestion& question) {
  if (question.files.empty() && question.amounts.empty() && question.likes.empty())
    return InvalidError("what is to fit? manifests, like, or cpu and memory say it");
  if (const std::string wrong = whatif::WrongAmounts(question.amounts); !wrong.empty()) return InvalidError(wrong);
  return {};
}

Expected<Reply> Answer(const CapacityQuestion& question, AskedCluster& cluster, const IsInterrupted& is_interrupted) {
  std::vector<std::string> warnings;
  BERTH_ASSIGN_OR_RETURN(const whatif::Manifests manifests,
                         whatif::ReadManifests(question.files, question.namespace_name));
  warnings = manifests.left_out;
  whatif::CapacityOptions options;
  options.is_together = question.is_together;
  options.pods_max = std::max(question.pods_max, question.required.value_or(0));
  options.is_interrupted = is_interrupted;
  whatif::ManifestShapes of_files;
  if (!question.files.empty()) {
    BERTH_ASSIGN_OR_RETURN(of_files, whatif::ShapesOfManifests(manifests, cluster.state(), cluster.state().read_at));
    warnings.insert(warnings.end(), of_files.notes.begin(), of_files.notes.end());
  }
  std::optional<whatif::Capacity> capacity;
  const auto measure = [&](whatif::OfflineCluster& core) -> Expected<void> {
    core.Add(of_files.objects);
    std::vector<whatif::Shape> shapes = of_files.shapes;
    if (!question.amounts.empty()) {
      BERTH_ASSIGN_OR_RETURN(whatif::Shape shape, whatif::ShapeOfAmounts(question.amounts, question.namespace_name));
      shapes.push_back(std::move(shape));
    }
    for (const std::string& like : question.likes) {
      const std::string key = like.find('/') == std::string::npos ? question.namespace_name + "/" + like : like;
      BERTH_ASSIGN_OR_RETURN(whatif::Shape shape, whatif::ShapeLike(cluster.state(), core.objects(), key));
      shapes.push_back(std::move(shape));
    }
    BERTH_ASSIGN_OR_RETURN(capacity, whatif::MeasureCapacity(core, shapes, options));
    return {};
  };
  if (of_files.objects.empty()) {
    BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const core, cluster.Core(OtherSchedulers::kByDefaults));
    BERTH_RETURN_IF_ERROR(measure(*core));
  } else {
    // What the manifests have beside pods is in the cluster while it is measured.
    BERTH_RETURN_IF_ERROR(cluster.Try({}, measure));
  }
  const bool is_enough = std::ranges::all_of(
      capacity->shapes, [&](const auto& shape) { return shape.fits >= question.required.value_or(0); });
  const bool is_interrupted_now = capacity->is_interrupted;
  Reply reply = ReplyOf(*std::move(capacity), cluster.state(), answers::CapacityJson, answers::CapacityLines);
  reply.verdict = is_interrupted_now ? Verdict::kFailed : is_enough ? Verdict::kYes : Verdict::kNo;
  reply.warnings = cluster.TakeNotes();
  reply.warnings.insert(reply.warnings.end(), warnings.begin(), warnings.end());
  return reply;
}

Expected<DrainQuestion> DrainQuestion::Parse(const object& body) {
  BERTH_RETURN_IF_ERROR(CheckFields(body, {"nodes", "force"}));
  DrainQuestion question;
  BERTH_ASSIGN_OR_RETURN(question.nodes, TextsIn(body, "nodes"));
  if (question.nodes.empty()) return InvalidError("nodes should name at least one node");
  BERTH_ASSIGN_OR_RETURN(question.is_forced, FlagIn(body, "force"));
  return question;
}

object DrainQuestion::ToJson() const {
  object json{{"nodes", array(nodes.begin(), nodes.end())}};
  if (is_forced) json["force"] = true;
  return json;
}

Expected<Reply> Answer(const DrainQuestion& question, AskedCluster& cluster, const IsInterrupted& is_interrupted) {
  if (const auto unknown = whatif::UnknownNodes(cluster.state(), question.nodes); !unknown.empty())
    return InvalidError(Joined(unknown));
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const core, cluster.Core(OtherSchedulers::kByDefaults));
  whatif::DrainPlan plan = whatif::PlanDrain(*core, cluster.state(), question.nodes,
                                             {.is_forced = question.is_forced, .is_interrupted = is_interrupted});
  const bool can_drain = plan.CanDrain();
  Reply reply = ReplyOf(std::move(plan), cluster.state(), answers::DrainJson, answers::DrainLines);
  reply.verdict = can_drain ? Verdict::kYes : Verdict::kNo;
  reply.warnings = cluster.TakeNotes();
  return reply;
}

Expected<HeadroomQuestion> HeadroomQuestion::Parse(const object& body) {
  BERTH_RETURN_IF_ERROR(CheckFields(body, {"namespace", "losses", "require"}));
  HeadroomQuestion question;
  BERTH_ASSIGN_OR_RETURN(question.namespace_name, TextIn(body, "namespace"));
  BERTH_ASSIGN_OR_RETURN(question.losses_max, NumberIn(body, "losses", question.losses_max, kLossesMax));
  BERTH_ASSIGN_OR_RETURN(question.required, NumberIfIn(body, "require", kLossesMax));
  return question;
}

object HeadroomQuestion::ToJson() const {
  object json{{"losses", losses_max}};
  SetIf(json, "namespace", namespace_name);
  if (required) json["require"] = *required;
  return json;
}

Expected<Reply> Answer(const HeadroomQuestion& question, AskedCluster& cluster, const IsInterrupted& is_interrupted) {
  if (const auto known = whatif::CheckNamespace(cluster.state(), question.namespace_name); !known.ok())
    return InvalidError(known.error().message);
  whatif::HeadroomOptions options;
  options.losses_max = std::max(question.losses_max, question.required.value_or(0));
  options.namespace_name = question.namespace_name;
  options.is_interrupted = is_interrupted;
  BERTH_ASSIGN_OR_RETURN(whatif::OfflineCluster* const core, cluster.Core(OtherSchedulers::kByDefaults));
  whatif::Headroom headroom = whatif::MeasureHeadroom(*core, cluster.state(), options);
  const bool is_enough = std::ranges::all_of(headroom.workloads, [&](const whatif::WorkloadHeadroom& workload) {
    return workload.survives >= question.required.value_or(0);
  });
  const bool is_interrupted_now = headroom.is_interrupted;
  Reply reply = ReplyOf(std::move(headroom), cluster.state(), answers::HeadroomJson, answers::HeadroomLines);
  reply.verdict = is_interrupted_now ? Verdict::kFailed : is_enough ? Verdict::kYes : Verdict::kNo;
  reply.warnings = cluster.TakeNotes();
  return reply;
}

}  // namespace berth::ask
