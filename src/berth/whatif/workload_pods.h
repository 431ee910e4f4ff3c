// SPDX-License-Identifier: Apache-2.0
// WorkloadPods: the pods of a manifest that makes pods, as its controller would make them (PodMaker of
// devcluster/controllers), through what the API server does with each of them. Pure; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/pod.h"
#include "berth/api/storage.h"
#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/devcluster/controllers/workload_pods.h"
#include "berth/framework/objects.h"
#include "berth/whatif/admission_rules.h"
#include "berth/whatif/manifests.h"
#include "berth/whatif/pod_templates.h"

namespace berth::whatif {

class WorkloadPods {
 public:
  using ClaimPtr = std::shared_ptr<const api::PersistentVolumeClaim>;

  // Of these manifests.
  static bool MakesPods(std::string_view kind);
  // `now` is when they are created. `name` is the manifest's, or what takes its place.
  static Expected<std::unique_ptr<const WorkloadPods>> Make(const Manifest& manifest, const std::string& name,
                                                            const AdmissionRules& rules, Time now);
  WorkloadPods(const WorkloadPods&) = delete;
  WorkloadPods& operator=(const WorkloadPods&) = delete;

  // Whether pods have a number, an ordinal or an index, and so differ in more than their names.
  bool AreNumbered() const { return are_numbered_; }
  // Whether each pod has objects that are made for it alone.
  bool HaveClaims() const;
  // The template of all pods; of numbered ones that of the first.
  const PodTemplate& pod_template() const { return template_; }
  // The value of the label pod-template-hash of a Deployment's pods.
  const std::string& template_hash() const { return template_hash_; }

  // Makes the pod, and appends the claims that are made with it to `objects`. `number` matters only for numbered pods.
  Expected<api::Pod> MakePod(const std::string& name, std::int64_t number,
                             std::vector<framework::AnyObject>& objects) const;
  // Of volumeClaimTemplates.
  Expected<std::vector<ClaimPtr>> StatefulClaims(std::int64_t ordinal) const;

 private:
  WorkloadPods(const Manifest& manifest, const AdmissionRules& rules, Time now)
      : namespace_name_(manifest.namespace_name), rules_(rules), now_(now) {}

  Expected<PodTemplate> Template(codec::json::object document) const;

  const std::string namespace_name_;
  const AdmissionRules& rules_;
  const Time now_;
  // Of a Pod: neither.
  controllers::WorkloadView view_;
  std::optional<controllers::PodMaker> maker_;
  bool are_numbered_ = false;
  std::string template_hash_;
  PodTemplate template_;
};

// The uid of a workload that does not exist; short enough for the label of a Job's pods that has it.
std::string OwnerUid(std::string_view kind, std::string_view namespace_name, std::string_view name);

}  // namespace berth::whatif
