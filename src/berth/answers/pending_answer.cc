// SPDX-License-Identifier: Apache-2.0
#include "berth/answers/pending_answer.h"

#include <chrono>
#include <utility>

#include "berth/answers/answer_text.h"
#include "berth/answers/page.h"
#include "berth/base/time.h"

namespace berth::answers {
namespace {

using whatif::PendingOfOwner, whatif::PendingPods, whatif::PendingReason, whatif::PodState;

// How long a pod has waited. Only below a minute it has seconds, so that an answer that is asked for again and again
// does not change each time.
std::string Shown(Duration waits_for) {
  if (waits_for < std::chrono::minutes(1)) return FormatGoDuration(std::chrono::floor<std::chrono::seconds>(waits_for));
  std::string text = FormatGoDuration(std::chrono::floor<std::chrono::minutes>(waits_for));
  return text.ends_with("m0s") ? text.substr(0, text.size() - 2) : text;
}

std::string Begun(PodState state) {
  switch (state) {
    case PodState::kGated: return "Gated: ";
    case PodState::kWaits:
    case PodState::kFits: return "Waits for ";
    default: return "";
  }
}

}  // namespace

std::vector<std::string> PendingLines(const PendingPods& pending, const cli::Table::Style& style) {
  if (pending.Count() == 0) return {"No pod waits for a node."};
  Page page(style);
  page.Line(Counted(pending.Count(), "pod waits for a node.", "pods wait for a node."));
  for (const PendingReason& reason : pending.reasons) {
    page.Gap();
    page.Text(Begun(reason.state) + reason.reason);
    cli::Table table({{"  OWNER"}, {"PODS", true}, {"LONGEST", true}, {"SUCH AS"}});
    for (const PendingOfOwner& owner : reason.owners) {
      table.AddRow({"  " + owner.owner.kind + ' ' + owner.owner.namespace_name + '/' + owner.owner.name,
                    std::to_string(owner.count), Shown(owner.waits_for), owner.longest});
    }
    page.Rows(table);
  }
  if (pending.not_looked_at > 0) {
    page.Gap();
    page.Text(std::to_string(pending.not_looked_at) + " more were not looked at: there are more than " +
              std::to_string(whatif::kPendingKindsMax) + " kinds of them.");
  }
  return std::move(page).Take();
}

codec::json::object PendingJson(const PendingPods& pending) {
  codec::json::array reasons;
  for (const PendingReason& reason : pending.reasons) {
    codec::json::array owners;
    for (const PendingOfOwner& owner : reason.owners) {
      owners.push_back(
          codec::json::object{{"kind", owner.owner.kind},
                              {"namespace", owner.owner.namespace_name},
                              {"name", owner.owner.name},
                              {"pods", owner.count},
                              {"longest", owner.longest},
                              {"waitsSeconds", std::chrono::floor<std::chrono::seconds>(owner.waits_for).count()}});
    }
    reasons.push_back(codec::json::object{{"state", ToString(reason.state)},
                                          {"reason", reason.reason},
                                          {"pods", reason.Count()},
                                          {"owners", std::move(owners)}});
  }
  return {{"kind", "PendingPods"},
          {"pods", pending.Count()},
          {"notLookedAt", pending.not_looked_at},
          {"reasons", std::move(reasons)}};
}

codec::json::object PendingFacts(const PendingPods& pending) {
  codec::json::object facts = PendingJson(pending);
  for (codec::json::value& reason : facts["reasons"].as_array()) {
    for (codec::json::value& owner : reason.as_object()["owners"].as_array()) owner.as_object().erase("waitsSeconds");
  }
  return facts;
}

}  // namespace berth::answers
