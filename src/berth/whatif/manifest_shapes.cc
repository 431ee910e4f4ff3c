// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/manifest_shapes.h"

#include <string>
#include <string_view>
#include <utility>

#include "berth/whatif/admission_rules.h"
#include "berth/whatif/pod_templates.h"
#include "berth/whatif/replacement.h"

namespace berth::whatif {
namespace {

const codec::json::object* PartOf(const codec::json::object* object, std::string_view key) {
  const codec::json::value* value = object == nullptr ? nullptr : object->if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

// A Pod as the workload's controller begins it; a Pod as it is. Null: it makes no pods.
codec::json::value PodDocumentOf(const Manifest& manifest) {
  if (manifest.kind == "Pod") {
    codec::json::object document = manifest.object;
    if (manifest.name.empty()) document["metadata"].as_object()["name"] = "pod";
    return document;
  }
  const codec::json::object* const pod_template = PartOf(PartOf(&manifest.object, "spec"), "template");
  const codec::json::object* const spec = PartOf(pod_template, "spec");
  if (spec == nullptr) return nullptr;
  codec::json::object metadata{{"name", manifest.name}, {"namespace", manifest.namespace_name}};
  for (const char* key : {"labels", "annotations"}) {
    if (const auto* given = PartOf(PartOf(pod_template, "metadata"), key)) metadata[key] = *given;
  }
  return codec::json::object{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", *spec}};
}

}  // namespace

Expected<std::vector<Shape>> ShapesOfManifests(const Manifests& manifests, const ClusterState& state) {
  const AdmissionRules rules(manifests, state);
  std::vector<Shape> shapes;
  for (const Manifest& manifest : manifests.documents) {
    codec::json::value document = PodDocumentOf(manifest);
    if (!document.is_object()) continue;
    const auto made =
        PodTemplate::Make(std::move(document.get_object()), manifest.kind == "Pod" ? "" : "spec.template.", rules);
    if (!made.ok()) return Error{made.error().code, manifest.where + ": " + made.error().message};
    Shape& shape = shapes.emplace_back();
    shape.name = manifest.namespace_name + "/" + (manifest.name.empty() ? "pod" : manifest.name);
    shape.origin = manifest.where;
    shape.pod = made->pod();
    DropOwnVolumes(shape.pod);
  }
  if (shapes.empty()) return InvalidError("there is no Pod in the manifests, and nothing that makes pods");
  return shapes;
}

}  // namespace berth::whatif
