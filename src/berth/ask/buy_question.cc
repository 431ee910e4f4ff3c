// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/buy_question.h"

#include <memory>
#include <string_view>
#include <utility>

#include "berth/answers/buy_answer.h"
#include "berth/answers/page.h"
#include "berth/ask/question_fields.h"
#include "berth/ask/questions.h"
#include "berth/buy/purchase_plan.h"
#include "berth/codec/yaml_lines.h"
#include "berth/whatif/additions.h"

namespace berth::ask {

using codec::json::array, codec::json::object;

namespace {

// About ten milliseconds of either.
constexpr std::uint64_t kPlacementsPerEffort = 50'000;
constexpr std::uint64_t kStepsPerEffort = 1'000'000;

constexpr std::string_view kByScheduler = "scheduler";
constexpr std::string_view kByNomination = "nominated";

}  // namespace

Expected<BuyQuestion> BuyQuestion::Parse(const object& body) {
  BERTH_RETURN_IF_ERROR(
      CheckFields(body, {"manifests", "files", "namespace", "pending", "catalogue", "catalogueName", "maxNodes",
                         "zones", "spotShare", "disruption", "replace", "placement", "effort"}));
  BuyQuestion question;
  BERTH_ASSIGN_OR_RETURN(question.files, ManifestsIn(body));
  BERTH_ASSIGN_OR_RETURN(const std::string namespace_name, TextIn(body, "namespace"));
  if (!namespace_name.empty()) question.namespace_name = namespace_name;
  BERTH_ASSIGN_OR_RETURN(question.takes_pending, FlagIn(body, "pending"));
  BERTH_ASSIGN_OR_RETURN(question.catalogue, TextIn(body, "catalogue"));
  if (question.catalogue.empty())
    return WrongField("catalogue", "the text of a catalogue: what may be bought; berth buy catalogue writes one");
  BERTH_ASSIGN_OR_RETURN(const std::string catalogue_name, TextIn(body, "catalogueName"));
  if (!catalogue_name.empty()) question.catalogue_name = catalogue_name;
  BERTH_ASSIGN_OR_RETURN(question.nodes_max, NumberIfIn(body, "maxNodes", kNodesMaxMax));
  BERTH_ASSIGN_OR_RETURN(question.zones, TextsIn(body, "zones"));
  BERTH_ASSIGN_OR_RETURN(question.spot_share, ShareIn(body, "spotShare", question.spot_share));
  BERTH_ASSIGN_OR_RETURN(question.disruption_share, ShareIn(body, "disruption", question.disruption_share));
  BERTH_ASSIGN_OR_RETURN(question.replaces, FlagIn(body, "replace"));
  BERTH_ASSIGN_OR_RETURN(const std::string placement, TextIn(body, "placement"));
  if (!placement.empty() && placement != kByScheduler && placement != kByNomination)
    return WrongField("placement", "scheduler or nominated");
  if (placement == kByNomination) question.placement = buy::Placement::kNominated;
  BERTH_ASSIGN_OR_RETURN(question.effort, NumberIn(body, "effort", question.effort, kEffortMax));
  if (question.effort == 0) return WrongField("effort", "a number from 1 to " + std::to_string(kEffortMax));
  return question;
}

object BuyQuestion::ToJson() const {
  object json{{"files", FilesJson(files)},
              {"namespace", namespace_name},
              {"catalogue", catalogue},
              {"catalogueName", catalogue_name},
              {"spotShare", spot_share},
              {"disruption", disruption_share},
              {"placement", placement == buy::Placement::kNominated ? kByNomination : kByScheduler},
              {"effort", effort}};
  if (takes_pending) json["pending"] = true;
  if (nodes_max) json["maxNodes"] = *nodes_max;
  if (!zones.empty()) json["zones"] = array(zones.begin(), zones.end());
  if (replaces) json["replace"] = true;
  return json;
}

buy::PurchaseOptions BuyQuestion::Options() const {
  buy::PurchaseOptions options;
  options.nodes_max = nodes_max;
  options.zones = zones;
  options.spot_share = spot_share;
  options.disruption_share = disruption_share;
  options.placement = placement;
  options.replaces = replaces;
  options.placements_max = effort * kPlacementsPerEffort;
  options.packing_steps_max = effort * kStepsPerEffort;
  return options;
}

Expected<buy::NodeCatalogue> CatalogueOf(const BuyQuestion& question) {
  if (question.catalogue.size() > buy::kCatalogueBytesMax)
    return Error{ErrorCode::kTooLarge, question.catalogue_name + " should have at most " +
                                           std::to_string(buy::kCatalogueBytesMax >> 20) + " MiB"};
  auto catalogue = buy::ReadCatalogue(question.catalogue);
  if (!catalogue.ok()) return codec::InFile(question.catalogue_name, question.catalogue, catalogue.error());
  return catalogue;
}

Expected<Reply> Answer(const BuyQuestion& question, const AskLimits& limits, AskedCluster& cluster,
                       const IsInterrupted& is_interrupted) {
  auto read = CatalogueOf(question);
  if (!read.ok()) return OfQuestion(read.error());
  const auto catalogue = std::make_shared<const buy::NodeCatalogue>(*std::move(read));
  BERTH_ASSIGN_OR_RETURN(const whatif::Manifests manifests,
                         whatif::ReadManifests(question.files, question.namespace_name));
  const whatif::ClusterState& state = cluster.state();
  // Whether it is too much is found before a core is loaded for it.
  whatif::AdditionOptions adding;
  adding.now = state.read_at;
  adding.pods_max = limits.added_pods_max;
  adding.shares_models = true;
  adding.index = cluster.index();
  if (const auto added = whatif::MakeAdditions(manifests, state, adding); !added.ok()) return OfQuestion(added.error());
  buy::PurchaseOptions options = question.Options();
  options.is_interrupted = is_interrupted;
  const bool takes_pending = question.takes_pending || question.files.empty();
  std::shared_ptr<const buy::PurchasePlan> plan;
  BERTH_RETURN_IF_ERROR(cluster.UseUp([&](whatif::OfflineCluster& core) -> Expected<void> {
    auto found = buy::PlanPurchase(core, {state, manifests, *catalogue, takes_pending}, options);
    if (!found.ok()) return OfQuestion(found.error());
    plan = std::make_shared<const buy::PurchasePlan>(*std::move(found));
    return {};
  }));
  Reply reply;
  object document = answers::BuyJson(*plan, *catalogue);
  document["cluster"] = ClusterJson(state);
  reply.document = std::move(document);
  reply.text = [plan, catalogue](const TextStyle& style) {
    const std::size_t width = style.columns > 0 ? style.columns : answers::kAnswerColumns;
    std::string text;
    for (const std::string& line :
         answers::BuyLines(*plan, *catalogue, style.is_wide, {style.has_color, style.is_wide ? 0 : width}))
      text += line + "\n";
    return text;
  };
  reply.verdict = plan->is_interrupted ? Verdict::kFailed : plan->IsComplete() ? Verdict::kYes : Verdict::kNo;
  reply.warnings = cluster.TakeNotes();
  reply.warnings.insert(reply.warnings.end(), manifests.left_out.begin(), manifests.left_out.end());
  return reply;
}

}  // namespace berth::ask
