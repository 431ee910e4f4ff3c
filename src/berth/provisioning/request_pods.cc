// SPDX-License-Identifier: Apache-2.0
#include "berth/provisioning/request_pods.h"

#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "berth/api/pod.h"
#include "berth/core/scheduler/bookings.h"
#include "berth/whatif/admission_rules.h"
#include "berth/whatif/manifests.h"
#include "berth/whatif/pod_templates.h"

namespace berth::provisioning {
namespace {

namespace json = codec::json;

constexpr std::string_view kPriorityClass = "PriorityClass";
constexpr std::string_view kRuntimeClass = "RuntimeClass";
constexpr std::string_view kClaimTemplate = "ResourceClaimTemplate";

Error NotFound(std::string message) { return {ErrorCode::kNotFound, std::move(message)}; }

json::object ObjectAt(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  return value != nullptr && value->is_object() ? value->get_object() : json::object();
}

// The template's Pod.
json::object PodOf(const json::object& pod_template, const ProvisioningRequest& request) {
  const json::object of_pod = ObjectAt(pod_template, "template");
  json::object metadata = ObjectAt(of_pod, "metadata");
  metadata["name"] = "template";
  metadata["namespace"] = request.namespace_name;
  metadata.erase("generateName");
  json::object annotations = ObjectAt(metadata, "annotations");
  annotations[scheduler::kConsumeAnnotation] = request.name;
  annotations["autoscaling.x-k8s.io/provisioning-class-name"] = request.class_name;
  metadata["annotations"] = std::move(annotations);
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", ObjectAt(of_pod, "spec")}};
}

// The ResourceClaimTemplates that pods of the template name.
std::vector<std::string> ClaimTemplatesIn(const json::object& pod_template) {
  std::vector<std::string> names;
  const json::object spec = ObjectAt(ObjectAt(pod_template, "template"), "spec");
  const json::value* const claims = spec.if_contains("resourceClaims");
  if (claims == nullptr || !claims->is_array()) return names;
  for (const json::value& claim : claims->get_array()) {
    const json::value* const name =
        claim.is_object() ? claim.get_object().if_contains("resourceClaimTemplateName") : nullptr;
    if (name != nullptr && name->is_string()) names.emplace_back(name->get_string());
  }
  return names;
}

// What fills the request's pods in. Of the cluster's ResourceClaimTemplates, which may be many, only those they name.
whatif::ClusterState AdmissionOf(const ProvisioningRequest& request, const PodSources& sources) {
  whatif::ClusterState state;
  for (const std::string_view kind : {kPriorityClass, kRuntimeClass}) {
    for (auto at = sources.admission.lower_bound({std::string(kind), ""});
         at != sources.admission.end() && at->first.first == kind; ++at)
      state.admission.push_back(at->second);
  }
  std::set<std::string> named;
  for (const PodSet& set : request.pod_sets) {
    const auto found = sources.templates.find(request.namespace_name + "/" + set.template_name);
    if (found == sources.templates.end()) continue;
    for (std::string& name : ClaimTemplatesIn(found->second)) named.insert(std::move(name));
  }
  for (const std::string& name : named) {
    const auto found = sources.admission.find({std::string(kClaimTemplate), request.namespace_name + "/" + name});
    if (found != sources.admission.end()) state.admission.push_back(found->second);
  }
  return state;
}

}  // namespace

Expected<scheduler::BookingAsked> PodsOf(const ProvisioningRequest& request, const PodSources& sources,
                                         const Places& places) {
  std::int64_t count = 0;
  for (const PodSet& set : request.pod_sets) {
    if (set.count > kRequestPodsMax - count) {
      return InvalidError("the pod sets have more than " + std::to_string(kRequestPodsMax) +
                          " pods, the most that one request may ask for");
    }
    count += set.count;
  }
  const whatif::ClusterState state = AdmissionOf(request, sources);
  const whatif::Manifests none;
  const whatif::AdmissionRules rules(none, state);
  scheduler::BookingAsked asked;
  asked.request = request.Key();
  asked.uid = request.uid;
  for (std::size_t i = 0; i < request.pod_sets.size(); ++i) {
    const PodSet& set = request.pod_sets[i];
    const auto found = sources.templates.find(request.namespace_name + "/" + set.template_name);
    if (found == sources.templates.end())
      return NotFound("PodTemplate \"" + set.template_name + "\" not found in namespace " + request.namespace_name);
    const auto in_template = [&](const std::string& why) {
      return "PodTemplate \"" + set.template_name + "\": " + why;
    };
    auto made = whatif::PodTemplate::Make(PodOf(found->second, request), "template.", rules);
    if (!made.ok()) return InvalidError(in_template(made.error().message));
    if (!made->pod().spec.node_name.empty())
      return InvalidError(in_template("template.spec.nodeName: must be empty, the scheduler chooses the node"));
    if (!made->unknown_templates().empty())
      return NotFound(in_template("ResourceClaimTemplate \"" + made->unknown_templates().front() + "\" not found"));
    if (made->makes_claims() && set.count > kClaimPodsMax) {
      return InvalidError(in_template("its pods have claims of their own, and a pod set may have at most " +
                                      std::to_string(kClaimPodsMax) + " such pods"));
    }
    scheduler::BookingSet& booked = asked.sets.emplace_back();
    booked.name = set.template_name;
    booked.count = static_cast<std::uint64_t>(set.count);
    if (i < places.size()) booked.nodes = places[i];
    const std::string name = request.name + scheduler::kStandInMark + std::to_string(i);
    const std::int64_t objects = made->makes_claims() ? set.count : 1;
    for (std::int64_t pod = 0; pod < objects; ++pod) {
      const std::string pod_name = objects == 1 ? name : name + "-" + std::to_string(pod);
      booked.pods.push_back(std::make_shared<const api::Pod>(made->MakePod(pod_name, asked.objects)));
    }
  }
  return asked;
}

}  // namespace berth::provisioning
