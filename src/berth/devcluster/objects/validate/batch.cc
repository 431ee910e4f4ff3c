// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/validate/batch.h"

#include <string>
#include <string_view>

#include "berth/devcluster/objects/reading.h"
#include "berth/devcluster/objects/validate/pod.h"
#include "berth/devcluster/objects/validate/rules.h"

namespace berth::objects::internal {
namespace {

void ValidateJobSpec(const json::object& spec, const std::string& field, Errors& errors) {
  for (const char* member : {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
                             "backoffLimitPerIndex", "maxFailedIndexes", "ttlSecondsAfterFinished"}) {
    ValidateNonNegative(spec, member, field, errors);
  }
  ValidateOneOf(spec, "completionMode", field, {"Indexed", "NonIndexed"}, errors);
  const json::object& pod_spec = Part(Part(spec, "template"), "spec");
  const std::string pod_field = field + ".template.spec";
  ValidatePodSpec(pod_spec, pod_field, errors);
  // "Always", which is the default, would never end.
  if (const std::string_view policy = StringMember(pod_spec, "restartPolicy"); policy == "Always" || policy.empty()) {
    errors.push_back(Required(pod_field + ".restartPolicy", R"(valid values: "OnFailure", "Never")"));
  }
}

std::size_t Words(std::string_view text) {
  std::size_t count = 0;
  bool is_inside = false;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space && !is_inside) ++count;
    is_inside = !is_space;
  }
  return count;
}

}  // namespace

void ValidateJob(const json::object& job, const json::object* old, Errors& errors) {
  const json::object& spec = Part(job, "spec");
  ValidateLabelSelector(Part(spec, "selector"), "spec.selector", errors);
  if (old == nullptr) {
    ValidateJobSpec(spec, "spec", errors);
    return;
  }
  const json::object& old_spec = Part(*old, "spec");
  for (const char* member : {"parallelism", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"}) {
    ValidateNonNegative(spec, member, "spec", errors);
  }
  for (const char* member : {"completions", "selector", "template", "completionMode", "podFailurePolicy",
                             "backoffLimitPerIndex", "managedBy"}) {
    ValidateImmutable(spec, old_spec, member, "spec." + std::string(member), errors);
  }
}

void ValidateCronJob(const json::object& object, const json::object*, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  const std::string_view schedule = StringMember(spec, "schedule");
  if (schedule.empty()) {
    errors.push_back(Required("spec.schedule"));
  } else if (const std::size_t words = Words(schedule); schedule.front() != '@' && words != 5) {
    errors.push_back(
        Invalid("spec.schedule", json::value(schedule),
                "expected exactly 5 fields, found " + std::to_string(words) + ": [" + std::string(schedule) + ']'));
  }
  ValidateOneOf(spec, "concurrencyPolicy", "spec", {"Allow", "Forbid", "Replace"}, errors);
  for (const char* member : {"startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"}) {
    ValidateNonNegative(spec, member, "spec", errors);
  }
  ValidateJobSpec(Part(Part(spec, "jobTemplate"), "spec"), "spec.jobTemplate.spec", errors);
}

void ValidateHorizontalPodAutoscaler(const json::object& object, const json::object*, Errors& errors) {
  const json::object& spec = Part(object, "spec");
  const std::int64_t most = IntMember(spec, "maxReplicas");
  const std::int64_t least = IntMember(spec, "minReplicas", 1);
  if (least < 1) errors.push_back(Invalid("spec.minReplicas", least, "must be greater than or equal to 1"));
  if (most < 1) errors.push_back(Invalid("spec.maxReplicas", most, "must be greater than 0"));
  if (most >= 1 && most < least) {
    errors.push_back(Invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"));
  }
  const json::object& target = Part(spec, "scaleTargetRef");
  for (const char* member : {"kind", "name"}) {
    if (StringMember(target, member).empty()) errors.push_back(Required("spec.scaleTargetRef." + std::string(member)));
  }
}

}  // namespace berth::objects::internal
