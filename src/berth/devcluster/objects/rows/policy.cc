// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/rows/policy.h"

#include <string>
#include <string_view>
#include <utility>

#include "berth/base/text.h"
#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/rows/cells.h"
#include "berth/devcluster/objects/rows/table.h"

namespace berth::objects::internal {
namespace {

std::int64_t CountOf(const json::object& object, std::string_view list) {
  const json::array* items = ArrayMember(object, list);
  return items == nullptr ? 0 : static_cast<std::int64_t>(items->size());
}

// "a,b,c + 2 more..." of the first three.
class ShortList {
 public:
  void Add(std::string_view piece) {
    constexpr int kShownMax = 3;
    if (++count_ <= kShownMax) {
      Append(text_, piece);
    } else {
      ++more_;
    }
  }
  std::string Take() && {
    if (more_ > 0) return text_ + " + " + std::to_string(more_) + " more...";
    return std::string(Or(text_, kUnset));
  }

 private:
  std::string text_;
  int count_ = 0;
  int more_ = 0;
};

json::array EndpointSliceRow(const json::object& object, std::int64_t now) {
  ShortList ports;
  for (const json::object* port : ObjectsOf(object, "ports")) {
    const std::string number = Plain(FindMember(*port, "port"));
    ports.Add(number.empty() ? Or(StringMember(*port, "name"), "*") : number);
  }
  ShortList addresses;
  for (const json::object* endpoint : ObjectsOf(object, "endpoints")) {
    const json::array* each = ArrayMember(*endpoint, "addresses");
    if (each == nullptr) continue;
    for (const json::value& address : *each) {
      if (address.is_string()) addresses.Add(View(address.get_string()));
    }
  }
  return {Name(object), Text(StringMember(object, "addressType")), Text(std::move(ports).Take()),
          Text(std::move(addresses).Take()), Age(object, now)};
}

// What a quota has used of each resource; of "limits.*" in the second text.
std::pair<std::string, std::string> QuotaTexts(const json::object& quota) {
  const json::object& used = Part(StatusOf(quota), "used");
  std::pair<std::string, std::string> texts;
  for (const auto& [name, hard] : Part(StatusOf(quota), "hard")) {
    const std::string resource(name);
    std::string& text = resource.starts_with("limits.") ? texts.second : texts.first;
    if (!text.empty()) text += ", ";
    text += resource + ": " + std::string(Or(Plain(FindMember(used, resource)), "0")) + '/' + Plain(&hard);
  }
  return texts;
}

json::array ControllerRevisionRow(const json::object& object, std::int64_t now) {
  std::string owner(kNone);
  for (const json::object* each : ObjectsOf(Metadata(object), "ownerReferences")) {
    if (!BoolMember(*each, "controller")) continue;
    const std::string_view version = StringMember(*each, "apiVersion");
    const std::size_t slash = version.find('/');
    owner = LowerCase(StringMember(*each, "kind"));
    if (slash != std::string_view::npos) owner.append(1, '.').append(version.substr(0, slash));
    owner.append(1, '/').append(StringMember(*each, "name"));
  }
  return {Name(object), Text(owner), IntMember(object, "revision"), Age(object, now)};
}

json::array IngressClassRow(const json::object& object, std::int64_t now) {
  std::string name(StringMember(Metadata(object), "name"));
  const json::object& annotations = Part(Metadata(object), "annotations");
  if (StringMember(annotations, "ingressclass.kubernetes.io/is-default-class") == "true") name += " (default)";
  std::string parameters(kNone);
  if (const json::object* given = ObjectMember(Spec(object), "parameters")) {
    parameters = StringMember(*given, "kind");
    if (FindMember(*given, "apiGroup") != nullptr) parameters.append(1, '.').append(StringMember(*given, "apiGroup"));
    parameters.append(1, '/').append(StringMember(*given, "name"));
  }
  return {Text(name), Text(StringMember(Spec(object), "controller")), Text(parameters), Age(object, now)};
}

json::array IpAddressRow(const json::object& object, std::int64_t) {
  std::string parent(kNone);
  if (const json::object* given = ObjectMember(Spec(object), "parentRef")) {
    parent = StringMember(*given, "resource");
    for (const char* member : {"group", "namespace", "name"}) {
      const std::string_view part = StringMember(*given, member);
      if (!part.empty()) parent.append(1, member == std::string_view("group") ? '.' : '/').append(part);
    }
  }
  return {Name(object), Text(parent)};
}

// A policy says what objects its parameters are of, in spec.paramKind.
json::array AdmissionPolicyRow(const json::object& object, std::string_view rules, std::int64_t now) {
  std::string kind(kUnset);
  if (const json::object* given = ObjectMember(Spec(object), "paramKind")) {
    kind = std::string(StringMember(*given, "apiVersion")) + '/' + std::string(StringMember(*given, "kind"));
  }
  return {Name(object), CountOf(Spec(object), rules), Text(kind), Age(object, now)};
}

json::array PolicyBindingRow(const json::object& object, std::int64_t now) {
  std::string reference(kUnset);
  const json::object& given = Part(Spec(object), "paramRef");
  if (const std::string_view name = StringMember(given, "name"); !name.empty()) {
    reference = std::string(Or(StringMember(given, "namespace"), "*")) + '/' + std::string(name);
  } else if (FindMember(given, "selector") != nullptr) {
    reference = SelectorText(given);
  }
  return {Name(object), Text(StringMember(Spec(object), "policyName")), Text(reference), Age(object, now)};
}

json::array CertificateRow(const json::object& object, std::int64_t now) {
  const json::object& spec = Spec(object);
  bool is_approved = false;
  bool is_denied = false;
  bool has_failed = false;
  for (const json::object* condition : ObjectsOf(StatusOf(object), "conditions")) {
    const std::string_view type = StringMember(*condition, "type");
    is_approved = is_approved || type == "Approved";
    is_denied = is_denied || type == "Denied";
    has_failed = has_failed || type == "Failed";
  }
  std::string state = is_denied ? "Denied" : is_approved ? "Approved" : "Pending";
  if (has_failed) state += ",Failed";
  if (!StringMember(StatusOf(object), "certificate").empty()) state += ",Issued";
  const bool has_end = FindMember(spec, "expirationSeconds") != nullptr;
  return {Name(object),
          Age(object, now),
          Text(Or(StringMember(spec, "signerName"), kNone)),
          Text(StringMember(spec, "username")),
          has_end ? Text(HumanDuration(IntMember(spec, "expirationSeconds"))) : Text(kNone),
          Text(state)};
}

json::array FlowSchemaRow(const json::object& object, std::int64_t now) {
  const json::object& spec = Spec(object);
  std::string dangling = "?";
  for (const json::object* condition : ObjectsOf(StatusOf(object), "conditions")) {
    if (StringMember(*condition, "type") == "Dangling") dangling = StringMember(*condition, "status");
  }
  return {Name(object),
          Text(StringMember(Part(spec, "priorityLevelConfiguration"), "name")),
          IntMember(spec, "matchingPrecedence"),
          Text(Or(StringMember(Part(spec, "distinguisherMethod"), "type"), kNone)),
          Age(object, now),
          Text(dangling)};
}

json::array PriorityLevelRow(const json::object& object, std::int64_t now) {
  const json::object& limited = Part(Spec(object), "limited");
  const json::object& queuing = Part(Part(limited, "limitResponse"), "queuing");
  json::array row = {Name(object), Text(StringMember(Spec(object), "type"))};
  const auto add = [&row](const json::object& owner, std::string_view member) {
    const json::value* number = FindMember(owner, member);
    row.push_back(number == nullptr ? json::value(Text(kNone)) : *number);
  };
  add(limited, "nominalConcurrencyShares");
  for (const char* member : {"queues", "handSize", "queueLengthLimit"}) add(queuing, member);
  row.push_back(Age(object, now));
  return row;
}

Printing Webhooks() {
  return {{NameColumn(), Column("Webhooks", "integer", "How many there are."), AgeColumn()},
          [](const json::object& object, std::int64_t now) -> json::array {
            return {Name(object), CountOf(object, "webhooks"), Age(object, now)};
          }};
}

Printing PolicyBindings() {
  return {{NameColumn(), Column("PolicyName", "string", "The policy that is bound."),
           Column("ParamRef", "string", "Its parameters."), AgeColumn()},
          PolicyBindingRow};
}

}  // namespace

std::vector<KindPrinting> PolicyPrintings() {
  const TableColumn param_kind = Column("ParamKind", "string", "The kind of its parameters.");
  return {
      {"LimitRange",
       {{NameColumn(), Column("Created At", "date", "When it was created.")},
        [](const json::object& object, std::int64_t) -> json::array {
          return {Name(object), Text(StringMember(Metadata(object), "creationTimestamp"))};
        }}},
      {"ResourceQuota",
       {{NameColumn(), Column("Request", "string", "What is used of what may be requested."),
         Column("Limit", "string", "What is used of the limits."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          const auto [request, limit] = QuotaTexts(object);
          return {Name(object), Text(request), Text(limit), Age(object, now)};
        }}},
      {"PodTemplate",
       {{NameColumn(), Column("Containers", "string", "Names of the containers."),
         Column("Images", "string", "Their images."), Column("Pod Labels", "string", "Labels of the pods.")},
        [](const json::object& object, std::int64_t) -> json::array {
          const auto [names, images] = ContainersOf(object);
          const std::string labels = Pairs(Part(Part(Part(object, "template"), "metadata"), "labels"));
          return {Name(object), Text(names), Text(images), Text(Or(labels, kNone))};
        }}},
      {"ControllerRevision",
       {{NameColumn(), Column("Controller", "string", "What it is a state of."),
         Column("Revision", "string", "Its number."), AgeColumn()},
        ControllerRevisionRow}},
      {"EndpointSlice",
       {{NameColumn(), Column("AddressType", "string", "What its addresses are."),
         Column("Ports", "string", "The first ports."), Column("Endpoints", "string", "The first addresses."),
         AgeColumn()},
        EndpointSliceRow}},
      {"IngressClass",
       {{NameColumn(), Column("Controller", "string", "Who looks after its Ingresses."),
         Column("Parameters", "string", "An object that says more."), AgeColumn()},
        IngressClassRow}},
      {"IPAddress", {{NameColumn(), Column("ParentRef", "string", "What has the address.")}, IpAddressRow}},
      {"ServiceCIDR",
       {{NameColumn(), Column("CIDRs", "string", "The ranges of addresses."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          return {Name(object), Text(JoinStrings(Spec(object), "cidrs")), Age(object, now)};
        }}},
      {"VolumeAttributesClass",
       {{NameColumn(), Column("DriverName", "string", "The CSI driver."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          return {Name(object), Text(StringMember(object, "driverName")), Age(object, now)};
        }}},
      {"RuntimeClass",
       {{NameColumn(), Column("Handler", "string", "The runtime's name on a node."), AgeColumn()},
        [](const json::object& object, std::int64_t now) -> json::array {
          return {Name(object), Text(StringMember(object, "handler")), Age(object, now)};
        }}},
      {"MutatingWebhookConfiguration", Webhooks()},
      {"ValidatingWebhookConfiguration", Webhooks()},
      {"ValidatingAdmissionPolicy",
       {{NameColumn(), Column("Validations", "integer", "How many rules it has."), param_kind, AgeColumn()},
        [](const json::object& object, std::int64_t now) { return AdmissionPolicyRow(object, "validations", now); }}},
      {"MutatingAdmissionPolicy",
       {{NameColumn(), Column("Mutations", "integer", "How many rules it has."), param_kind, AgeColumn()},
        [](const json::object& object, std::int64_t now) { return AdmissionPolicyRow(object, "mutations", now); }}},
      {"ValidatingAdmissionPolicyBinding", PolicyBindings()},
      {"MutatingAdmissionPolicyBinding", PolicyBindings()},
      {"CertificateSigningRequest",
       {{NameColumn(), AgeColumn(), Column("SignerName", "string", "Who is to sign."),
         Column("Requestor", "string", "Who asks."), Column("RequestedDuration", "string", "For how long."),
         Column("Condition", "string", "How far it is.")},
        CertificateRow}},
      {"FlowSchema",
       {{NameColumn(), Column("PriorityLevel", "string", "Where its requests wait."),
         Column("MatchingPrecedence", "string", "The least one that matches counts."),
         Column("DistinguisherMethod", "string", "What its flows are told apart by."), AgeColumn(),
         Column("MissingPL", "string", "Whether that priority level is missing.")},
        FlowSchemaRow}},
      {"PriorityLevelConfiguration",
       {{NameColumn(), Column("Type", "string", "Limited or Exempt."),
         Column("NominalConcurrencyShares", "string", "Its share of the requests at once."),
         Column("Queues", "string", "How many it has."), Column("HandSize", "string", "Queues of one flow."),
         Column("QueueLengthLimit", "string", "Requests in one queue."), AgeColumn()},
        PriorityLevelRow}}};
}

}  // namespace berth::objects::internal
