// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/bind_operation.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "berth/base/go_text.h"
#include "berth/core/instruments/plugin_metrics.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/helper/framework_names.h"

namespace berth::plugins::volumes {
namespace {

constexpr Duration kPollInterval = std::chrono::seconds(1);

// Versions compare as numbers; what is none counts as 0, as an absent one does.
std::uint64_t ToNumber(std::string_view version) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
  return error == std::errc() && end == version.data() + version.size() ? number : 0;
}

// The store is behind what has been written: the watch has yet to bring it.
bool IsOlder(const api::ObjectMeta& stored, const std::string& written_version) {
  return ToNumber(written_version) > ToNumber(stored.resource_version);
}

// What the API server says when a write's resourceVersion is not the stored one.
std::string ConflictText(const framework::ObjectRef& object) {
  return "Operation cannot be fulfilled on " + object.resource + " " + GoQuoted(object.name) +
         ": the object has been modified; please apply your changes to the latest version and try again";
}

const std::string& UidOf(const Reservation::Binding& binding) { return binding.volume->metadata.uid; }
const std::string& UidOf(const Reservation::Provision& provision) { return provision.claim->metadata.uid; }
const std::string& VersionOf(const Reservation::Binding& binding) { return binding.volume->metadata.resource_version; }
const std::string& VersionOf(const Reservation::Provision& provision) {
  return provision.claim->metadata.resource_version;
}

}  // namespace

template <typename Visit>
auto BindOperation::WithCurrent(const Visit& visit) const {
  const std::size_t bindings = reservation_->bindings.size();
  return next_ < bindings ? visit(reservation_->bindings[next_]) : visit(reservation_->provisions[next_ - bindings]);
}

Operation BindOperation::WriteNext() {
  if (next_ == write_count()) {
    const Duration delay = std::min(kPollInterval, timeout_);
    return Operation::After(delay, [self = shared_from_this(), delay](const StepResult& result) {
      // When nothing was written, this step is the first to know the time.
      if (!self->deadline_) self->deadline_ = result.now - delay + self->timeout_;
      return self->OnWaited(result);
    });
  }
  return Operation::Write(WithCurrent([](const auto& write) { return PatchOf(write); }),
                          [self = shared_from_this()](const StepResult& result) { return self->OnWritten(result); });
}

Operation BindOperation::OnWritten(const StepResult& result) {
  if (!result.error) {
    auto object = ReadObject(result.body);
    if (object.ok()) {
      deadline_ = result.now + timeout_;
      return Written(std::move(object->resource_version));
    }
  } else if (!result.error->outcome_unknown && !unknown_since_) {
    return Fail(result.error->message);
  }
  // After a lost answer even a refusal says nothing: the earlier try may have taken effect since.
  if (!unknown_since_) unknown_since_ = result.now;
  return Read();
}

Operation BindOperation::Written(std::string version) {
  WithCurrent([&](auto& write) {
    write.is_written = true;
    write.written_version = std::move(version);
  });
  unknown_since_.reset();
  ++next_;
  return WriteNext();
}

Operation BindOperation::Read() {
  const framework::ObjectRef object = WithCurrent([](const auto& write) { return PatchOf(write).object; });
  return Operation::Write(framework::ObjectRead{object},
                          [self = shared_from_this()](const StepResult& result) { return self->OnRead(result); });
}

Operation BindOperation::OnRead(const StepResult& result) {
  const framework::ObjectRef ref = WithCurrent([](const auto& write) { return PatchOf(write).object; });
  const bool is_late = result.now >= unknown_since_.value_or(result.now) + timeout_;
  if (result.error && (result.error->code == ErrorCode::kNotFound || is_late)) return Fail(result.error->message);
  Expected<WrittenObject> object = result.error ? Expected<WrittenObject>(*result.error) : ReadObject(result.body);
  if (!object.ok()) {
    if (is_late) return Fail(object.error().message);
    return Operation::After(kPollInterval, [self = shared_from_this()](const StepResult&) { return self->Read(); });
  }
  const bool is_same_object = WithCurrent([&](const auto& write) { return UidOf(write) == object->uid; });
  if (is_same_object && WithCurrent([&](const auto& write) { return ShowsWrite(*object, write); })) {
    deadline_ = result.now + timeout_;
    return Written(std::move(object->resource_version));
  }
  const bool is_unchanged =
      is_same_object && WithCurrent([&](const auto& write) { return VersionOf(write) == object->resource_version; });
  if (!is_unchanged) return Fail(ConflictText(ref));
  if (is_late) return Fail("no answer to a write of " + ref.resource + " " + GoQuoted(ref.name));
  // Not there, but it may still be on its way. The same write again takes effect once at most.
  return Operation::After(kPollInterval, [self = shared_from_this()](const StepResult&) { return self->WriteNext(); });
}

Operation BindOperation::Wait(Time now) {
  const Duration rest = deadline_.value_or(now) - now;
  return Operation::After(std::min(kPollInterval, rest),
                          [self = shared_from_this()](const StepResult& result) { return self->OnWaited(result); });
}

