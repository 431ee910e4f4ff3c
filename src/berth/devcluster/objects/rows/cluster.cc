// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/rows/cluster.h"

#include <set>
#include <string>
#include <string_view>

#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/rows/cells.h"
#include "berth/devcluster/objects/rows/table.h"

namespace berth::objects::internal {
namespace {

bool IsTrue(const json::object& status, std::string_view type) {
  for (const json::object* condition : ObjectsOf(status, "conditions")) {
    if (StringMember(*condition, "type") == type) return StringMember(*condition, "status") == "True";
  }
  return false;
}

std::string_view JobState(const json::object& job) {
  const json::object& status = StatusOf(job);
  if (IsTrue(status, "Complete")) return "Complete";
  if (IsTrue(status, "Failed")) return "Failed";
  if (IsBeingDeleted(job)) return "Terminating";
  for (const std::string_view type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    if (IsTrue(status, type)) return type;
  }
  return "Running";
}

json::array JobRow(const json::object& job, std::int64_t now_seconds) {
  const json::object& spec = Spec(job);
  const json::object& status = StatusOf(job);
  std::string completions = std::to_string(IntMember(status, "succeeded")) + '/';
  const std::int64_t parallelism = IntMember(spec, "parallelism");
  if (FindMember(spec, "completions") != nullptr) {
    completions += std::to_string(IntMember(spec, "completions"));
  } else {
    completions += parallelism > 1 ? "1 of " + std::to_string(parallelism) : "1";
  }
  std::string duration;
  if (const auto start = SecondsOf(status, "startTime")) {
    duration = HumanDuration(SecondsOf(status, "completionTime").value_or(now_seconds) - *start);
  }
  const auto [names, images] = ContainersOf(spec);
  return {Name(job),   Text(JobState(job)), Text(completions),       Text(duration), Age(job, now_seconds),
          Text(names), Text(images),        Text(SelectorText(spec))};
}

json::array CronJobRow(const json::object& object, std::int64_t now_seconds) {
  const json::object& spec = Spec(object);
  const json::object& status = StatusOf(object);
  const auto last = SecondsOf(status, "lastScheduleTime");
  const json::object& job = Part(Part(spec, "jobTemplate"), "spec");
  const auto [names, images] = ContainersOf(job);
  return {Name(object),
          Text(StringMember(spec, "schedule")),
          Text(Or(StringMember(spec, "timeZone"), kNone)),
          Text(BoolMember(spec, "suspend") ? "True" : "False"),
          static_cast<std::int64_t>(ObjectsOf(status, "active").size()),
          last ? Since(last, now_seconds) : Text(kNone),
          Age(object, now_seconds),
          Text(names),
          Text(images),
          Text(SelectorText(job))};
}

// Only metrics of resources are spelled out, the kind that `kubectl autoscale` makes.
std::string MetricsText(const json::object& spec) {
  std::string text;
  for (const json::object* metric : ObjectsOf(spec, "metrics")) {
    const json::object& resource = Part(*metric, "resource");
    const json::object& target = Part(resource, "target");
    std::string wanted = Plain(FindMember(target, "averageValue"));
    if (wanted.empty()) wanted = Plain(FindMember(target, "averageUtilization")) + '%';
    if (!text.empty()) text += ", ";
    text += resource.empty() ? std::string(StringMember(*metric, "type"))
                             : std::string(StringMember(resource, "name")) + ": <unknown>/" + wanted;
  }
  return std::string(Or(text, kNone));
}

json::array AutoscalerRow(const json::object& object, std::int64_t now_seconds) {
  const json::object& spec = Spec(object);
  const json::object& target = Part(spec, "scaleTargetRef");
  const std::string least = Plain(FindMember(spec, "minReplicas"));
  return {Name(object),
          Text(std::string(StringMember(target, "kind")) + '/' + std::string(StringMember(target, "name"))),
          Text(MetricsText(spec)),
          Text(Or(least, kUnset)),
          IntMember(spec, "maxReplicas"),
          IntMember(StatusOf(object), "currentReplicas"),
          Age(object, now_seconds)};
}

json::array IngressRow(const json::object& object, std::int64_t now_seconds) {
  constexpr std::size_t kShownMax = 3;
  const json::object& spec = Spec(object);
  std::string hosts;
  const auto rules = ObjectsOf(spec, "rules");
  for (std::size_t i = 0; i < rules.size() && i < kShownMax; ++i) {
    if (const std::string_view host = StringMember(*rules[i], "host"); !host.empty()) Append(hosts, host);
  }
  if (hosts.empty()) {
    hosts = "*";
  } else if (rules.size() > kShownMax) {
    hosts += " + " + std::to_string(rules.size() - kShownMax) + " more...";
  }
  std::set<std::string> sorted;
  for (const json::object* ingress : ObjectsOf(Part(StatusOf(object), "loadBalancer"), "ingress")) {
    sorted.emplace(Or(StringMember(*ingress, "ip"), StringMember(*ingress, "hostname")));
  }
  std::string addresses;
  for (const std::string& address : sorted) Append(addresses, address);
  return {Name(object),    Text(Or(StringMember(spec, "ingressClassName"), kNone)), Text(hosts),
          Text(addresses), Text(ObjectsOf(spec, "tls").empty() ? "80" : "80, 443"), Age(object, now_seconds)};
}

json::array BindingRow(const json::object& object, std::int64_t now_seconds) {
  const json::object& role = Part(object, "roleRef");
  std::string users;
  std::string groups;
  std::string accounts;
  for (const json::object* subject : ObjectsOf(object, "subjects")) {
    const std::string_view kind = StringMember(*subject, "kind");
    std::string& list = kind == "User" ? users : kind == "Group" ? groups : accounts;
    if (!list.empty()) list += ", ";
    if (kind == "ServiceAccount") list += std::string(StringMember(*subject, "namespace")) + '/';
    list += StringMember(*subject, "name");
  }
  return {Name(object),
          Text(std::string(StringMember(role, "kind")) + '/' + std::string(StringMember(role, "name"))),
          Age(object, now_seconds),
          Text(users),
          Text(groups),
          Text(accounts)};
}

Printing BindingPrinting() {
  return {{NameColumn(), Column("Role", "string", "The role that is given."), AgeColumn(),
           Column("Users", "string", "Users who get it.", 1), Column("Groups", "string", "Groups that get it.", 1),
           Column("ServiceAccounts", "string", "Service accounts that get it.", 1)},
          BindingRow};
}

Printing CreatedPrinting() {
  return {{NameColumn(), Column("Created At", "date", "When it was created.")},
          [](const json::object& object, std::int64_t) -> json::array {
            return {Name(object), Text(StringMember(Metadata(object), "creationTimestamp"))};
          }};
}

}  // namespace

std::vector<KindPrinting> ClusterPrintings() {
  return {
      {"Job",
       {{NameColumn(), Column("Status", "string", "How far it is."),
         Column("Completions", "string", "Pods that have succeeded, of those asked for."),
         Column("Duration", "string", "How long it ran, or has run so far."), AgeColumn(), ContainersColumn(),
         ImagesColumn(), SelectorColumn()},
        JobRow}},
      {"CronJob",
       {{NameColumn(), Column("Schedule", "string", "When Jobs are made."),
         Column("Timezone", "string", "Of the schedule."), Column("Suspend", "boolean", "Whether none are made."),
         Column("Active", "integer", "Jobs under way."),
         Column("Last Schedule", "string", "Time since the latest Job was made."), AgeColumn(), ContainersColumn(),
         ImagesColumn(), SelectorColumn()},
        CronJobRow}},
      {"HorizontalPodAutoscaler",
       {{NameColumn(), Column("Reference", "string", "What is scaled."),
         Column("Targets", "string", "Measured and wanted values."), Column("MinPods", "string", "Least replicas."),
         Column("MaxPods", "string", "Most replicas."), Column("Replicas", "string", "Replicas now."), AgeColumn()},
        AutoscalerRow}},
      {"Ingress",
       {{NameColumn(), Column("Class", "string", "Its IngressClass."), Column("Hosts", "string", "Hosts of its rules."),
         Column("Address", "string", "Where it is reached."), Column("Ports", "string", "Its ports."), AgeColumn()},
        IngressRow}},
      {"NetworkPolicy",
       {{NameColumn(), Column("Pod-Selector", "string", "The pods it is about."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          const json::object owner{{"selector", Part(Spec(object), "podSelector")}};
          return {Name(object), Text(SelectorText(owner)), Age(object, now)};
        }}},
      {"RoleBinding", BindingPrinting()},
      {"ClusterRoleBinding", BindingPrinting()},
      {"Role", CreatedPrinting()},
      {"ClusterRole", CreatedPrinting()},
      {"CustomResourceDefinition", CreatedPrinting()}};
}

}  // namespace berth::objects::internal
