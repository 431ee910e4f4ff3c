// The parts of the resource table: defaults, preparation for create and update, validation, rows. Each part is a set of
// plain functions of documents; resources.cc puts them together. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/names.h"
#include "berth/devcluster/apiserver/object.h"
#include "berth/devcluster/apiserver/resource.h"

namespace berth::apiserver::internal {

// --- Reading documents (resources_reading.cc) ------------------------------------------------------------------------

// The member below a path of objects ({"spec", "template", "spec"}); null when one of them is absent.
const json::value* FindPath(const json::object& object, std::initializer_list<std::string_view> path);
const json::object* ObjectAt(const json::object& object, std::initializer_list<std::string_view> path);
std::string_view StringAt(const json::object& object, std::initializer_list<std::string_view> path);

// The member as an object; an empty one when it is absent.
const json::object& Part(const json::object& object, std::string_view member);

std::int64_t IntMember(const json::object& object, std::string_view name, std::int64_t otherwise = 0);
bool BoolMember(const json::object& object, std::string_view name, bool otherwise = false);

// The objects of a list member; elements of other types are passed over.
std::vector<const json::object*> ObjectsOf(const json::object& object, std::string_view list);
std::vector<json::object*> MutableObjectsOf(json::object& object, std::string_view list);
// The strings of a list member, likewise.
std::vector<std::string_view> StringsOf(const json::object& object, std::string_view list);

// Seconds since 1970 of a time member; nullopt when absent, null or empty.
std::optional<std::int64_t> SecondsOf(const json::object& object, std::string_view name);

// --- Defaults (resources_defaults.cc) --------------------------------------------------------------------------------

void DefaultPod(json::object& pod);
void DefaultReplicationController(json::object& object);
void DefaultDeployment(json::object& object);
void DefaultReplicaSet(json::object& object);
void DefaultStatefulSet(json::object& object);
void DefaultDaemonSet(json::object& object);
void DefaultNode(json::object& node);
void DefaultNamespace(json::object& object);
void DefaultService(json::object& object);
void DefaultEndpoints(json::object& object);
void DefaultSecret(json::object& object);
void DefaultPersistentVolume(json::object& object);
void DefaultPersistentVolumeClaim(json::object& object);
void DefaultStorageClass(json::object& object);
void DefaultCsiDriver(json::object& object);
void DefaultPriorityClass(json::object& object);
void DefaultResourceClaim(json::object& object);
void DefaultResourceClaimTemplate(json::object& object);
void DefaultResourceSlice(json::object& object);
void DefaultEvent(json::object& object);

// --- Preparation (resources_prepare.cc) ------------------------------------------------------------------------------

// Guaranteed, Burstable or BestEffort.
std::string_view QosClass(const json::object& pod);

void PreparePodCreate(json::object& pod);
void PrepareServiceCreate(json::object& service);
void PrepareServiceUpdate(json::object& service, const json::object& old);

// How a type treats its status and its generation on writes to the object itself.
struct PrepareTraits {
  bool drops_status = false;  // on create; an update keeps the old status
  json::object first_status;  // what a create puts in its place; empty: no status at all
  bool has_generation = false;
  bool annotations_count = false;  // a change of annotations bumps the generation too (Deployment)
  // The parts of the object whose change bumps the generation, for types without a spec.
  std::vector<std::string_view> generation_members = {"spec"};
};
void PrepareCreate(const PrepareTraits& traits, json::object& object);
void PrepareUpdate(const PrepareTraits& traits, json::object& object, const json::object& old);

// --- Validation (resources_validation.cc, resources_validate*.cc) ----------------------------------------------------

using Errors = std::vector<FieldError>;

// The path of an element: "spec.volumes[2]".
std::string Indexed(const std::string& list, std::size_t index);

// Calls check(element, path) on each of ObjectsOf(owner, list); `field` is the owner's path.
template <typename Check>
void ForEachIn(const json::object& owner, std::string_view list, const std::string& field, const Check& check) {
  const std::vector<const json::object*> elements = ObjectsOf(owner, list);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    check(*elements[i], Indexed(field + "." + std::string(list), i));
  }
}

// Errors in upstream's words.
FieldError Required(std::string field, std::string_view detail = "");
FieldError Invalid(std::string field, const json::value& value, std::string_view detail);
FieldError Forbidden(std::string field, std::string_view detail);
FieldError Duplicate(std::string field, const json::value& value);
FieldError NotFoundValue(std::string field, const json::value& value, std::string_view detail = "");
FieldError NotSupported(std::string field, const json::value& value, const std::vector<std::string_view>& supported);

// One Invalid for each reason; see names.h.
void AddInvalid(Errors& errors, const std::string& field, std::string_view value, const std::vector<std::string>& why);