Operation BindOperation::OnWaited(const StepResult& result) {
  if (result.now >= deadline_.value_or(result.now)) return Fail("binding volumes: context deadline exceeded");
  std::string error;
  const bool is_bound = IsBound(error);
  if (!error.empty()) return Fail("binding volumes: " + error);
  if (!is_bound) return Wait(result.now);
  on_bound_();
  return Operation::Done();
}

Operation BindOperation::Fail(std::string error) {
  instruments::CounterOf(handle_.metrics(), "scheduler_volume_scheduling_stage_error_total", {"bind"}).Add();
  Revert(sources_, *reservation_);
  return Operation::Done(Status::Error(std::move(error)));
}

const api::Node* BindOperation::FindNode() const {
  const NodeTable* nodes = handle_.node_table();
  if (nodes == nullptr) return reservation_->node.get();
  const NodeIndex row = nodes->Find(reservation_->node->metadata.name);
  return row == kNoNode || !nodes->Info(row).has_node() ? nullptr : &nodes->Info(row).node();
}

// Whether the pod still exists need not be checked, because its binding cycle ends when it is deleted.
bool BindOperation::IsBound(std::string& error) const {
  const api::Node* node = FindNode();
  if (node == nullptr) {
    const std::string name = GoQuoted(reservation_->node->metadata.name);
    error = "failed to get node " + name + ": node " + name + " not found";
    return false;
  }
  for (const Reservation::Binding& binding : reservation_->bindings) {
    if (!IsBindingDone(binding, *node, error)) return false;
  }
  for (const Reservation::Provision& provision : reservation_->provisions) {
    if (!IsProvisionDone(provision, *node, error)) return false;
  }
  return true;
}

namespace {

std::string AffinityError(const api::PersistentVolume& volume, const api::Node& node) {
  return "pv " + GoQuoted(volume.metadata.name) + " node affinity doesn't match node " + GoQuoted(node.metadata.name) +
         ": no matching NodeSelectorTerms";
}

Expected<bool> IsReachable(const Objects& objects, const api::PersistentVolume& volume, const api::Node& node) {
  return NodeDependentAffinity(volume).Matches(node.metadata.labels,
                                               objects.Of<api::CsiNode>().Find(node.metadata.name));
}

}  // namespace

bool BindOperation::IsBindingDone(const Reservation::Binding& binding, const api::Node& node,
                                  std::string& error) const {
  const std::string& name = binding.volume->metadata.name;
  const api::PersistentVolume* volume = sources_.objects.Of<api::PersistentVolume>().Find(name);
  if (volume == nullptr) {
    error = "failed to check binding: persistentvolumes " + GoQuoted(name) + " not found";
    return false;
  }
  const std::string claim_key = KeyOf(*binding.claim);
  const auto* claim = sources_.objects.Of<api::PersistentVolumeClaim>().Find(claim_key);
  if (claim == nullptr) {
    error = "failed to check binding: persistentvolumeclaims " + GoQuoted(claim_key) + " not found";
    return false;
  }
  if (IsOlder(volume->metadata, binding.written_version)) return false;
  const Expected<bool> is_reachable = IsReachable(sources_.objects, *volume, node);
  if (!is_reachable.ok()) {
    error = "failed to translate pv to csi: " + is_reachable.error().message;
  } else if (!*is_reachable) {
    error = AffinityError(*volume, node);
  } else if (!volume->spec.claim_ref || volume->spec.claim_ref->uid.empty()) {
    error = "ClaimRef got reset for pv " + GoQuoted(name);
  }
  return error.empty() && IsFullyBound(*claim);
}

bool BindOperation::IsProvisionDone(const Reservation::Provision& provision, const api::Node& node,
                                    std::string& error) const {
  const std::string key = KeyOf(*provision.claim);
  const auto* claim = sources_.objects.Of<api::PersistentVolumeClaim>().Find(key);
  if (claim == nullptr) {
    error = "failed to check provisioning pvc: persistentvolumeclaims " + GoQuoted(key) + " not found";
    return false;
  }
  if (IsOlder(claim->metadata, provision.written_version)) return false;
  if (claim->metadata.annotations.empty()) {
    error = "selectedNode annotation reset for PVC " + GoQuoted(claim->metadata.name);
    return false;
  }
  // A provisioner that fails takes the annotation away.
  const std::string* selected = claim->metadata.annotations.Find(kSelectedNodeAnnotation);
  if (selected == nullptr || *selected != node.metadata.name) {
    error = "provisioning failed for PVC " + GoQuoted(claim->metadata.name);
    return false;
  }
  if (!claim->volume_name.empty()) {
    const auto* volume = sources_.objects.Of<api::PersistentVolume>().Find(claim->volume_name);
    if (volume == nullptr) return false;  // the watch may bring it later
    const Expected<bool> is_reachable = IsReachable(sources_.objects, *volume, node);
    if (!is_reachable.ok()) {
      error = is_reachable.error().message;
    } else if (!*is_reachable) {
      error = AffinityError(*volume, node);
    }
    if (!error.empty()) return false;
  }
  return IsFullyBound(*claim);
}

}  // namespace berth::plugins::volumes
