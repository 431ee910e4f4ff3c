// SPDX-License-Identifier: Apache-2.0
// Validation of containers: names, images, probes, ports, environment, resources.
#include "berth/devcluster/objects/validate/container.h"

#include <string>
#include <string_view>
#include <utility>

#include "berth/api/names.h"
#include "berth/api/quantity.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {
namespace {

// --- Resources -------------------------------------------------------------------------------------------------------

bool IsHugePages(std::string_view name) { return name.starts_with("hugepages-"); }
bool IsNative(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}

void ValidateResourceName(std::string_view name, const std::string& field, Errors& errors) {
  const std::vector<std::string> why = api::NotQualifiedName(name);
  AddInvalid(errors, field, name, why);
  if (name.find('/') != std::string_view::npos || api::IsContainerResource(name)) return;
  if (why.empty() && name != "pods" && name != "storage" && name != "services") {
    errors.push_back(Invalid(field, json::value(name), "must be a standard resource type or fully qualified"));
  }
  errors.push_back(Invalid(field, json::value(name), "must be a standard resource for containers"));
}

std::string AsText(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

std::optional<api::Quantity> Amount(const json::value& value) {
  auto parsed = api::Quantity::Parse(AsText(value));
  if (!parsed.ok()) return std::nullopt;
  return parsed.value();
}

// Requests must have limits that are no lower, and for what cannot be overcommitted equal.
void ValidateRequestsFitLimits(const json::object& requests, const json::object& limits, const std::string& field,
                               Errors& errors) {
  for (const auto& [name, request] : requests) {
    const bool may_overcommit = IsNative(name) && !IsHugePages(name);
    const json::value* limit = FindMember(limits, name);
    if (limit == nullptr) {
      if (!may_overcommit) {
        errors.push_back(Required(field + ".limits", "Limit must be set for non overcommitable resources"));
      }
      continue;
    }
    const std::optional<api::Quantity> wanted = Amount(request);
    const std::optional<api::Quantity> most = Amount(*limit);
    if (!wanted || !most) continue;
    const std::string bound = std::string(name) + " limit of " + AsText(*limit);
    const json::value shown(AsText(request));
    if (!may_overcommit && *wanted != *most) {
      errors.push_back(Invalid(field + ".requests", shown, "must be equal to " + bound));
    } else if (*wanted > *most) {
      errors.push_back(Invalid(field + ".requests", shown, "must be less than or equal to " + bound));
    }
  }
}

void ValidateResourceClaims(const json::object& resources, const std::string& field,
                            const std::set<std::string>& pod_claims, Errors& errors) {
  std::set<std::pair<std::string, std::string>> seen;
  ForEachIn(resources, "claims", field, [&](const json::object& claim, const std::string& path) {
    const std::string name(StringMember(claim, "name"));
    if (name.empty()) {
      errors.push_back(Required(path));
    } else if (!seen.insert({name, std::string(StringMember(claim, "request"))}).second) {
      errors.push_back(Duplicate(path, json::value(name)));
    } else if (!pod_claims.contains(name)) {
      std::string known;
      for (const std::string& each : pod_claims) known += (known.empty() ? "" : ", ") + each;
      errors.push_back(
          NotFoundValue(path, json::value(name), "must be one of the names in pod.spec.resourceClaims: " + known));
    }
  });
}

// --- The rest of a container -----------------------------------------------------------------------------------------

void ValidateHostPort(const json::object& port, const std::string& path, ContainerContext& context, bool is_init,
                      Errors& errors) {
  const std::int64_t host_port = IntMember(port, "hostPort");
  if (host_port == 0) return;
  ValidatePort(port, "hostPort", path, errors);
  if (context.is_host_network && host_port != IntMember(port, "containerPort")) {
    errors.push_back(Invalid(path + ".hostPort", host_port, "must match `containerPort` when `hostNetwork` is true"));
  }
  const std::string key = std::string(StringMember(port, "protocol")) + "/" +
                          std::string(StringMember(port, "hostIP")) + "/" + std::to_string(host_port);
  // Init containers run one after the other and may use the same port again.
  if (!is_init && !context.host_ports.insert(key).second) {
    errors.push_back(Duplicate(path + ".hostPort", json::value(key)));
  }
}

void ValidatePorts(const json::object& container, const std::string& field, ContainerContext& context, bool is_init,
                   Errors& errors) {
  std::set<std::string> names;
  ForEachIn(container, "ports", field, [&](const json::object& port, const std::string& path) {
    if (const std::string name(StringMember(port, "name")); !name.empty()) {
      const std::vector<std::string> why = api::NotPortName(name);
      AddInvalid(errors, path + ".name", name, why);
      if (why.empty() && !names.insert(name).second) errors.push_back(Duplicate(path + ".name", json::value(name)));
    }
    if (IntMember(port, "containerPort") == 0) {
      errors.push_back(Required(path + ".containerPort"));
    } else {
      ValidatePort(port, "containerPort", path, errors);
    }
    ValidateHostPort(port, path, context, is_init, errors);
    ValidateOneOf(port, "protocol", path, {"SCTP", "TCP", "UDP"}, errors);
  });
}

void ValidateEnv(const json::object& container, const std::string& field, Errors& errors) {
  ForEachIn(container, "env", field, [&](const json::object& variable, const std::string& path) {
    if (StringMember(variable, "name").empty()) errors.push_back(Required(path + ".name"));
    ValidateNameMember(variable, "name", path, api::NotEnvVarName, errors);
    const json::object* from = ObjectMember(variable, "valueFrom");
    if (from == nullptr) return;
    std::string_view why;
    if (from->empty()) {
      why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    } else if (!StringMember(variable, "value").empty()) {
      why = "may not be specified when `value` is not empty";
    } else if (from->size() > 1) {
      why = "may not have more than one field specified at a time";
    }
    if (!why.empty()) errors.push_back(Invalid(path + ".valueFrom", "", why));
  });
}

void ValidateProbe(const json::object& container, std::string_view name, const std::string& field, Errors& errors) {
  const json::object* probe = ObjectMember(container, name);
  if (probe == nullptr) return;
  const std::string path = field + "." + std::string(name);
  int handlers = 0;
  for (const char* handler : {"exec", "httpGet", "tcpSocket", "grpc"}) handlers += probe->contains(handler) ? 1 : 0;
  if (handlers == 0) errors.push_back(Required(path, "must specify a handler type"));
  if (handlers > 1) errors.push_back(Forbidden(path, "may not specify more than 1 handler type"));
  for (const char* member :
       {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"}) {
    ValidateNonNegative(*probe, member, path, errors);
  }
}

void ValidateImage(const json::object& container, const std::string& field, Errors& errors) {
  const std::string_view image = StringMember(container, "image");
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  if (image.empty()) {
    errors.push_back(Required(field + ".image"));
  } else if (is_space(image.front()) || is_space(image.back())) {
    errors.push_back(Invalid(field + ".image", json::value(image), "must not have leading or trailing whitespace"));
  }
}

}  // namespace

void ValidateResources(const json::object& owner, const std::string& owner_field, const std::set<std::string>& claims,
                       Errors& errors) {
  const json::object* resources = ObjectMember(owner, "resources");
  if (resources == nullptr) return;
  const std::string field = owner_field + ".resources";
  bool has_huge_pages = false;
  bool has_cpu_or_memory = false;
  for (const char* member : {"limits", "requests"}) {
    const std::string path = field + "." + member;
    for (const auto& pair : Part(*resources, member)) {
      const std::string_view name = pair.key();
      ValidateResourceName(name, path + "[" + std::string(name) + "]", errors);
      has_huge_pages = has_huge_pages || IsHugePages(name);
      has_cpu_or_memory = has_cpu_or_memory || name == "cpu" || name == "memory";
    }
    ValidateQuantities(*resources, member, path, true, errors);
  }
  ValidateRequestsFitLimits(Part(*resources, "requests"), Part(*resources, "limits"), field, errors);
  if (has_huge_pages && !has_cpu_or_memory) errors.push_back(Forbidden(field, "HugePages require cpu or memory"));
  ValidateResourceClaims(*resources, field, claims, errors);
}

void ValidateContainer(const json::object& container, const std::string& field, ContainerContext& context, bool is_init,
                       Errors& errors) {
  ValidateUniqueLabelName(container, field, context.names, errors);
  ValidateImage(container, field, errors);
  ValidateOneOf(container, "terminationMessagePolicy", field, {"File", "FallbackToLogsOnError"}, errors);
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    ValidateProbe(container, probe, field, errors);
  }
  ValidatePorts(container, field, context, is_init, errors);
  ValidateEnv(container, field, errors);
  ForEachIn(container, "volumeMounts", field, [&](const json::object& mount, const std::string& path) {
    const std::string volume(StringMember(mount, "name"));
    if (volume.empty()) errors.push_back(Required(path + ".name"));
    if (!context.volumes.contains(volume)) errors.push_back(NotFoundValue(path + ".name", json::value(volume)));
    if (StringMember(mount, "mountPath").empty()) errors.push_back(Required(path + ".mountPath"));
  });
  ValidateOneOf(container, "imagePullPolicy", field, {"Always", "IfNotPresent", "Never"}, errors);
  ValidateOneOf(container, "restartPolicy", field, {"Always", "Never", "OnFailure"}, errors);
  ValidateResources(container, field, context.claims, errors);
}

}  // namespace berth::objects::internal
