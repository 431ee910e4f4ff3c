// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_resources_fit/node_resources_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/core/config/args.h"
#include "berth/framework/pod_group_placement.h"
#include "berth/framework/pod_requests.h"
#include "berth/framework/row_runs.h"
#include "berth/plugins/helper/device_state.h"
#include "berth/plugins/helper/events.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/scored_resources.h"
#include "berth/plugins/names.h"

namespace berth::plugins {
namespace {

using framework::Resource;
using framework::WrappingSub;

constexpr std::string_view kPreFilterKey = "PreFilterNodeResourcesFit";
constexpr std::string_view kPreScoreKey = "PreScoreNodeResourcesFit";

// The request that the filter checks: amounts above 0, scalars without the ignored ones.
struct Wanted final : StateData {
  Resource request;
};

struct PreScoreState final : StateData {
  std::vector<std::int64_t> pod_requests;  // parallel to the scored resources
};

// Wraps as Go's arithmetic does, so that absurd amounts in objects give upstream's scores instead of undefined
// behaviour.
std::int64_t WrappingMul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Truncates, and wraps as WrappingMul does. `b` must not be 0.
std::int64_t WrappingDiv(std::int64_t a, std::int64_t b) {
  return b == -1 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a)) : a / b;
}

// part * max / whole: exact and within 0 and `max` where `saturates` (Release::saturates_scores), else with Go's
// wrapping. `whole` must not be 0.
std::int64_t ShareOfWhole(std::int64_t part, std::int64_t whole, std::int64_t max, bool saturates) {
  if (!saturates) return WrappingDiv(WrappingMul(part, max), whole);
  if (whole <= 0 || part <= 0) return 0;
  if (part >= whole) return max;
  return static_cast<std::int64_t>(static_cast<__int128>(part) * max / whole);
}

// What is short on a node, as bits. Equal bits give equal statuses.
using Shortage = std::uint64_t;
constexpr Shortage kPods = 1 << 0;
constexpr Shortage kCpu = 1 << 1;
constexpr Shortage kMemory = 1 << 2;
constexpr Shortage kEphemeralStorage = 1 << 3;
constexpr Shortage kUnresolvable = 1 << 4;
constexpr int kScalarBit = 5;
// A pod with more scalars than bits is filtered by FilterManyScalars.
constexpr std::size_t kScalarsMax = 64 - kScalarBit;

Status ToStatus(Shortage shortage, const Resource& request) {
  std::vector<std::string> reasons;
  if (shortage & kPods) reasons.emplace_back("Too many pods");
  if (shortage & kCpu) reasons.emplace_back("Insufficient cpu");
  if (shortage & kMemory) reasons.emplace_back("Insufficient memory");
  if (shortage & kEphemeralStorage) reasons.emplace_back("Insufficient ephemeral-storage");
  for (std::size_t i = 0; i < request.scalars.size() && i < kScalarsMax; ++i) {
    if (shortage >> (kScalarBit + i) & 1) reasons.push_back("Insufficient " + request.scalars[i].first);
  }
  const bool unresolvable = (shortage & kUnresolvable) != 0;
  return Status(unresolvable ? Code::kUnschedulableAndUnresolvable : Code::kUnschedulable, std::move(reasons));
}

// Request, allocatable, already requested: as upstream's comparison, which wraps. Adds to `shortage`.
inline void Check(std::int64_t request, std::int64_t allocatable, std::int64_t requested, Shortage bit,
                  Shortage& shortage) {
  if (request <= 0 || request <= WrappingSub(allocatable, requested)) return;
  shortage |= bit;
  if (request > allocatable) shortage |= kUnresolvable;
}

// Scalars of node lists are few and sorted, as those of the pod. `device_backed` has bits as a Shortage.
void CheckScalars(const Resource& request, const Resource& allocatable, const Resource& requested,
                  Shortage device_backed, Shortage& shortage) {
  for (std::size_t i = 0; i < request.scalars.size() && i < kScalarsMax; ++i) {
    const auto& [name, amount] = request.scalars[i];
    if ((device_backed >> (kScalarBit + i) & 1) != 0 && allocatable.Scalar(name) <= 0) continue;
    Check(amount, allocatable.Scalar(name), requested.Scalar(name), Shortage{1} << (kScalarBit + i), shortage);
  }
}

