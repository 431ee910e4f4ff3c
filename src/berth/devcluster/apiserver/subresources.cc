// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/subresources.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/selector.h"
#include "berth/devcluster/apiserver/rest_parameters.h"
#include "berth/devcluster/objects/custom/custom_columns.h"

namespace berth::apiserver {
namespace {

// Sets the condition of that type, as upstream's UpdatePodCondition: the transition time moves when the status does.
void SetPodCondition(json::object& status, std::string_view type, std::string_view reason, std::string_view message,
                     std::int64_t generation, Time now) {
  json::value& conditions = status["conditions"];
  if (!conditions.is_array()) conditions.emplace_array();
  json::object wanted{{"type", type}};
  if (generation > 0) wanted["observedGeneration"] = generation;
  wanted["status"] = "True";
  wanted["lastProbeTime"] = nullptr;
  wanted["lastTransitionTime"] = FormatRfc3339(now);
  if (!reason.empty()) wanted["reason"] = reason;
  if (!message.empty()) wanted["message"] = message;
  for (json::value& each : conditions.get_array()) {
    if (!each.is_object() || objects::StringMember(each.get_object(), "type") != type) continue;
    if (objects::StringMember(each.get_object(), "status") == "True") {
      wanted["lastTransitionTime"] = objects::StringMember(each.get_object(), "lastTransitionTime");
    }
    each = std::move(wanted);
    return;
  }
  conditions.get_array().push_back(std::move(wanted));
}

std::int64_t Integer(const json::object* object, std::string_view name) {
  const json::value* member = object == nullptr ? nullptr : objects::FindMember(*object, name);
  return member != nullptr && member->is_int64() ? member->get_int64() : 0;
}

// The integer at a path of plain names, ".spec.replicas".
std::int64_t IntegerAt(const json::object& document, std::string_view path) {
  const json::value* value = objects::FindByJsonPath(document, path);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

void SetAt(json::object& document, std::string_view path, std::int64_t number) {
  json::object* at = &document;
  path.remove_prefix(std::min<std::size_t>(1, path.size()));
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    at = &objects::MutableObject(*at, path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  (*at)[path] = number;
}

void CopyStrings(json::object& metadata, const json::object* from, std::string_view name) {
  const json::object* entries = from == nullptr ? nullptr : objects::ObjectMember(*from, name);
  if (entries == nullptr || entries->empty()) return;
  json::object& target = objects::MutableObject(metadata, name);
  for (const auto& entry : *entries) {
    if (entry.value().is_string()) target[entry.key()] = entry.value();
  }
}

bool IsReady(const json::object* status) {
  const json::array* conditions = status == nullptr ? nullptr : objects::ArrayMember(*status, "conditions");
  if (conditions == nullptr) return false;
  return std::any_of(conditions->begin(), conditions->end(), [](const json::value& each) {
    return each.is_object() && objects::StringMember(each.get_object(), "type") == "Ready" &&
           objects::StringMember(each.get_object(), "status") == "True";
  });
}

// metav1.LabelSelector as a document; one that cannot be read matches nothing.
bool SelectorMatches(const json::object* selector, const api::StringMap& labels) {
  if (selector == nullptr) return false;
  if (const json::object* exact = objects::ObjectMember(*selector, "matchLabels")) {
    for (const auto& entry : *exact) {
      const std::string* value = labels.Find(entry.key());
      if (value == nullptr || !entry.value().is_string() || *value != objects::View(entry.value().get_string()))
        return false;
    }
  }
  if (const json::array* expressions = objects::ArrayMember(*selector, "matchExpressions")) {
    for (const json::value& each : *expressions) {
      if (!each.is_object()) return false;
      api::Requirement requirement;
      requirement.key = objects::StringMember(each.get_object(), "key");
      requirement.op = api::ParseSelectorOperator(objects::StringMember(each.get_object(), "operator"));
      if (const json::array* values = objects::ArrayMember(each.get_object(), "values")) {
        for (const json::value& value : *values) {
          if (value.is_string()) requirement.values.emplace_back(objects::View(value.get_string()));
        }
      }
      if (!requirement.Matches(labels.Find(requirement.key))) return false;
    }
  }
  return true;
}

objects::StatusError NoDisruption(std::string cause) {
  objects::StatusError error{.code = 429,
                             .reason = "TooManyRequests",
                             .message = "Cannot evict pod as it would violate the pod's disruption budget."};
  error.causes.push_back({"DisruptionBudget", std::move(cause), ""});
  return error;
}

// Takes one disruption from the budget, or says why there is none.
objects::Outcome<json::object> TakeDisruption(const json::object& current, std::string_view pod_name, Time now,
                                              const json::storage_ptr& storage) {
  json::object budget(current, storage);
  const std::string name(objects::StringMember(*objects::ObjectMember(current, "metadata"), "name"));
  json::object& status = objects::MutableObject(budget, "status");
  if (Integer(&status, "observedGeneration") < Integer(objects::ObjectMember(current, "metadata"), "generation")) {
    return NoDisruption("The disruption budget " + name + " is still being processed by the server.");
  }
  const std::int64_t allowed = Integer(&status, "disruptionsAllowed");
  if (allowed <= 0) {
    const std::int64_t desired = Integer(&status, "desiredHealthy");
    const std::int64_t healthy = Integer(&status, "currentHealthy");
    return NoDisruption(healthy <= desired
                            ? "The disruption budget " + name + " needs " + std::to_string(desired) +
                                  " healthy pods and has " + std::to_string(healthy) + " currently"
                            : "The disruption budget " + name + " does not allow evicting pods currently");
  }
  status["disruptionsAllowed"] = allowed - 1;
  objects::MutableObject(status, "disruptedPods")[json::string_view(pod_name.data(), pod_name.size())] =
      FormatRfc3339(now);
  return budget;
}

// The budgets whose selector matches the pod.
std::vector<objects::ObjectPtr> BudgetsOf(const Registry& registry, const objects::ServedType* budgets,
                                          const objects::StoredObject& pod) {
  std::vector<objects::ObjectPtr> matching;
  if (budgets == nullptr) return matching;
  Store::ListQuery query;
  query.selector.namespace_name = pod.namespace_name();
  for (const objects::ObjectPtr& budget : registry.store().List(budgets->table, query).objects) {
    const json::object document = objects::ParseStored(*budget);
    const json::object* spec = objects::ObjectMember(document, "spec");
    if (spec != nullptr && SelectorMatches(objects::ObjectMember(*spec, "selector"), pod.labels))
      matching.push_back(budget);
  }
  return matching;
}

// True when the pod is not ready and its budget lets such pods go without counting them.
bool MayEvictUnready(const objects::StoredObject& budget, const json::object* pod_status) {
  if (IsReady(pod_status)) return false;
  const json::object document = objects::ParseStored(budget);
  const json::object* spec = objects::ObjectMember(document, "spec");
  const json::object* status = objects::ObjectMember(document, "status");
  if (spec != nullptr && objects::StringMember(*spec, "unhealthyPodEvictionPolicy") == "AlwaysAllow") return true;
  const std::int64_t desired = Integer(status, "desiredHealthy");
  return desired > 0 && Integer(status, "currentHealthy") >= desired;
}

bool HasStrings(const json::object* metadata, std::string_view name) {
  const json::object* entries = metadata == nullptr ? nullptr : objects::ObjectMember(*metadata, name);
  return entries != nullptr && !entries->empty();
}

// The pod on its node, in the same words as BindPod's usual way; nullopt for a pod that is not as it was created.
std::optional<objects::StoredObject> BindFreshPod(const objects::ResourceType& type, const objects::StoredObject& pod,
                                                  std::string_view node, Time now) {
  if (pod.fresh.spec_tail == 0) return std::nullopt;
  // The members in SetPodCondition's order.
  std::string condition = R"(,"conditions":[{"type":"PodScheduled",)";
  if (pod.fresh.generation > 0) {
    condition.append(R"("observedGeneration":)").append(std::to_string(pod.fresh.generation)).append(",");
  }
  condition.append(R"("status":"True","lastProbeTime":null,"lastTransitionTime":")");
  condition.append(FormatRfc3339(now)).append("\"}]");
  const std::string node_text = json::serialize(json::string_view(node.data(), node.size()));
  objects::StoredObject bound = objects::WithSpecAndStatus(pod, ",\"nodeName\":" + node_text, condition);
  for (std::size_t i = 0; i < type.selectable_fields.size() && i < bound.fields.size(); ++i) {
    if (type.selectable_fields[i] == "spec.nodeName") bound.fields[i] = node;
  }
  return bound;
}

}  // namespace

objects::Outcome<objects::Done> BindPod(Registry& registry, const objects::ServedType& pods,
                                        std::string_view namespace_name, std::string_view pod_name,
                                        const json::object& binding, bool is_dry_run) {
  const std::string_view kind = objects::StringMember(binding, "kind");
  if (!kind.empty() && kind != "Binding")
    return objects::BadRequest("the body must be a Binding, and is a " + std::string(kind));
  const json::object* metadata = objects::ObjectMember(binding, "metadata");
  const std::string_view own_name = metadata == nullptr ? std::string_view() : objects::StringMember(*metadata, "name");
  if (pod_name.empty()) pod_name = own_name;
  if (pod_name.empty() || (!own_name.empty() && own_name != pod_name)) {
    return objects::BadRequest("name in URL does not match name in Binding object");
  }
  const std::string_view own_namespace =
      metadata == nullptr ? std::string_view() : objects::StringMember(*metadata, "namespace");
  if (!own_namespace.empty() && own_namespace != namespace_name) {
    return objects::BadRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  const json::object* target = objects::ObjectMember(binding, "target");
  const std::string_view node = target == nullptr ? std::string_view() : objects::StringMember(*target, "name");
  const std::string_view target_kind = target == nullptr ? std::string_view() : objects::StringMember(*target, "kind");
  std::vector<objects::FieldError> errors;
  if (!target_kind.empty() && target_kind != "Node") {
    errors.push_back({"target.kind", "FieldValueNotSupported",
                      "Unsupported value: " + json::serialize(json::string(target_kind)) +
                          ": supported values: \"Node\", \"<empty>\""});
  }
  if (node.empty()) errors.push_back({"target.name", "FieldValueRequired", "Required value"});
  if (!errors.empty()) return objects::InvalidKind("", "Binding", pod_name, errors);

  const std::string_view uid = metadata == nullptr ? std::string_view() : objects::StringMember(*metadata, "uid");
  const std::string_view version =
      metadata == nullptr ? std::string_view() : objects::StringMember(*metadata, "resourceVersion");
  const objects::ResourceType& type = *pods.type;
  const std::string name(pod_name);
  const bool is_plain =
      !is_dry_run && version.empty() && !HasStrings(metadata, "annotations") && !HasStrings(metadata, "labels");
  if (is_plain && registry.UpdateText(pods, namespace_name, pod_name, [&](const objects::StoredObject& pod) {
        return uid.empty() || uid == pod.uid ? BindFreshPod(type, pod, node, registry.WallNow()) : std::nullopt;
      })) {
    return objects::Done();
  }
  const auto bind = [&](const json::object* current,
                        const json::storage_ptr& storage) -> objects::Outcome<json::object> {
    const json::object& current_metadata = *objects::ObjectMember(*current, "metadata");
    const std::string_view current_uid = objects::StringMember(current_metadata, "uid");
    const std::string_view current_version = objects::StringMember(current_metadata, "resourceVersion");
    if (!uid.empty() && uid != current_uid) {
      return objects::Conflict(type, name,
                               "Precondition failed: UID in precondition: " + std::string(uid) +
                                   ", UID in object meta: " + std::string(current_uid));
    }
    if (!version.empty() && version != current_version) {
      return objects::Conflict(type, name,
                               "Precondition failed: ResourceVersion in precondition: " + std::string(version) +
                                   ", ResourceVersion in object meta: " + std::string(current_version));
    }
    if (!objects::StringMember(current_metadata, "deletionTimestamp").empty()) {
      return objects::Conflict(type, name, "pod " + name + " is being deleted, cannot be assigned to a host",
                               "binding");
    }
    json::object pod(*current, storage);
    json::object& spec = objects::MutableObject(pod, "spec");
    if (const std::string_view taken = objects::StringMember(spec, "nodeName"); !taken.empty()) {
      return objects::Conflict(type, name, "pod " + name + " is already assigned to node \"" + std::string(taken) + '"',
                               "binding");
    }
    if (const json::array* gates = objects::ArrayMember(spec, "schedulingGates"); gates != nullptr && !gates->empty()) {
      return objects::Conflict(type, name, "pod " + name + " has non-empty .spec.schedulingGates", "binding");
    }
    spec["nodeName"] = json::string_view(node.data(), node.size());
    CopyStrings(objects::MutableObject(pod, "metadata"), metadata, "annotations");
    CopyStrings(objects::MutableObject(pod, "metadata"), metadata, "labels");
    json::object& status = objects::MutableObject(pod, "status");
    status.erase("nominatedNodeName");
    SetPodCondition(status, "PodScheduled", "", "", Integer(&current_metadata, "generation"), registry.WallNow());
    return pod;
  };
  const auto written = registry.Update(pods, namespace_name, pod_name, bind,
                                       {.mode = UpdateMode::kInternal, .write = {.is_dry_run = is_dry_run}});
  if (!written.ok()) return written.error();
  return objects::Done();
}

objects::Outcome<objects::Done> EvictPod(Registry& registry, const objects::ServedType& pods,
                                         std::string_view namespace_name, std::string_view pod_name,
                                         const json::object& eviction, bool is_dry_run) {
  const std::string_view kind = objects::StringMember(eviction, "kind");
  if (!kind.empty() && kind != "Eviction")
    return objects::BadRequest("the body must be an Eviction, and is a " + std::string(kind));
  const json::object* metadata = objects::ObjectMember(eviction, "metadata");
  const std::string_view own_name = metadata == nullptr ? std::string_view() : objects::StringMember(*metadata, "name");
  if (!own_name.empty() && own_name != pod_name)
    return objects::BadRequest("name in URL does not match name in Eviction object");
  DeleteOptions options;
  if (const json::object* wanted = objects::ObjectMember(eviction, "deleteOptions")) {
    BERTH_ASSIGN_OR_RETURN(options, ReadDeleteOptions(*wanted));
  }
  options.is_dry_run = options.is_dry_run || is_dry_run;

  BERTH_ASSIGN_OR_RETURN(const objects::ObjectPtr pod, registry.Get(pods, namespace_name, pod_name));
  const json::object document = objects::ParseStored(*pod);
  const json::object* status = objects::ObjectMember(document, "status");
  const std::string_view phase = status == nullptr ? std::string_view() : objects::StringMember(*status, "phase");
  // Pods that do not run, or are going anyway, disrupt nothing.
  const bool ignores_budgets = phase == "Succeeded" || phase == "Failed" || phase == "Pending" || pod->is_being_deleted;
  if (!ignores_budgets) {
    const objects::ServedType* budgets = registry.Find("policy", "v1", "poddisruptionbudgets");
    const std::vector<objects::ObjectPtr> matching = BudgetsOf(registry, budgets, *pod);
    if (matching.size() > 1) {
      return objects::StatusError{
          .code = 500,
          .reason = "InternalError",
          .message =
              "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
              "support."};
    }
    if (matching.size() == 1 && !MayEvictUnready(*matching[0], status)) {
      const auto take = [&](const json::object* current,
                            const json::storage_ptr& storage) -> objects::Outcome<json::object> {
        return TakeDisruption(*current, pod_name, registry.WallNow(), storage);
      };
      const auto taken = registry.Update(*budgets, namespace_name, matching[0]->name(), take,
                                         {.mode = UpdateMode::kInternal, .write = {.is_dry_run = options.is_dry_run}});
      if (!taken.ok()) return taken.error();
    }
  }
  if (!options.is_dry_run && !pod->is_being_deleted) {
    const auto mark = [&](const json::object* current,
                          const json::storage_ptr& storage) -> objects::Outcome<json::object> {
      json::object marked(*current, storage);
      SetPodCondition(objects::MutableObject(marked, "status"), "DisruptionTarget", "EvictionByEvictionAPI",
                      "Eviction API: evicting", Integer(objects::ObjectMember(*current, "metadata"), "generation"),
                      registry.WallNow());
      return marked;
    };
    const auto marked = registry.Update(pods, namespace_name, pod_name, mark, {.mode = UpdateMode::kInternal});
    if (!marked.ok()) return marked.error();
    // The mark is our own write: a precondition on the version before it still holds.
    if (options.preconditions.resource_version == std::to_string(pod->resource_version)) {
      options.preconditions.resource_version = std::to_string(marked->object->resource_version);
    }
  }
  const auto deleted = registry.Delete(pods, namespace_name, pod_name, options);
  if (!deleted.ok()) return deleted.error();
  return objects::Done();
}

namespace {

// A label selector as text, for Scale.status.selector.
std::string SelectorText(const json::object* selector, bool is_plain_map) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ",") + part; };
  if (selector == nullptr) return text;
  const json::object* exact = is_plain_map ? selector : objects::ObjectMember(*selector, "matchLabels");
  if (exact != nullptr) {
    std::vector<std::string> parts;
    for (const auto& entry : *exact) {
      if (entry.value().is_string())
        parts.push_back(std::string(entry.key()) + '=' + std::string(objects::View(entry.value().get_string())));
    }
    std::sort(parts.begin(), parts.end());
    for (const std::string& part : parts) add(part);
  }
  const json::array* expressions = is_plain_map ? nullptr : objects::ArrayMember(*selector, "matchExpressions");
  if (expressions == nullptr) return text;
  for (const json::value& each : *expressions) {
    if (!each.is_object()) continue;
    const json::object& expression = each.get_object();
    const std::string key(objects::StringMember(expression, "key"));
    const std::string_view op = objects::StringMember(expression, "operator");
    std::string values;
    if (const json::array* list = objects::ArrayMember(expression, "values")) {
      for (const json::value& value : *list) {
        if (value.is_string()) values += (values.empty() ? "" : ",") + std::string(objects::View(value.get_string()));
      }
    }
    if (op == "In") add(key + " in (" + values + ')');
    if (op == "NotIn") add(key + " notin (" + values + ')');
    if (op == "Exists") add(key);
    if (op == "DoesNotExist") add('!' + key);
  }
  return text;
}

}  // namespace

json::object ScaleOf(const objects::ResourceType& type, const json::object& document, std::int64_t resource_version) {
  const json::object* metadata = objects::ObjectMember(document, "metadata");
  const json::object* spec = objects::ObjectMember(document, "spec");
  const json::object* status = objects::ObjectMember(document, "status");
  json::object scale_metadata;
  for (const char* each : {"name", "namespace", "uid", "creationTimestamp"}) {
    scale_metadata[each] = objects::StringMember(*metadata, each);
  }
  scale_metadata["resourceVersion"] = std::to_string(resource_version);
  const bool is_custom = type.structural != nullptr;
  const objects::ScalePaths& paths = type.scale_paths;
  json::object scale_status{
      {"replicas", is_custom ? IntegerAt(document, paths.status_replicas) : Integer(status, "replicas")}};
  const std::int64_t replicas = is_custom ? IntegerAt(document, paths.replicas) : Integer(spec, "replicas");
  const bool is_plain_map = objects::StringMember(document, "kind") == "ReplicationController";
  const json::value* custom_selector =
      paths.selector.empty() ? nullptr : objects::FindByJsonPath(document, paths.selector);
  std::string selector;
  if (!is_custom) {
    selector = SelectorText(spec == nullptr ? nullptr : objects::ObjectMember(*spec, "selector"), is_plain_map);
  } else if (custom_selector != nullptr && custom_selector->is_string()) {
    selector = objects::View(custom_selector->get_string());
  }
  if (!selector.empty()) scale_status["selector"] = selector;
  return {{"kind", "Scale"},
          {"apiVersion", "autoscaling/v1"},
          {"metadata", std::move(scale_metadata)},
          {"spec", json::object{{"replicas", replicas}}},
          {"status", std::move(scale_status)}};
}

objects::Outcome<json::object> WithScale(const objects::ResourceType& type, const json::object& document,
                                         const json::object& scale, const json::storage_ptr& storage) {
  const std::string_view kind = objects::StringMember(scale, "kind");
  if (!kind.empty() && kind != "Scale")
    return objects::BadRequest("the body must be a Scale, and is a " + std::string(kind));
  const json::object* metadata = objects::ObjectMember(scale, "metadata");
  const json::object* spec = objects::ObjectMember(scale, "spec");
  const json::value* replicas = spec == nullptr ? nullptr : objects::FindMember(*spec, "replicas");
  if (replicas != nullptr && !replicas->is_int64())
    return objects::BadRequest("Scale.spec.replicas must be a whole number");
  const std::int64_t wanted = replicas == nullptr ? 0 : replicas->get_int64();
  const std::string_view name = objects::StringMember(*objects::ObjectMember(document, "metadata"), "name");
  if (wanted < 0 || wanted > INT32_MAX) {
    return objects::InvalidKind(
        "autoscaling", "Scale", name,
        {{"spec.replicas", "FieldValueInvalid",
          "Invalid value: " + std::to_string(wanted) + ": must be greater than or equal to 0"}});
  }
  json::object scaled(document, storage);
  if (type.structural != nullptr) {
    SetAt(scaled, type.scale_paths.replicas, wanted);
  } else {
    objects::MutableObject(scaled, "spec")["replicas"] = wanted;
  }
  json::object& target = objects::MutableObject(scaled, "metadata");
  // The preconditions that the Scale carries; the update checks them against the object.
  for (const char* each : {"name", "namespace", "uid", "resourceVersion"}) {
    const std::string_view value = metadata == nullptr ? std::string_view() : objects::StringMember(*metadata, each);
    if (!value.empty()) {
      target[each] = json::string_view(value.data(), value.size());
    } else if (std::string_view(each) == "resourceVersion") {
      target.erase(each);
    }
  }
  return scaled;
}

}  // namespace berth::apiserver
