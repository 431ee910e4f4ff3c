// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/best_price/best_price.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/framework/node_annotation_reader.h"
#include "berth/framework/profile_aware.h"
#include "berth/plugins/best_price/price.h"
#include "berth/plugins/best_price/price_column.h"
#include "berth/plugins/helper/cached_refusal.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

// On a pod: the most that a node may cost, in the unit in which nodes are compared.
constexpr std::string_view kMaxPriceAnnotation = "berth.dev/max-price";

// The pod's ceiling. `bad_text` is set when there is one that is no price.
struct Ceiling {
  std::optional<std::int64_t> micro;
  const std::string* bad_text = nullptr;
};

Ceiling CeilingOf(const PodInfo& pod) {
  Ceiling ceiling;
  const std::string* text = pod.pod_class->annotations.Find(kMaxPriceAnnotation);
  if (text == nullptr) return ceiling;
  ceiling.micro = ParsePrice(*text);
  if (!ceiling.micro) ceiling.bad_text = text;
  return ceiling;
}

std::string BadCeiling(const std::string& text) {
  return "annotation " + std::string(kMaxPriceAnnotation) + ": " + NotAPrice(text);
}

class BestPrice final : public PreFilterPlugin,
                        public FastFilter,
                        public FastScore,
                        public AnnotationReader,
                        public framework::NodeAnnotationReader,
                        public framework::ProfileAware,
                        public EnqueueExtensions {
 public:
  static constexpr std::string_view kReasonTooDear = "node(s) cost more than the pod's berth.dev/max-price";
  static constexpr std::string_view kReasonNoPrice = "node(s) had no price";

  BestPrice(BestPriceArgs args, Handle& handle)
      : args_(std::move(args)), handle_(handle), column_(args_, InvalidPrices::Of(handle)) {}

  std::string_view Name() const override { return names::kBestPrice; }
  bool ReadsPlacementOnly() const override { return true; }
  // Never grows, because an answer about a node rests on that node. Epoch is asked in every cycle, so it is here that
  // bad prices are noticed, also of nodes that no pod of the profile is filtered or scored on.
  std::uint64_t Epoch() const override {
    if (const NodeTable* nodes = handle_.node_table()) column_.Sync(*nodes, scheduler_name_);
    return 0;
  }
  void SetProfile(std::string_view scheduler_name) override { scheduler_name_ = scheduler_name; }

  // Refuses a pod whose ceiling is no price.
  Dependency PreFilterDependsOn() const override { return Dependency::kNode; }
  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    if (const Ceiling ceiling = CeilingOf(pod); ceiling.bad_text != nullptr)
      return {Status::UnschedulableAndUnresolvable(BadCeiling(*ceiling.bad_text)), std::nullopt};
    return {RefusesNone(cycle, pod) ? Status::Skip() : Status(), std::nullopt};
  }

  Dependency FilterDependsOn() const override { return Dependency::kNode; }
  // Preemption helps with neither refusal.
  Status Filter(const Cycle&, const PodInfo& pod, const NodeInfo& node) const override {
    const Ceiling ceiling = CeilingOf(pod);
    if (ceiling.bad_text != nullptr) return Status::UnschedulableAndUnresolvable(BadCeiling(*ceiling.bad_text));
    switch (VerdictOf(PriceOf(node.node(), args_), ceiling.micro)) {
      case Verdict::kOk: break;
      case Verdict::kNoPrice: return Status::UnschedulableAndUnresolvable(std::string(kReasonNoPrice));
      case Verdict::kTooDear: return Status::UnschedulableAndUnresolvable(std::string(kReasonTooDear));
    }
    return {};
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    if (RefusesNone(cycle, pod)) return;
    column_.Sync(cycle.table, scheduler_name_);
    const Ceiling ceiling = CeilingOf(pod);
    const std::string bad = ceiling.bad_text == nullptr ? std::string() : BadCeiling(*ceiling.bad_text);
    CachedRefusal bad_ceiling(statuses, Code::kUnschedulableAndUnresolvable, bad);
    CachedRefusal no_price(statuses, Code::kUnschedulableAndUnresolvable, kReasonNoPrice);
    CachedRefusal too_dear(statuses, Code::kUnschedulableAndUnresolvable, kReasonTooDear);
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk) continue;
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

  bool RefusesNone(const Cycle&, const PodInfo& pod) const override {
    const Ceiling ceiling = CeilingOf(pod);
    return args_.unpriced != Unpriced::kRefused && !ceiling.micro && ceiling.bad_text == nullptr;
  }

  Dependency ScoreDependsOn() const override { return Dependency::kNode; }
  Normalization ScoreNormalization() const override { return Normalization::kLowestFirst; }
  std::int64_t Score(const Cycle&, const PodInfo&, NodeIndex, const NodeInfo& node, Status&) const override {
    return RawScoreOf(PriceOf(node.node(), args_), args_.per);
  }

  void ScoreRows(const Cycle& cycle, const PodInfo&, std::span<const NodeIndex> rows, std::span<std::int64_t> scores,
                 Status&) const override {
    column_.Sync(cycle.table, scheduler_name_);
    for (const NodeIndex row : rows) scores[row] = column_.raw_score(row);
  }

  // Answers where all nodes cost the same, or none has a price. Reads the scheduler's table, because the cycle's may
  // stand for nodes by their amounts alone.
  std::optional<std::int64_t> ScoreOfAll(const Cycle&, const PodInfo&) const override {
    const NodeTable* nodes = handle_.node_table();
    if (nodes == nullptr) return std::nullopt;
    column_.Sync(*nodes, scheduler_name_);
    return column_.RawScoreOfAll();
  }

  std::vector<std::string> PodAnnotationsRead() const override { return {std::string(kMaxPriceAnnotation)}; }
  std::vector<std::string> NodeAnnotationsRead() const override { return args_.annotations; }
  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    // A new price, a label that the table reads, or another size to divide the price by.
    const framework::ActionType changes = kAdd | kUpdateNodeAnnotation | kUpdateNodeLabel | kUpdateNodeAllocatable;
    return {OfClass(OnNode(changes,
                           [this](const PodInfo& pod, const EventObjects& event) {
                             if (event.new_node == nullptr) return QueueingHint::kQueue;
                             if (!Admits(pod, *event.new_node)) return QueueingHint::kSkip;
                             return QueueIf(event.old_node == nullptr || !Admits(pod, *event.old_node));
                           })),
            // Annotations of pods have no event of their own: theirs is the one for any other change.
            OnPod(kUpdate, [](const PodInfo& pod, const EventObjects& event) {
              if (!IsOwnUpdate(pod, event)) return QueueingHint::kSkip;
              return QueueIf(event.old_pod == nullptr ||
                             event.old_pod->pod_class->annotations != event.new_pod->pod_class->annotations);
            })};
  }

 private:
  enum class Verdict : std::uint8_t { kOk, kNoPrice, kTooDear };

  // Under a ceiling a node without a price is refused as well: nobody knows that it is not above.
  Verdict VerdictOf(const NodePrice& price, std::optional<std::int64_t> ceiling_micro) const {
    if (!price.micro) return ceiling_micro || args_.unpriced == Unpriced::kRefused ? Verdict::kNoPrice : Verdict::kOk;
    return ceiling_micro && IsAbove(price, args_.per, *ceiling_micro) ? Verdict::kTooDear : Verdict::kOk;
  }

  bool Admits(const PodInfo& pod, const api::Node& node) const {
    const Ceiling ceiling = CeilingOf(pod);
    return ceiling.bad_text == nullptr && VerdictOf(PriceOf(node, args_), ceiling.micro) == Verdict::kOk;
  }

  const BestPriceArgs args_;
  Handle& handle_;
  mutable PriceColumn column_;
  std::string scheduler_name_;  // the profile's
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateBestPrice(const BestPriceArgs& args, Handle& handle) {
  return std::make_unique<BestPrice>(args, handle);
}

}  // namespace berth::plugins