// Whether a running pod that was scaled down gives back something that the pod wants.
bool GivesBack(const PodInfo& old_pod, const PodInfo& new_pod, const PodInfo& pod) {
  const Resource& before = old_pod.pod_class->requests;
  const Resource& after = new_pod.pod_class->requests;
  const Resource& wanted = pod.pod_class->requests;
  const auto helps = [](std::int64_t want, std::int64_t from, std::int64_t to) { return want != 0 && from > to; };
  return helps(wanted.cpu_milli, before.cpu_milli, after.cpu_milli) ||
         helps(wanted.memory_bytes, before.memory_bytes, after.memory_bytes) ||
         helps(wanted.ephemeral_storage_bytes, before.ephemeral_storage_bytes, after.ephemeral_storage_bytes) ||
         std::any_of(wanted.scalars.begin(), wanted.scalars.end(), [&](const auto& scalar) {
           return helps(scalar.second, before.Scalar(scalar.first), after.Scalar(scalar.first));
         });
}

// A class that stands behind a resource from now on: one that is new by its own name as well.
QueueingHint AfterDeviceClassEvent(const PodInfo& pod, const EventObjects& event) {
  const auto* before = event.Old<api::DeviceClass>();
  const auto* after = event.New<api::DeviceClass>();
  if (after == nullptr) return QueueingHint::kQueue;
  if (before != nullptr && before->extended_resource_name.value_or("") == after->extended_resource_name.value_or("")) {
    return QueueingHint::kSkip;
  }
  const Resource wanted = framework::PodRequestsFromSpec(*pod.pod_class);
  const auto wants = [&](const std::string& name) {
    return std::any_of(wanted.scalars.begin(), wanted.scalars.end(), [&](const auto& s) { return s.first == name; });
  };
  return QueueIf((before == nullptr && wants(std::string(kDeviceClassResourcePrefix) + after->metadata.name)) ||
                 (after->extended_resource_name && wants(*after->extended_resource_name)));
}

// The mean over the counted resources is taken at the end.
struct WeightedSum {
  std::int64_t score = 0;
  std::int64_t weight = 0;
};

// Whether a node has what a pod requests. With a class of devices behind a resource, a node that has none of the
// resource itself is left to DynamicResources.
class FitCheck {
 public:
  explicit FitCheck(const DeviceState& devices) : devices_(devices) {}

  // Whether a class of devices stands behind the resource: then a node that has none of it itself may give devices.
  bool IsDeviceBacked(std::string_view resource) const { return devices_.classes.Find(resource) != nullptr; }

  // The specification: all that is short for a pod on a node, each a reason.
  Status StatusOf(const Resource& request, const Resource& allocatable, const Resource& requested,
                  std::size_t pod_count) const {
    std::vector<std::string> reasons;
    bool unresolvable = false;
    // Unlike the rest never unresolvable: upstream does not compare with the empty node here.
    if (static_cast<std::int64_t>(pod_count) + 1 > allocatable.pods) reasons.emplace_back("Too many pods");
    const auto check = [&](std::string_view name, std::int64_t amount, std::int64_t node_has, std::int64_t node_gave) {
      // Nothing requested is never short, not even on an overcommitted node.
      if (amount <= 0 || amount <= WrappingSub(node_has, node_gave)) return;
      reasons.push_back("Insufficient " + std::string(name));
      unresolvable = unresolvable || amount > node_has;
    };
    check(framework::resources::kCpu, request.cpu_milli, allocatable.cpu_milli, requested.cpu_milli);
    check(framework::resources::kMemory, request.memory_bytes, allocatable.memory_bytes, requested.memory_bytes);
    check(framework::resources::kEphemeralStorage, request.ephemeral_storage_bytes, allocatable.ephemeral_storage_bytes,
          requested.ephemeral_storage_bytes);
    for (const auto& [name, amount] : request.scalars) {
      if (allocatable.Scalar(name) <= 0 && IsDeviceBacked(name)) continue;
      check(name, amount, allocatable.Scalar(name), requested.Scalar(name));
    }
    if (reasons.empty()) return Status::Success();
    return Status(unresolvable ? Code::kUnschedulableAndUnresolvable : Code::kUnschedulable, std::move(reasons));
  }

