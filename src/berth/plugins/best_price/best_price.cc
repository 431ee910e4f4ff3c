// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/best_price/best_price.h"

#include <utility>

#include "berth/plugins/best_price/price.h"
#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"

namespace berth::plugins {
namespace {

using framework::Code;
using framework::PodInfo;
using framework::Status;

// The pod's ceiling. `bad_text` is set when there is one that is no price.
struct Ceiling {
  std::optional<std::int64_t> micro;
  const std::string* bad_text = nullptr;
};

Ceiling CeilingOf(const PodInfo& pod) {
  Ceiling ceiling;
  const std::string* text = pod.pod_class->annotations.Find(BestPrice::kMaxPriceAnnotation);
  if (text == nullptr) return ceiling;
  ceiling.micro = ParsePrice(*text);
  if (!ceiling.micro) ceiling.bad_text = text;
  return ceiling;
}

std::string BadCeiling(const std::string& text) {
  return "annotation " + std::string(BestPrice::kMaxPriceAnnotation) + ": " + NotAPrice(text);
}

}  // namespace

Expected<std::unique_ptr<framework::Plugin>> BestPrice::Create(const config::PluginArgs& args,
                                                               framework::Handle& handle) {
  BERTH_ASSIGN_OR_RETURN(BestPriceArgs read, ReadBestPriceArgs(args));
  return std::unique_ptr<framework::Plugin>(std::make_unique<BestPrice>(std::move(read), handle));
}

BestPrice::BestPrice(BestPriceArgs args, framework::Handle& handle)
    : args_(std::move(args)), handle_(handle), column_(args_, InvalidPrices::Of(handle)) {}

std::uint64_t BestPrice::Epoch() const {
  if (const framework::NodeTable* nodes = handle_.node_table()) column_.Sync(*nodes, scheduler_name_);
  return 0;
}

framework::PreFilterResult BestPrice::PreFilter(const framework::Cycle& cycle, const PodInfo& pod) const {
  if (const Ceiling ceiling = CeilingOf(pod); ceiling.bad_text != nullptr)
    return {Status::UnschedulableAndUnresolvable(BadCeiling(*ceiling.bad_text)), std::nullopt};
  return {RefusesNone(cycle, pod) ? Status::Skip() : Status(), std::nullopt};
}

bool BestPrice::RefusesNone(const framework::Cycle&, const PodInfo& pod) const {
  const Ceiling ceiling = CeilingOf(pod);
  return args_.unpriced != Unpriced::kRefused && !ceiling.micro && ceiling.bad_text == nullptr;
}

// Under a ceiling a node without a price is refused as well: nobody knows that it is not above.
BestPrice::Verdict BestPrice::VerdictOf(const NodePrice& price, std::optional<std::int64_t> ceiling_micro) const {
  if (!price.micro) return ceiling_micro || args_.unpriced == Unpriced::kRefused ? Verdict::kNoPrice : Verdict::kOk;
  return ceiling_micro && IsAbove(price, args_.per, *ceiling_micro) ? Verdict::kTooDear : Verdict::kOk;
}

// Neither refusal can be helped by preemption.
Status BestPrice::Filter(const framework::Cycle&, const PodInfo& pod, const framework::NodeInfo& node) const {
  const Ceiling ceiling = CeilingOf(pod);
  if (ceiling.bad_text != nullptr) return Status::UnschedulableAndUnresolvable(BadCeiling(*ceiling.bad_text));
  switch (VerdictOf(PriceOf(node.node(), args_), ceiling.micro)) {
    case Verdict::kOk: break;
    case Verdict::kNoPrice: return Status::UnschedulableAndUnresolvable(std::string(kReasonNoPrice));
    case Verdict::kTooDear: return Status::UnschedulableAndUnresolvable(std::string(kReasonTooDear));
  }
  return {};
}

void BestPrice::FilterRows(const framework::Cycle& cycle, const PodInfo& pod,
                           std::span<const framework::NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                           framework::StatusTable& statuses) const {
  if (RefusesNone(cycle, pod)) return;
  column_.Sync(cycle.table, scheduler_name_);
  const Ceiling ceiling = CeilingOf(pod);
  const std::string bad = ceiling.bad_text == nullptr ? std::string() : BadCeiling(*ceiling.bad_text);
  CachedRefusal bad_ceiling(statuses, Code::kUnschedulableAndUnresolvable, bad);
  CachedRefusal no_price(statuses, Code::kUnschedulableAndUnresolvable, kReasonNoPrice);
  CachedRefusal too_dear(statuses, Code::kUnschedulableAndUnresolvable, kReasonTooDear);
  for (const framework::NodeIndex row : rows) {
    if (verdicts[row] != framework::kVerdictOk) continue;
    if (ceiling.bad_text != nullptr) {
      verdicts[row] = bad_ceiling.Get();
      continue;
    }
    switch (VerdictOf(column_.price(row), ceiling.micro)) {
      case Verdict::kOk: break;
      case Verdict::kNoPrice: verdicts[row] = no_price.Get(); break;
      case Verdict::kTooDear: verdicts[row] = too_dear.Get(); break;
    }
  }
}

std::int64_t BestPrice::Score(const framework::Cycle&, const PodInfo&, framework::NodeIndex,
                              const framework::NodeInfo& node, Status&) const {
  return RawScoreOf(PriceOf(node.node(), args_), args_.per);
}

void BestPrice::ScoreRows(const framework::Cycle& cycle, const PodInfo&, std::span<const framework::NodeIndex> rows,
                          std::span<std::int64_t> scores, Status&) const {
  column_.Sync(cycle.table, scheduler_name_);
  for (const framework::NodeIndex row : rows) scores[row] = column_.raw_score(row);
}

// The cycle's own table may stand for nodes by their amounts alone.
std::optional<std::int64_t> BestPrice::ScoreOfAll(const framework::Cycle&, const PodInfo&) const {
  const framework::NodeTable* nodes = handle_.node_table();
  if (nodes == nullptr) return std::nullopt;
  column_.Sync(*nodes, scheduler_name_);
  return column_.RawScoreOfAll();
}

bool BestPrice::Admits(const PodInfo& pod, const api::Node& node) const {
  const Ceiling ceiling = CeilingOf(pod);
  return ceiling.bad_text == nullptr && VerdictOf(PriceOf(node, args_), ceiling.micro) == Verdict::kOk;
}

std::vector<framework::ClusterEventWithHint> BestPrice::EventsToRegister() const {
  using namespace framework::action;
  // A new price, a label that the table reads, or another size to divide the price by.
  const framework::ActionType changes = kAdd | kUpdateNodeAnnotation | kUpdateNodeLabel | kUpdateNodeAllocatable;
  return {OfClass(OnNode(changes,
                         [this](const PodInfo& pod, const framework::EventObjects& event) {
                           if (event.new_node == nullptr) return framework::QueueingHint::kQueue;
                           if (!Admits(pod, *event.new_node)) return framework::QueueingHint::kSkip;
                           return QueueIf(event.old_node == nullptr || !Admits(pod, *event.old_node));
                         })),
          // Annotations of pods have no event of their own: theirs is the one for any other change.
          OnPod(kUpdate, [](const PodInfo& pod, const framework::EventObjects& event) {
            if (!IsOwnUpdate(pod, event)) return framework::QueueingHint::kSkip;
            return QueueIf(event.old_pod == nullptr ||
                           event.old_pod->pod_class->annotations != event.new_pod->pod_class->annotations);
          })};
}

}  // namespace berth::plugins
