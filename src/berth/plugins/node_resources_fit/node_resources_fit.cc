// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/node_resources_fit/node_resources_fit.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "berth/base/hash_map.h"
#include "berth/framework/pod_requests.h"
#include "berth/framework/row_runs.h"
#include "berth/plugins/helper/arithmetic.h"
#include "berth/plugins/helper/device_state.h"
#include "berth/plugins/helper/events.h"

namespace berth::plugins {
namespace {

using framework::NodeIndex;
using framework::Resource;
using framework::Status;
using framework::WrappingSub;

constexpr std::string_view kPreFilterKey = "PreFilterNodeResourcesFit";
constexpr std::string_view kPreScoreKey = "PreScoreNodeResourcesFit";

// What the filter checks of the pod: amounts above 0, scalars without the ignored ones.
struct Wanted final : framework::StateData {
  Resource request;
};

struct PreScoreState final : framework::StateData {
  std::vector<std::int64_t> pod_requests;  // parallel to the scored resources
};

// What is short on a node, as bits: the same bits, the same status.
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
  return Status(unresolvable ? framework::Code::kUnschedulableAndUnresolvable : framework::Code::kUnschedulable,
                std::move(reasons));
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
bool GivesBack(const framework::PodInfo& old_pod, const framework::PodInfo& new_pod, const framework::PodInfo& pod) {
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
framework::QueueingHint AfterDeviceClassEvent(const framework::PodInfo& pod, const framework::EventObjects& event) {
  const auto* before = event.Old<api::DeviceClass>();
  const auto* after = event.New<api::DeviceClass>();
  if (after == nullptr) return framework::QueueingHint::kQueue;
  if (before != nullptr && before->extended_resource_name.value_or("") == after->extended_resource_name.value_or("")) {
    return framework::QueueingHint::kSkip;
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

}  // namespace

NodeResourcesFit::NodeResourcesFit(NodeResourcesFitOptions options, framework::Handle* handle)
    : options_(std::move(options)),
      handle_(handle),
      devices_(handle == nullptr ? nullptr : DeviceState::Of(*handle)),
      scored_(options_.resources, RequestedKind::kNonzero, devices_) {}

bool NodeResourcesFit::IsDeviceBacked(std::string_view resource) const {
  return devices_ != nullptr && devices_->classes.Find(resource) != nullptr;
}

// Of at most kScalarsMax scalars, with bits as a Shortage.
std::uint64_t NodeResourcesFit::DeviceBackedOf(const Resource& request) const {
  Shortage device_backed = 0;
  for (std::size_t i = 0; i < request.scalars.size(); ++i) {
    if (IsDeviceBacked(request.scalars[i].first)) device_backed |= Shortage{1} << (kScalarBit + i);
  }
  return device_backed;
}

// The specification: all that is short for a pod on a node, each a reason.
Status NodeResourcesFit::FitStatus(const Resource& request, const Resource& allocatable, const Resource& requested,
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
  return Status(unresolvable ? framework::Code::kUnschedulableAndUnresolvable : framework::Code::kUnschedulable,
                std::move(reasons));
}

bool NodeResourcesFit::Fits(const Resource& request, const Resource& allocatable, const Resource& requested,
                            std::size_t pod_count) const {
  if (request.scalars.size() > kScalarsMax) return FitStatus(request, allocatable, requested, pod_count).IsSuccess();
  Shortage shortage = static_cast<std::int64_t>(pod_count) + 1 > allocatable.pods ? kPods : 0;
  Check(request.cpu_milli, allocatable.cpu_milli, requested.cpu_milli, kCpu, shortage);
  Check(request.memory_bytes, allocatable.memory_bytes, requested.memory_bytes, kMemory, shortage);
  Check(request.ephemeral_storage_bytes, allocatable.ephemeral_storage_bytes, requested.ephemeral_storage_bytes,
        kEphemeralStorage, shortage);
  CheckScalars(request, allocatable, requested, DeviceBackedOf(request), shortage);
  return shortage == 0;
}

// Whether the pod fits on the node where `gone` took or kept room, or would if it evicted all that it may. What else is
// nominated for the node counts, as it does when the filters run.
bool NodeResourcesFit::MayFitWithout(const framework::PodInfo& gone, const framework::PodInfo& pod) const {
  const framework::NodeList* const nodes = handle_ == nullptr ? nullptr : handle_->nodes();
  // The pods of a group are placed together, and make room together.
  if (nodes == nullptr || !pod.pod_group_name.empty()) return true;
  const std::string& node_name = gone.node_or_nomination();
  const NodeIndex row = nodes->Find(node_name);
  if (row == framework::kNoNode) return false;
  const framework::NodeInfo& node = nodes->Info(row);
  const Resource request = RequestOf(pod);
  Resource requested = node.requested();
  std::size_t pod_count = node.pods().size();
  for (const framework::PodInfoPtr& nominated : handle_->NominatedPods(node_name)) {
    if (nominated->uid == pod.uid || nominated->priority() < pod.priority()) continue;
    requested.Add(nominated->pod_class->requests);
    ++pod_count;
  }
  if (Fits(request, node.allocatable(), requested, pod_count)) return true;
  // The priority of a pod in a group may be the group's.
  const bool has_groups = handle_->pod_groups() != nullptr;
  const auto is_evictable = [&](const framework::PodInfo& other) {
    return other.priority() < pod.priority() && (!has_groups || other.pod_group_name.empty());
  };
  // Whom the pod may evict, it could have evicted before.
  if (pod.spec().preemption_policy == api::PreemptionPolicy::kNever || is_evictable(gone)) return false;
  for (const framework::PodInfoPtr& other : node.pods()) {
    const bool may_be_evictable = is_evictable(*other) || (has_groups && !other->pod_group_name.empty());
    if (!may_be_evictable) continue;
    requested.Subtract(other->pod_class->requests);
    --pod_count;
  }
  return Fits(request, node.allocatable(), requested, pod_count);
}

// Upstream's hint wakes every pod that wants something of what became free, wherever that is.
framework::QueueingHint NodeResourcesFit::AfterPodEvent(const framework::PodInfo& pod,
                                                        const framework::EventObjects& event) const {
  if (IsOwnUpdate(pod, event)) return framework::QueueingHint::kQueue;
  if (event.old_pod == nullptr) return QueueIf(event.new_pod == nullptr || !event.new_pod->node_name.empty());
  const bool frees = event.new_pod == nullptr
                         ? WasAssignedOrNominated(*event.old_pod)
                         : !event.new_pod->node_name.empty() && GivesBack(*event.old_pod, *event.new_pod, pod);
  return QueueIf(frees && MayFitWithout(*event.old_pod, pod));
}

framework::QueueingHint NodeResourcesFit::AfterNodeChange(const framework::PodInfo& pod,
                                                          const framework::EventObjects& event) const {
  if (event.new_node == nullptr) return framework::QueueingHint::kQueue;
  const Resource wanted = framework::PodRequestsFromSpec(*pod.pod_class);
  const Resource now = Resource::FromList(event.new_node->allocatable);
  // Whether it fits the empty node; ignored resources are checked here, as upstream does.
  if (!FitStatus(wanted, now, Resource(), 0).IsSuccess()) return framework::QueueingHint::kSkip;
  if (event.old_node == nullptr) return framework::QueueingHint::kQueue;
  const Resource before = Resource::FromList(event.old_node->allocatable);
  const auto grew = [](std::int64_t want, std::int64_t from, std::int64_t to) { return want > 0 && to > from; };
  return QueueIf(now.pods > before.pods || grew(wanted.cpu_milli, before.cpu_milli, now.cpu_milli) ||
                 grew(wanted.memory_bytes, before.memory_bytes, now.memory_bytes) ||
                 grew(wanted.ephemeral_storage_bytes, before.ephemeral_storage_bytes, now.ephemeral_storage_bytes) ||
                 std::any_of(wanted.scalars.begin(), wanted.scalars.end(), [&](const auto& scalar) {
                   return grew(scalar.second, before.Scalar(scalar.first), now.Scalar(scalar.first)) ||
                          (scalar.second != 0 && now.Scalar(scalar.first) <= 0 && IsDeviceBacked(scalar.first));
                 }));
}

bool NodeResourcesFit::IsIgnored(std::string_view scalar) const {
  if (!framework::IsExtendedResourceName(scalar)) return false;
  return options_.ignored_resources.contains(std::string(scalar)) ||
         options_.ignored_resource_groups.contains(std::string(scalar.substr(0, scalar.find('/'))));
}

// What the filter checks: scalars without the ignored ones.
Resource NodeResourcesFit::RequestOf(const framework::PodInfo& pod) const {
  Resource request = framework::PodRequestsFromSpec(*pod.pod_class);
  std::erase_if(request.scalars, [this](const auto& scalar) { return scalar.second == 0 || IsIgnored(scalar.first); });
  return request;
}

framework::PreFilterResult NodeResourcesFit::PreFilter(const framework::Cycle& cycle,
                                                       const framework::PodInfo& pod) const {
  auto wanted = std::make_shared<Wanted>();
  wanted->request = RequestOf(pod);
  cycle.state.Write(kPreFilterKey, std::move(wanted));
  return {};
}

Status NodeResourcesFit::Filter(const framework::Cycle& cycle, const framework::PodInfo&,
                                const framework::NodeInfo& node) const {
  const auto* wanted = cycle.state.Read<Wanted>(kPreFilterKey);
  if (wanted == nullptr) return Status::Error("error reading \"PreFilterNodeResourcesFit\" from cycleState: not found");
  return FitStatus(wanted->request, node.allocatable(), node.requested(), node.pods().size());
}

void NodeResourcesFit::FilterRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                  std::span<const NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                                  framework::StatusTable& statuses) const {
  const auto* wanted = cycle.state.Read<Wanted>(kPreFilterKey);
  if (wanted == nullptr) return FastFilter::FilterRows(cycle, pod, rows, verdicts, statuses);
  if (wanted->request.scalars.size() > kScalarsMax) {
    return FilterManyScalars(cycle, wanted->request, rows, verdicts, statuses);
  }
  const Resource& request = wanted->request;
  const framework::NodeTable::Columns& c = cycle.table.columns();
  const bool has_ephemeral = request.ephemeral_storage_bytes > 0;
  const bool has_scalars = !request.scalars.empty();
  const Shortage device_backed = DeviceBackedOf(request);
  std::vector<std::pair<Shortage, framework::VerdictId>> known;
  const auto check_row = [&](NodeIndex row) {
    if (verdicts[row] != framework::kVerdictOk) return;
    Shortage shortage = c.pod_count[row] + 1 > c.allocatable_pods[row] ? kPods : 0;
    Check(request.cpu_milli, c.allocatable_cpu_milli[row], c.requested_cpu_milli[row], kCpu, shortage);
    Check(request.memory_bytes, c.allocatable_memory_bytes[row], c.requested_memory_bytes[row], kMemory, shortage);
    if (has_ephemeral) {
      Check(request.ephemeral_storage_bytes, c.allocatable_ephemeral_bytes[row], c.requested_ephemeral_bytes[row],
            kEphemeralStorage, shortage);
    }
    if (has_scalars) {
      const framework::NodeInfo& node = cycle.nodes.Info(row);
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

// A node answers for the scalars that it has, and all nodes alike for the others: rows are told apart by the former,
// and each kind of row is asked once.
void NodeResourcesFit::FilterManyScalars(const framework::Cycle& cycle, const Resource& request,
                                         std::span<const NodeIndex> rows, std::span<framework::VerdictId> verdicts,
                                         framework::StatusTable& statuses) const {
  StringHashMap<framework::VerdictId> known;
  std::string kind;
  const auto tell_apart = [&kind](std::int64_t amount, std::int64_t allocatable, std::int64_t requested) {
    Shortage shortage = 0;
    Check(amount, allocatable, requested, kPods, shortage);
    kind += static_cast<char>('0' + shortage);
  };
  for (const NodeIndex row : rows) {
    if (verdicts[row] != framework::kVerdictOk) continue;
    const framework::NodeInfo& node = cycle.nodes.Info(row);
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
    const auto [it, is_new] = known.try_emplace(kind, framework::kVerdictOk);
    if (is_new) {
      const Status status = FitStatus(request, has, gave, node.pods().size());
      if (!status.IsSuccess()) it->second = statuses.Intern(status);
    }
    verdicts[row] = it->second;
  }
}

Status NodeResourcesFit::PreScore(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                  std::span<const NodeIndex>) const {
  auto state = std::make_shared<PreScoreState>();
  state->pod_requests = scored_.PodRequests(*pod.pod_class);
  cycle.state.Write(kPreScoreKey, std::move(state));
  return Status::Success();
}

std::int64_t NodeResourcesFit::ResourceScore(std::int64_t requested, std::int64_t capacity) const {
  constexpr std::int64_t kMax = framework::kNodeScoreMax;
  switch (options_.strategy) {
    case ScoringStrategy::kLeastAllocated:
      return requested > capacity ? 0 : WrappingDiv(WrappingMul(WrappingSub(capacity, requested), kMax), capacity);
    case ScoringStrategy::kMostAllocated:
      return WrappingDiv(WrappingMul(std::min(requested, capacity), kMax), capacity);
    case ScoringStrategy::kRequestedToCapacityRatio: break;
  }
  // A broken line through the shape's points, flat outside of them, in integers.
  constexpr std::int64_t kUtilizationMax = 100;
  constexpr std::int64_t kShapeScoreScale = 10;
  const std::int64_t utilization =
      requested > capacity ? kUtilizationMax : WrappingDiv(WrappingMul(requested, kUtilizationMax), capacity);
  const std::vector<ShapePoint>& shape = options_.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].utilization) continue;
    if (i == 0) return shape[0].score * kShapeScoreScale;
    const ShapePoint& from = shape[i - 1];
    const std::int64_t rise = (shape[i].score - from.score) * kShapeScoreScale;
    return from.score * kShapeScoreScale +
           WrappingMul(rise, utilization - from.utilization) / (shape[i].utilization - from.utilization);
  }
  return shape.empty() ? 0 : shape.back().score * kShapeScoreScale;
}

template <typename Source>
std::int64_t NodeResourcesFit::ScoreOf(const Source& source, const std::vector<std::int64_t>& pod_requests) const {
  const bool is_ratio = options_.strategy == ScoringStrategy::kRequestedToCapacityRatio;
  WeightedSum sum;
  for (std::size_t i = 0; i < pod_requests.size(); ++i) {
    if (!scored_.IsScored(i, pod_requests[i])) continue;
    const ScoredResources::Amounts amounts = source.Of(i);
    if (amounts.allocatable == 0) continue;
    const std::int64_t score =
        ResourceScore(framework::WrappingAdd(amounts.allocated, pod_requests[i]), amounts.allocatable);
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

std::int64_t NodeResourcesFit::Score(const framework::Cycle& cycle, const framework::PodInfo& pod, NodeIndex,
                                     const framework::NodeInfo& node, Status&) const {
  const NodeAmounts source{scored_, node};
  const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
  return state != nullptr ? ScoreOf(source, state->pod_requests) : ScoreOf(source, scored_.PodRequests(*pod.pod_class));
}

void NodeResourcesFit::ScoreRows(const framework::Cycle& cycle, const framework::PodInfo& pod,
                                 std::span<const NodeIndex> rows, std::span<std::int64_t> scores, Status&) const {
  const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
  std::vector<std::int64_t> own;
  if (state == nullptr) own = scored_.PodRequests(*pod.pod_class);
  const std::vector<std::int64_t>& pod_requests = state != nullptr ? state->pod_requests : own;
  const auto score_row = [&](NodeIndex row) {
    scores[row] = ScoreOf(RowAmounts{scored_, cycle.table, row}, pod_requests);
  };
  const std::optional<ShareOf> share = KernelShare();
  // For most pods the only row is that of the pod before.
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

std::int64_t NodeResourcesFit::ScorePlacement(const framework::PodGroupKey&,
                                              const framework::PodGroupPlacement& placement,
                                              std::span<const framework::PodGroupAssignment> assignments,
                                              const framework::NodeList& nodes) const {
  const std::size_t count = scored_.entries().size();
  std::vector<std::int64_t> requests(count);
  for (const framework::PodGroupAssignment& assignment : assignments) {
    const std::vector<std::int64_t> own = scored_.PodRequests(*assignment.pod->pod_class);
    for (std::size_t i = 0; i < count; ++i) requests[i] = framework::WrappingAdd(requests[i], own[i]);
  }
  std::vector<ScoredResources::Amounts> sums(count);  // of all nodes
  for (const std::string& name : placement.node_names) {
    const NodeIndex row = nodes.Find(name);
    if (row == framework::kNoNode) continue;
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
    const std::int64_t share = WrappingDiv(WrappingMul(used, framework::kNodeScoreMax), capacity);
    const std::int64_t weight = scored_.entries()[i].weight;
    score.score = framework::WrappingAdd(score.score, WrappingMul(share, weight));
    score.weight += weight;
  }
  return score.weight == 0 ? 0 : WrappingDiv(score.score, score.weight);
}

bool NodeResourcesFit::RestsOnAmounts(const framework::Cycle& cycle, const framework::PodInfo&) const {
  const auto* wanted = cycle.state.Read<Wanted>(kPreFilterKey);
  const auto* state = cycle.state.Read<PreScoreState>(kPreScoreKey);
  if (wanted == nullptr || wanted->request.ephemeral_storage_bytes > 0 || !wanted->request.scalars.empty())
    return false;
  return state != nullptr && KernelShare() && scored_.CpuAndMemoryRows(cycle.table, state->pod_requests);
}

// Less used and more to use is never worse to kLeastAllocated, and never better to kMostAllocated.
void NodeResourcesFit::ScoreBounds(const framework::Cycle& emptiest, const framework::Cycle& fullest,
                                   const framework::PodInfo& pod, std::span<std::int64_t> bounds) const {
  const framework::Cycle& best = KernelShare() == ShareOf::kFree ? emptiest : fullest;
  Status status;
  ScoreRows(best, pod, best.nodes.rows(), bounds, status);
}

std::optional<ShareOf> NodeResourcesFit::KernelShare() const {
  for (const ScoredResources::Entry& entry : scored_.entries()) {
    if (entry.weight < 1 || entry.weight > kKernelWeightMax) return std::nullopt;
  }
  switch (options_.strategy) {
    case ScoringStrategy::kLeastAllocated: return ShareOf::kFree;
    case ScoringStrategy::kMostAllocated: return ShareOf::kUsed;
    case ScoringStrategy::kRequestedToCapacityRatio: break;
  }
  return std::nullopt;
}

std::vector<framework::ObjectKind> NodeResourcesFit::ObjectsRead() const {
  using enum framework::ObjectKind;
  if (devices_ == nullptr) return {};
  if (!scored_.MayCountDevices()) return {kDeviceClass};
  return {kDeviceClass, kResourceSlice, kResourceClaim};
}

std::uint64_t NodeResourcesFit::Epoch() const { return scored_.DeviceEpoch(); }

std::vector<framework::ClusterEventWithHint> NodeResourcesFit::EventsToRegister() const {
  using namespace framework::action;
  return {OfClass(OnPod(kDelete | kUpdatePodScaleDown,
                        [this](const framework::PodInfo& pod, const framework::EventObjects& event) {
                          return AfterPodEvent(pod, event);
                        })),
          OfClass(OnNode(kAdd | kUpdateNodeAllocatable,
                         [this](const framework::PodInfo& pod, const framework::EventObjects& event) {
                           return AfterNodeChange(pod, event);
                         })),
          OfClass({{framework::EventResource::kDeviceClass, kAdd | kUpdate}, AfterDeviceClassEvent})};
}

}  // namespace berth::plugins