  // StatusOf(...).IsSuccess(), without reasons.
  bool Fits(const Resource& request, const Resource& allocatable, const Resource& requested,
            std::size_t pod_count) const {
    if (request.scalars.size() > kScalarsMax) return StatusOf(request, allocatable, requested, pod_count).IsSuccess();
    Shortage shortage = static_cast<std::int64_t>(pod_count) + 1 > allocatable.pods ? kPods : 0;
    Check(request.cpu_milli, allocatable.cpu_milli, requested.cpu_milli, kCpu, shortage);
    Check(request.memory_bytes, allocatable.memory_bytes, requested.memory_bytes, kMemory, shortage);
    Check(request.ephemeral_storage_bytes, allocatable.ephemeral_storage_bytes, requested.ephemeral_storage_bytes,
          kEphemeralStorage, shortage);
    CheckScalars(request, allocatable, requested, DeviceBackedOf(request), shortage);
    return shortage == 0;
  }

  // The column form of StatusOf, for the rows that no other plugin has refused.
  void FilterRows(const Cycle& cycle, const Resource& request, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const {
    if (request.scalars.size() > kScalarsMax) {
      return FilterManyScalars(cycle, request, rows, verdicts, statuses);
    }
    const NodeTable::Columns& c = cycle.table.columns();
    const bool has_ephemeral = request.ephemeral_storage_bytes > 0;
    const bool has_scalars = !request.scalars.empty();
    const Shortage device_backed = DeviceBackedOf(request);
    std::vector<std::pair<Shortage, VerdictId>> known;
    const auto check_row = [&](NodeIndex row) {
      if (verdicts[row] != kVerdictOk) return;
      Shortage shortage = c.pod_count[row] + 1 > c.allocatable_pods[row] ? kPods : 0;
      Check(request.cpu_milli, c.allocatable_cpu_milli[row], c.requested_cpu_milli[row], kCpu, shortage);
      Check(request.memory_bytes, c.allocatable_memory_bytes[row], c.requested_memory_bytes[row], kMemory, shortage);
      if (has_ephemeral) {
        Check(request.ephemeral_storage_bytes, c.allocatable_ephemeral_bytes[row], c.requested_ephemeral_bytes[row],
              kEphemeralStorage, shortage);
      }
      if (has_scalars) {
        const NodeInfo& node = cycle.nodes.Info(row);
        CheckScalars(request, node.allocatable(), node.requested(), device_backed, shortage);
      }
      if (shortage == 0) return;
      auto it =
          std::find_if(known.begin(), known.end(), [shortage](const auto& entry) { return entry.first == shortage; });
      if (it == known.end()) it = known.insert(known.end(), {shortage, statuses.Intern(ToStatus(shortage, request))});
      verdicts[row] = it->second;
    };
    const std::array<ResourceRows, 2> columns{{
        {c.allocatable_cpu_milli.data(), c.requested_cpu_milli.data(), nullptr, request.cpu_milli},
        {c.allocatable_memory_bytes.data(), c.requested_memory_bytes.data(), nullptr, request.memory_bytes},
    }};
    const bool is_plain = !has_ephemeral && !has_scalars;
    framework::ForEachRun(rows, kKernelRows, [&](NodeIndex first, std::size_t count) {
      // Mostly no node of many is short of anything.
      if (is_plain && count >= kKernelRowsMin &&
          !AnyIsShort(c.allocatable_pods.data() + first, c.pod_count.data() + first, From(columns, first), count)) {
        return;
      }
      for (std::size_t i = 0; i < count; ++i) check_row(first + static_cast<NodeIndex>(i));
    });
  }

 private:
  // Which scalars of the request, at most kScalarsMax, have a class of devices behind them, with bits as a Shortage.
  std::uint64_t DeviceBackedOf(const Resource& request) const {
    Shortage device_backed = 0;
    for (std::size_t i = 0; i < request.scalars.size(); ++i) {
      if (IsDeviceBacked(request.scalars[i].first)) device_backed |= Shortage{1} << (kScalarBit + i);
    }
    return device_backed;
  }

  // Nodes differ only in the scalars that they have; the others are missing on all of them alike. Rows with equal
  // amounts of the former are one kind, and each kind is asked once.
  void FilterManyScalars(const Cycle& cycle, const Resource& request, std::span<const NodeIndex> rows,
                         std::span<VerdictId> verdicts, StatusTable& statuses) const {
    StringHashMap<VerdictId> known;
    std::string kind;
    const auto tell_apart = [&kind](std::int64_t amount, std::int64_t allocatable, std::int64_t requested) {
      Shortage shortage = 0;
      Check(amount, allocatable, requested, kPods, shortage);
      kind += static_cast<char>('0' + shortage);
    };
    for (const NodeIndex row : rows) {
      if (verdicts[row] != kVerdictOk) continue;
      const NodeInfo& node = cycle.nodes.Info(row);
      const Resource& has = node.allocatable();
      const Resource& gave = node.requested();
      kind.clear();
      kind += static_cast<std::int64_t>(node.pods().size()) + 1 > has.pods ? '1' : '0';
      tell_apart(request.cpu_milli, has.cpu_milli, gave.cpu_milli);
      tell_apart(request.memory_bytes, has.memory_bytes, gave.memory_bytes);
      tell_apart(request.ephemeral_storage_bytes, has.ephemeral_storage_bytes, gave.ephemeral_storage_bytes);
      for (const auto* scalars : {&has.scalars, &gave.scalars}) {
        for (const auto& [name, amount] : *scalars) {
          const std::int64_t asked = request.Scalar(name);
          if (asked <= 0) continue;
          kind.append(name).append(1, '\0');
          kind += has.Scalar(name) > 0 ? '+' : '0';  // of none, devices may take the place
          tell_apart(asked, has.Scalar(name), gave.Scalar(name));
        }
      }
      const auto [it, is_new] = known.try_emplace(kind, kVerdictOk);
      if (is_new) {
        const Status status = StatusOf(request, has, gave, node.pods().size());
        if (!status.IsSuccess()) it->second = statuses.Intern(status);
      }
      verdicts[row] = it->second;
    }
  }

  const DeviceState& devices_;
};

std::int64_t ResourceScore(const config::ScoringStrategy& strategy, std::int64_t requested, std::int64_t capacity,
                           bool saturates) {
  constexpr std::int64_t kMax = framework::kNodeScoreMax;
  switch (strategy.type) {
    case config::ScoringStrategyType::kLeastAllocated:
      if (requested > capacity) return 0;
      if (saturates) requested = std::max<std::int64_t>(requested, 0);
      return ShareOfWhole(WrappingSub(capacity, requested), capacity, kMax, saturates);
    case config::ScoringStrategyType::kMostAllocated:
      return ShareOfWhole(std::min(requested, capacity), capacity, kMax, saturates);
    case config::ScoringStrategyType::kRequestedToCapacityRatio: break;
  }
  // A broken line through the shape's points, flat outside of them, in integers.
  constexpr std::int64_t kUtilizationMax = 100;
  constexpr std::int64_t kShapeScoreScale = 10;
  const std::int64_t utilization =
      requested > capacity ? kUtilizationMax : ShareOfWhole(requested, capacity, kUtilizationMax, saturates);
  if (!strategy.shape) return 0;
  const std::vector<config::UtilizationShapePoint>& shape = *strategy.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].utilization) continue;
    if (i == 0) return shape[0].score * kShapeScoreScale;
    const config::UtilizationShapePoint& from = shape[i - 1];
    const std::int64_t rise = (shape[i].score - from.score) * kShapeScoreScale;
    return from.score * kShapeScoreScale +
           WrappingMul(rise, utilization - from.utilization) / (shape[i].utilization - from.utilization);
  }
  return shape.empty() ? 0 : shape.back().score * kShapeScoreScale;
}

