// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/lease.h"

#include <limits>
#include <utility>

namespace berth::client {
namespace {

using codec::json::object;
using codec::json::value;

Error WrongField(std::string_view path, std::string_view want) {
  return InvalidError("Lease: " + std::string(path) + " should be " + std::string(want));
}

// A null member counts as absent, as in Go.
const value* Find(const object& from, std::string_view key) {
  const value* const member = from.if_contains(key);
  return member == nullptr || member->is_null() ? nullptr : member;
}

Expected<void> ReadText(const object& from, std::string_view path, std::string_view key, std::string& to) {
  const value* const member = Find(from, key);
  if (member == nullptr) return {};
  if (!member->is_string()) return WrongField(std::string(path) + '.' + std::string(key), "a text");
  to = std::string(member->as_string());
  return {};
}

Expected<void> ReadCount(const object& from, std::string_view key, std::int64_t& to) {
  const value* const member = Find(from, key);
  if (member == nullptr) return {};
  const bool is_count =
      member->is_int64() && member->as_int64() >= 0 && member->as_int64() <= std::numeric_limits<std::int32_t>::max();
  if (!is_count) return WrongField("spec." + std::string(key), "a number from 0 to 2147483647");
  to = member->as_int64();
  return {};
}

}  // namespace

Lease::Lease(const std::string& namespace_name, const std::string& name)
    : object_{{"apiVersion", "coordination.k8s.io/v1"},
              {"kind", "Lease"},
              {"metadata", object{{"namespace", namespace_name}, {"name", name}}},
              {"spec", object{}}} {}

Expected<Lease> Lease::Parse(std::string_view json) {
  BERTH_ASSIGN_OR_RETURN(auto parsed, codec::ParseJson(json));
  if (!parsed.is_object()) return InvalidError("Lease: should be a JSON object");
  Lease lease;
  lease.object_ = std::move(parsed.as_object());
  const value* const kind = Find(lease.object_, "kind");
  if (kind == nullptr || !kind->is_string() || kind->as_string() != "Lease") return WrongField("kind", "Lease");
  const value* const metadata = Find(lease.object_, "metadata");
  if (metadata == nullptr || !metadata->is_object()) return WrongField("metadata", "an object");
  BERTH_RETURN_IF_ERROR(ReadText(metadata->as_object(), "metadata", "uid", lease.uid_));
  BERTH_RETURN_IF_ERROR(ReadText(metadata->as_object(), "metadata", "resourceVersion", lease.resource_version_));
  // A write without a resourceVersion would overwrite concurrent changes.
  if (lease.resource_version_.empty()) return WrongField("metadata.resourceVersion", "a text that is not empty");
  const value* const spec = Find(lease.object_, "spec");
  if (spec == nullptr) return lease;
  if (!spec->is_object()) return WrongField("spec", "an object");
  const object& fields = spec->as_object();
  LeaseRecord& record = lease.record_;
  BERTH_RETURN_IF_ERROR(ReadText(fields, "spec", "holderIdentity", record.holder_identity));
  BERTH_RETURN_IF_ERROR(ReadCount(fields, "leaseDurationSeconds", record.lease_duration_seconds));
  BERTH_RETURN_IF_ERROR(ReadText(fields, "spec", "acquireTime", record.acquire_time));
  BERTH_RETURN_IF_ERROR(ReadText(fields, "spec", "renewTime", record.renew_time));
  BERTH_RETURN_IF_ERROR(ReadCount(fields, "leaseTransitions", record.lease_transitions));
  BERTH_RETURN_IF_ERROR(ReadText(fields, "spec", "preferredHolder", record.preferred_holder));
  BERTH_RETURN_IF_ERROR(ReadText(fields, "spec", "strategy", record.strategy));
  return lease;
}

void Lease::SetRecord(LeaseRecord record) {
  value& spec = object_["spec"];
  if (!spec.is_object()) spec = object{};
  object& fields = spec.as_object();
  fields["holderIdentity"] = record.holder_identity;
  fields["leaseDurationSeconds"] = record.lease_duration_seconds;
  fields["acquireTime"] = record.acquire_time;
  fields["renewTime"] = record.renew_time;
  fields["leaseTransitions"] = record.lease_transitions;
  record.preferred_holder = std::move(record_.preferred_holder);
  record.strategy = std::move(record_.strategy);
  record_ = std::move(record);
}

std::string Lease::Json() const { return codec::WriteJson(object_); }

}  // namespace berth::client