// The member, or null when it is absent.
json::value ValueOrNull(const json::object& object, std::string_view member);
// Whether other members than these differ; an absent one is as good as null.
bool DiffersBeyond(const std::set<std::string_view>& free_members, const json::object& now, const json::object& before);
// Compares the members of both; `field` is the path.
void ValidateImmutable(const json::object& now, const json::object& before, std::string_view member,
                       const std::string& field, Errors& errors);
// A name or a value that may be empty, and else has to keep to `rule` (see names.h).
using NameRule = std::vector<std::string> (*)(std::string_view);
void ValidateNameMember(const json::object& object, std::string_view member, const std::string& field, NameRule rule,
                        Errors& errors);
// Each string of a list keeps to `rule`.
void ValidateStringsOf(const json::object& object, std::string_view list, const std::string& field, NameRule rule,
                       Errors& errors);
// "name", which must be there, be a DNS label, and differ from those that are in `seen` already.
void ValidateUniqueLabelName(const json::object& object, const std::string& field, std::set<std::string>& seen,
                             Errors& errors);
void ValidatePort(const json::object& object, std::string_view member, const std::string& field, Errors& errors);
void ValidateLabels(const json::object& owner, std::string_view member, const std::string& field, Errors& errors);
void ValidateLabelSelector(const json::object& selector, const std::string& field, Errors& errors);
void ValidateNonNegative(const json::object& object, std::string_view member, const std::string& field, Errors& errors);
void ValidateOneOf(const json::object& object, std::string_view member, const std::string& field,
                   const std::vector<std::string_view>& supported, Errors& errors);
// An integer or a percentage that is not negative.
void ValidateIntOrPercent(const json::object& object, std::string_view member, const std::string& field,
                          Errors& errors);
// Quantities that are not negative, whole where the resource is counted; `field` + "." or "[" + name + "]" is the path.
void ValidateQuantities(const json::object& object, std::string_view member, const std::string& field, bool brackets,
                        Errors& errors);

void ValidatePodSpec(const json::object& spec, const std::string& field, Errors& errors);
void ValidatePodTemplateSpec(const json::object& spec, const std::string& field, Errors& errors);
void ValidatePod(const json::object& pod, const json::object* old, Errors& errors);
void ValidateTaints(const json::object& node, Errors& errors);
// Of nodes: the terms of a required node affinity, a volume, a device.
void ValidateNodeSelector(const json::object& selector, const std::string& field, Errors& errors);
// Of claims and of the templates in pods and stateful sets.
void ValidateClaimSpecOfVolume(const json::object& spec, const std::string& field, Errors& errors);

void ValidateDeployment(const json::object& object, const json::object* old, Errors& errors);
void ValidateReplicaSet(const json::object& object, const json::object* old, Errors& errors);
void ValidateStatefulSet(const json::object& object, const json::object* old, Errors& errors);
void ValidateDaemonSet(const json::object& object, const json::object* old, Errors& errors);
void ValidateReplicationController(const json::object& object, const json::object* old, Errors& errors);
void ValidateNode(const json::object& object, const json::object* old, Errors& errors);
void ValidateService(const json::object& object, const json::object* old, Errors& errors);
void ValidateConfigMap(const json::object& object, const json::object* old, Errors& errors);
void ValidateSecret(const json::object& object, const json::object* old, Errors& errors);
void ValidatePersistentVolume(const json::object& object, const json::object* old, Errors& errors);
void ValidatePersistentVolumeClaim(const json::object& object, const json::object* old, Errors& errors);
void ValidatePodDisruptionBudget(const json::object& object, const json::object* old, Errors& errors);
void ValidateLease(const json::object& object, const json::object* old, Errors& errors);
void ValidateStorageClass(const json::object& object, const json::object* old, Errors& errors);
void ValidateCsiDriver(const json::object& object, const json::object* old, Errors& errors);
void ValidateCsiNode(const json::object& object, const json::object* old, Errors& errors);
void ValidateCsiStorageCapacity(const json::object& object, const json::object* old, Errors& errors);
void ValidateVolumeAttachment(const json::object& object, const json::object* old, Errors& errors);
void ValidatePriorityClass(const json::object& object, const json::object* old, Errors& errors);
void ValidateDeviceClass(const json::object& object, const json::object* old, Errors& errors);
void ValidateResourceClaim(const json::object& object, const json::object* old, Errors& errors);
void ValidateResourceClaimTemplate(const json::object& object, const json::object* old, Errors& errors);
void ValidateResourceSlice(const json::object& object, const json::object* old, Errors& errors);
void ValidateEvent(const json::object& object, const json::object* old, Errors& errors);

// --- Rows (resources_rows.cc) ----------------------------------------------------------------------------------------

// The columns and the row function of a kind; Name and Age for a kind without its own.
struct Printing {
  std::vector<TableColumn> columns;
  std::function<json::array(const json::object& object, std::int64_t now_seconds)> row;
};
Printing PrintingOf(std::string_view kind);

}  // namespace berth::apiserver::internal