// Extended resources may be left out by their names, or by the part before the slash.
bool IsIgnored(const config::NodeResourcesFitArgs& args, std::string_view scalar) {
  if (!framework::IsExtendedResourceName(scalar)) return false;
  return std::ranges::count(args.ignored_resources, scalar) > 0 ||
         std::ranges::count(args.ignored_resource_groups, scalar.substr(0, scalar.find('/'))) > 0;
}

class NodeResourcesFit final : public PreFilterPlugin,
                               public FastFilter,
                               public PreScorePlugin,
                               public FastScore,
                               public AmountsPlugin,
                               public framework::PlacementScorePlugin,
                               public ObjectReader,
                               public EnqueueExtensions {
 public:
  NodeResourcesFit(const config::NodeResourcesFitArgs& args, Handle& handle)
      : args_(args),
        handle_(handle),
        devices_(DeviceState::Of(handle)),
        scored_(strategy().resources,
                handle.release().scores_pod_level_requests ? PodAmounts::kNonzero : PodAmounts::kNonzeroOfContainers,
                devices_),
        saturates_(handle.release().saturates_scores) {}

  std::string_view Name() const override { return names::kNodeResourcesFit; }
  bool ReadsPlacementOnly() const override { return true; }

  Dependency PreFilterDependsOn() const override { return Dependency::kNode; }
  PreFilterResult PreFilter(const Cycle& cycle, const PodInfo& pod) const override {
    auto wanted = std::make_shared<Wanted>();
    wanted->request = RequestOf(pod);
    cycle.state.Write(kPreFilterKey, std::move(wanted));
    return {};
  }

  // The status names all that is short: "Too many pods", "Insufficient cpu" and so on. It is unresolvable when the pod
  // would not fit into the empty node.
  Dependency FilterDependsOn() const override { return Dependency::kNode; }
  Status Filter(const Cycle& cycle, const PodInfo&, const NodeInfo& node) const override {
    const auto* wanted = cycle.state.Read<Wanted>(kPreFilterKey);
    if (wanted == nullptr)
      return Status::Error("error reading \"PreFilterNodeResourcesFit\" from cycleState: not found");
    return check_.StatusOf(wanted->request, node.allocatable(), node.requested(), node.pods().size());
  }

  void FilterRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                  std::span<VerdictId> verdicts, StatusTable& statuses) const override {
    const auto* wanted = cycle.state.Read<Wanted>(kPreFilterKey);
    if (wanted == nullptr) return FastFilter::FilterRows(cycle, pod, rows, verdicts, statuses);
    check_.FilterRows(cycle, wanted->request, rows, verdicts, statuses);
  }

  Dependency PreScoreDependsOn() const override { return Dependency::kNode; }
  Status PreScore(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex>) const override {
    auto state = std::make_shared<PreScoreState>();
    state->pod_requests = scored_.PodRequests(*pod.pod_class);
    cycle.state.Write(kPreScoreKey, std::move(state));
    return Status::Success();
  }

  Dependency ScoreDependsOn() const override { return Dependency::kNode; }
  std::int64_t Score(const Cycle& cycle, const PodInfo& pod, NodeIndex, const NodeInfo& node, Status&) const override {
    const NodeAmounts source{scored_, node};
    const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
    return state != nullptr ? ScoreOf(source, state->pod_requests)
                            : ScoreOf(source, scored_.PodRequests(*pod.pod_class));
  }

  void ScoreRows(const Cycle& cycle, const PodInfo& pod, std::span<const NodeIndex> rows,
                 std::span<std::int64_t> scores, Status&) const override {
    const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
    std::vector<std::int64_t> own;
    if (state == nullptr) own = scored_.PodRequests(*pod.pod_class);
    const std::vector<std::int64_t>& pod_requests = state != nullptr ? state->pod_requests : own;
    const auto score_row = [&](NodeIndex row) {
      scores[row] = ScoreOf(RowAmounts{scored_, cycle.table, row}, pod_requests);
    };
    const std::optional<ShareOf> share = KernelShare();
    // Most pods are asked about a single row, that of the pod before them.
    const bool are_many = rows.size() >= kKernelRowsMin;
    const auto columns = share && are_many ? scored_.CpuAndMemoryRows(cycle.table, pod_requests) : std::nullopt;
    if (!columns) {
      for (const NodeIndex row : rows) score_row(row);
      return;
    }
    const bool are_exact = cycle.table.columns().unusual_count == 0;
    const std::array<std::int64_t, 2> weights{scored_.entries()[0].weight, scored_.entries()[1].weight};
    framework::ForEachRun(rows, kKernelRows, [&](NodeIndex first, std::size_t count) {
      const std::array<ResourceRows, 2> piece = From(*columns, first);
      if (count >= kKernelRowsMin && (are_exact || AreExact(piece, count))) {
        WeightedShare(*share, piece, weights, count, &scores[first]);
      } else {
        for (std::size_t i = 0; i < count; ++i) score_row(first + static_cast<NodeIndex>(i));
      }
    });
  }

  // Scores as MostAllocated does, whatever the strategy is, and as if the placement's nodes were one node.
  std::int64_t ScorePlacement(const framework::PodGroupKey&, const framework::PodGroupPlacement& placement,
                              std::span<const framework::PodGroupAssignment> assignments,
                              const NodeList& nodes) const override {
    const std::size_t count = scored_.entries().size();
    std::vector<std::int64_t> requests(count);
    for (const framework::PodGroupAssignment& assignment : assignments) {
      const std::vector<std::int64_t> own = scored_.PodRequests(*assignment.pod->pod_class);
      for (std::size_t i = 0; i < count; ++i) requests[i] = framework::WrappingAdd(requests[i], own[i]);
    }
    std::vector<ScoredResources::Amounts> sums(count);  // of all nodes
    for (const std::string& name : placement.node_names) {
      const NodeIndex row = nodes.Find(name);
      if (row == kNoNode) continue;
      for (std::size_t i = 0; i < count; ++i) {
        const ScoredResources::Amounts own = scored_.Of(i, nodes.Info(row));
        if (own.allocatable == 0) continue;
        sums[i].allocatable = framework::WrappingAdd(sums[i].allocatable, own.allocatable);
        sums[i].allocated = framework::WrappingAdd(sums[i].allocated, own.allocated);
      }
    }
    WeightedSum score;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t capacity = sums[i].allocatable;
      if (capacity == 0 || !scored_.IsScored(i, requests[i])) continue;
      const std::int64_t used = std::min(framework::WrappingAdd(sums[i].allocated, requests[i]), capacity);
      const std::int64_t share = ShareOfWhole(used, capacity, framework::kNodeScoreMax, saturates_);
      const std::int64_t weight = scored_.entries()[i].weight;
      score.score = framework::WrappingAdd(score.score, WrappingMul(share, weight));
      score.weight += weight;
    }
    return score.weight == 0 ? 0 : WrappingDiv(score.score, score.weight);
  }

  bool RestsOnAmounts(const Cycle& cycle, const PodInfo&) const override {
    const auto* wanted = cycle.state.Read<Wanted>(kPreFilterKey);
    const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
    if (wanted == nullptr || wanted->request.ephemeral_storage_bytes > 0 || !wanted->request.scalars.empty())
      return false;
    return state != nullptr && KernelShare() && scored_.CpuAndMemoryRows(cycle.table, state->pod_requests);
  }

  // Less used and more to use is never worse to kLeastAllocated, and never better to kMostAllocated.
  void ScoreBounds(const Cycle& emptiest, const Cycle& fullest, const PodInfo& pod,
                   std::span<std::int64_t> bounds) const override {
    const Cycle& best = KernelShare() == ShareOf::kFree ? emptiest : fullest;
    Status status;
    ScoreRows(best, pod, best.nodes.rows(), bounds, status);
  }

  std::vector<ObjectKind> ObjectsRead() const override {
    using enum ObjectKind;
    if (!scored_.MayCountDevices()) return {kDeviceClass};
    return {kDeviceClass, kResourceSlice, kResourceClaim};
  }
  std::uint64_t Epoch() const override { return scored_.DeviceEpoch(); }
  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    using namespace framework::action;
    std::vector<ClusterEventWithHint> events{
        OfClass(OnPod(kDelete | kUpdatePodScaleDown,
                      [this](const PodInfo& pod, const EventObjects& event) { return AfterPodEvent(pod, event); })),
        OfClass(OnNode(kAdd | kUpdateNodeAllocatable,
                       [this](const PodInfo& pod, const EventObjects& event) { return AfterNodeChange(pod, event); }))};
    // Whether a node is the nominated one is a question of the pod, not of its class.
    if (handle_.release().requeues_from_shrunken_nodes) {
      events.push_back(OnNode(kUpdateNodeAllocatable, [this](const PodInfo& pod, const EventObjects& event) {
        return QueueIf(HasLostNomination(pod, event));
      }));
    }
    if (handle_.release().devices.has_extended_resources)
      events.push_back(OfClass({{EventResource::kDeviceClass, kAdd | kUpdate}, AfterDeviceClassEvent}));
    return events;
  }

 private:
  // The request that the filter checks: the pod's, without ignored scalars.
  Resource RequestOf(const PodInfo& pod) const {
    Resource request = framework::PodRequestsFromSpec(*pod.pod_class);
    std::erase_if(request.scalars,
                  [this](const auto& scalar) { return scalar.second == 0 || IsIgnored(args_, scalar.first); });
    return request;
  }

  // Whether the pod fits on the node where `gone` took or kept room, or would if it evicted all that it may. What else
  // is nominated for the node counts, as it does when the filters run.
  bool MayFitWithout(const PodInfo& gone, const PodInfo& pod) const {
    const NodeList* const nodes = handle_.nodes();
    // The pods of a group are placed together, and make room together.
    if (nodes == nullptr || !pod.pod_group_name.empty()) return true;
    const std::string& node_name = gone.node_or_nomination();
    const NodeIndex row = nodes->Find(node_name);
    if (row == kNoNode) return false;
    const NodeInfo& node = nodes->Info(row);
    const Resource request = RequestOf(pod);
    Resource requested = node.requested();
    std::size_t pod_count = node.pods().size();
    for (const PodInfoPtr& nominated : handle_.NominatedPods(node_name)) {
      if (nominated->uid == pod.uid || nominated->priority() < pod.priority()) continue;
      requested.Add(nominated->pod_class->requests);
      ++pod_count;
    }
    if (check_.Fits(request, node.allocatable(), requested, pod_count)) return true;
    // The priority of a pod in a group may be the group's.
    const bool has_groups = handle_.pod_groups() != nullptr;
    const auto is_evictable = [&](const PodInfo& other) {
      return other.priority() < pod.priority() && (!has_groups || other.pod_group_name.empty());
    };
    // The deletion of a pod that this one could have evicted changes nothing for it.
    if (pod.spec().preemption_policy == api::PreemptionPolicy::kNever || is_evictable(gone)) return false;
    for (const PodInfoPtr& other : node.pods()) {
      const bool may_be_evictable = is_evictable(*other) || (has_groups && !other->pod_group_name.empty());
      if (!may_be_evictable) continue;
      requested.Subtract(other->pod_class->requests);
      --pod_count;
    }
    return check_.Fits(request, node.allocatable(), requested, pod_count);
  }

  // Whether the node to which the pod is nominated has just become too small for it. Other resources than these may be
  // away for a moment, while their device plugin starts again.
  bool HasLostNomination(const PodInfo& pod, const EventObjects& event) const {
    if (event.old_node == nullptr || event.new_node == nullptr || !pod.pod_group_name.empty()) return false;
    if (pod.nominated_node_name != event.new_node->metadata.name) return false;
    const Resource wanted = framework::PodRequestsFromSpec(*pod.pod_class);
    const Resource now = Resource::FromList(event.new_node->allocatable);
    const bool fits_now = wanted.cpu_milli <= now.cpu_milli && wanted.memory_bytes <= now.memory_bytes &&
                          wanted.ephemeral_storage_bytes <= now.ephemeral_storage_bytes;
    const Resource before = Resource::FromList(event.old_node->allocatable);
    return !fits_now && check_.StatusOf(wanted, before, Resource(), 0).IsSuccess();
  }

  // Upstream's hint wakes every pod that wants something of what became free, wherever that is.
  QueueingHint AfterPodEvent(const PodInfo& pod, const EventObjects& event) const {
    if (IsOwnUpdate(pod, event)) return QueueingHint::kQueue;
    if (event.old_pod == nullptr) return QueueIf(event.new_pod == nullptr || !event.new_pod->node_name.empty());
    const bool frees = event.new_pod == nullptr
                           ? WasAssignedOrNominated(*event.old_pod)
                           : !event.new_pod->node_name.empty() && GivesBack(*event.old_pod, *event.new_pod, pod);
    return QueueIf(frees && MayFitWithout(*event.old_pod, pod));
  }

  QueueingHint AfterNodeChange(const PodInfo& pod, const EventObjects& event) const {
    if (event.new_node == nullptr) return QueueingHint::kQueue;
    const Resource wanted = framework::PodRequestsFromSpec(*pod.pod_class);
    const Resource now = Resource::FromList(event.new_node->allocatable);
    // Whether it fits the empty node; ignored resources are checked here, as upstream does.
    if (!check_.StatusOf(wanted, now, Resource(), 0).IsSuccess()) return QueueingHint::kSkip;
    if (event.old_node == nullptr) return QueueingHint::kQueue;
    const Resource before = Resource::FromList(event.old_node->allocatable);
    const auto grew = [](std::int64_t want, std::int64_t from, std::int64_t to) { return want > 0 && to > from; };
    return QueueIf(now.pods > before.pods || grew(wanted.cpu_milli, before.cpu_milli, now.cpu_milli) ||
                   grew(wanted.memory_bytes, before.memory_bytes, now.memory_bytes) ||
                   grew(wanted.ephemeral_storage_bytes, before.ephemeral_storage_bytes, now.ephemeral_storage_bytes) ||
                   std::any_of(wanted.scalars.begin(), wanted.scalars.end(), [&](const auto& scalar) {
                     return grew(scalar.second, before.Scalar(scalar.first), now.Scalar(scalar.first)) ||
                            (scalar.second != 0 && now.Scalar(scalar.first) <= 0 &&
                             check_.IsDeviceBacked(scalar.first));
                   }));
  }

  // How WeightedShare computes the strategy's score; nullopt where the strategy or a weight rules that out.
  std::optional<ShareOf> KernelShare() const {
    for (const ScoredResources::Entry& entry : scored_.entries()) {
      if (entry.weight < 1 || entry.weight > kKernelWeightMax) return std::nullopt;
    }
    switch (strategy().type) {
      case config::ScoringStrategyType::kLeastAllocated: return ShareOf::kFree;
      case config::ScoringStrategyType::kMostAllocated: return ShareOf::kUsed;
      case config::ScoringStrategyType::kRequestedToCapacityRatio: break;
    }
    return std::nullopt;
  }

  template <typename Source>
  std::int64_t ScoreOf(const Source& source, const std::vector<std::int64_t>& pod_requests) const {
    const bool is_ratio = strategy().type == config::ScoringStrategyType::kRequestedToCapacityRatio;
    WeightedSum sum;
    for (std::size_t i = 0; i < pod_requests.size(); ++i) {
      if (!scored_.IsScored(i, pod_requests[i])) continue;
      const ScoredResources::Amounts amounts = source.Of(i);
      if (amounts.allocatable == 0) continue;
      const std::int64_t score = ResourceScore(strategy(), SumOf(amounts.allocated, pod_requests[i], saturates_),
                                               amounts.allocatable, saturates_);
      // The ratio strategy leaves resources that score nothing out of both sums.
      if (is_ratio && score <= 0) continue;
      const std::int64_t weight = scored_.entries()[i].weight;
      sum.score = framework::WrappingAdd(sum.score, WrappingMul(score, weight));
      sum.weight += weight;
    }
    if (sum.weight == 0) return 0;
    if (!is_ratio) return sum.score / sum.weight;
    // Upstream rounds the mean here, half away from zero, in floating point.
    return static_cast<std::int64_t>(std::round(static_cast<double>(sum.score) / static_cast<double>(sum.weight)));
  }

  const config::ScoringStrategy& strategy() const { return args_.scoring_strategy; }

  const config::NodeResourcesFitArgs args_;
  Handle& handle_;
  const std::shared_ptr<DeviceState> devices_;
  const FitCheck check_{*devices_};
  const ScoredResources scored_;
  const bool saturates_;  // Release::saturates_scores
};

}  // namespace

std::unique_ptr<framework::Plugin> CreateNodeResourcesFit(const config::NodeResourcesFitArgs& args, Handle& handle) {
  return std::make_unique<NodeResourcesFit>(args, handle);
}

}  // namespace berth::plugins
