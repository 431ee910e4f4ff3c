// SPDX-License-Identifier: Apache-2.0
// Jobs. Like upstream's controller, but it counts the pods that there are: a finished pod that somebody deletes keeps
// its place in status.succeeded and status.failed, since these never fall. Pod failure and success policies are not
// looked at; no simulated pod fails by itself.
#include "berth/devcluster/controllers/job_decision.h"

#include <algorithm>
#include <set>
#include <utility>

#include "berth/devcluster/controllers/workload_pods.h"

namespace berth::controllers {
namespace {

constexpr std::size_t kNameMax = 63 - 6 - 8;  // room for an index and the suffix

struct Tally {
  Pods active;
  std::int64_t ready = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::set<std::int64_t> indexes_done;
  std::set<std::int64_t> indexes_active;
  StringHashSet names;
};

std::int64_t IndexOf(const PodView& pod) {
  const std::string* text = pod.labels.Find(kCompletionIndexKey);
  return text == nullptr ? -1 : NumberIn(*text);
}

Tally Count(const Pods& pods, bool is_indexed) {
  Tally tally;
  for (const auto& pod : pods) {
    tally.names.insert(pod->name);
    if (pod->phase == "Succeeded") {
      ++tally.succeeded;
      tally.indexes_done.insert(IndexOf(*pod));
    } else if (pod->phase == "Failed") {
      ++tally.failed;
    } else if (pod->IsActive()) {
      tally.active.push_back(pod);
      tally.indexes_active.insert(IndexOf(*pod));
      tally.ready += pod->is_ready ? 1 : 0;
    }
  }
  tally.indexes_done.erase(-1);
  if (is_indexed) tally.succeeded = static_cast<std::int64_t>(tally.indexes_done.size());
  return tally;
}

// "0-2,5"
std::string Ranges(const std::set<std::int64_t>& indexes) {
  std::string text;
  for (auto it = indexes.begin(); it != indexes.end();) {
    const std::int64_t first = *it;
    std::int64_t last = first;
    for (++it; it != indexes.end() && *it == last + 1; ++it) last = *it;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += (last == first + 1 ? "," : "-") + std::to_string(last);
  }
  return text;
}

const json::object* FindCondition(const WorkloadView& job, std::string_view type) {
  const json::value* conditions = Member(job.status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const json::value& each : conditions->get_array()) {
    if (each.is_object() && StringOf(each.get_object(), "type") == type) return &each.get_object();
  }
  return nullptr;
}

bool HasTrue(const WorkloadView& job, std::string_view type) {
  const json::object* condition = FindCondition(job, type);
  return condition != nullptr && StringOf(*condition, "status") == "True";
}

json::object Condition(const char* type, bool is_true, const char* reason, const char* message, Time now) {
  return {{"type", type},
          {"status", is_true ? "True" : "False"},
          {"lastProbeTime", FormatRfc3339(now)},
          {"lastTransitionTime", FormatRfc3339(now)},
          {"reason", reason},
          {"message", message}};
}

void Finish(PodDecision& decision, const char* type, const char* reason, const char* message, Time now) {
  const bool is_complete = std::string_view(type) == "Complete";
  decision.status["active"] = 0;
  decision.status["ready"] = 0;
  decision.status["conditions"] =
      json::array{Condition(is_complete ? "SuccessCriteriaMet" : "FailureTarget", true, reason, message, now),
                  Condition(type, true, reason, message, now)};
  decision.note =
      is_complete ? PodDecision::Note{false, "Completed", "Job completed"} : PodDecision::Note{true, reason, message};
}

void MakePods(const WorkloadView& job, const Tally& tally, std::int64_t count, bool is_indexed, PodDecision& decision) {
  const std::string base = job.name.substr(0, kNameMax) + '-';
  const PodMaker maker("Job", job);
  count = std::min(count, kBurst);
  if (!is_indexed) {
    for (std::int64_t serial = 0; count > 0; ++serial) {
      std::string name = base + NameSuffixOf(job.uid + '/' + std::to_string(serial));
      if (tally.names.contains(name)) continue;
      decision.pods.push_back({name, maker.Make(name)});
      --count;
    }
    return;
  }
  const std::int64_t completions = IntegerOf(job.spec, "completions", 0);
  for (std::int64_t index = 0; index < completions && count > 0; ++index) {
    if (tally.indexes_done.contains(index) || tally.indexes_active.contains(index)) continue;
    const std::string text = std::to_string(index);
    std::string name;
    for (std::int64_t attempt = 0; name.empty() || tally.names.contains(name); ++attempt) {
      name = base + text + '-' + NameSuffixOf(job.uid + '/' + text + '/' + std::to_string(attempt));
    }
    decision.pods.push_back({name, maker.Make(name, index)});
    --count;
  }
}

// A finished Job: it only may outlive its time.
PodDecision DecideFinished(const WorkloadView& job, const Tally& tally, Time now) {
  PodDecision decision;
  decision.surplus = tally.active;
  const json::value* ttl = Member(job.spec, "ttlSecondsAfterFinished");
  if (ttl == nullptr || !ttl->is_int64()) return decision;
  Time finished = now;
  for (const char* type : {"Complete", "Failed"}) {
    if (const json::object* condition = FindCondition(job, type)) {
      finished = ParseRfc3339(StringOf(*condition, "lastTransitionTime")).value_or(now);
    }
  }
  const Time end = finished + std::chrono::seconds(std::clamp<std::int64_t>(ttl->get_int64(), 0, 1'000'000'000));
  decision.removes_owner = end <= now;
  if (!decision.removes_owner) decision.again_after = end - now;
  return decision;
}

}  // namespace

PodDecision DecideJob(const WorkloadView& job, const Pods& pods, Time now) {
  const bool is_indexed = StringOf(job.spec, "completionMode") == "Indexed";
  const Tally tally = Count(pods, is_indexed);
  if (HasTrue(job, "Complete") || HasTrue(job, "Failed")) return DecideFinished(job, tally, now);
  PodDecision decision;
  const json::value* suspend = Member(job.spec, "suspend");
  const bool is_suspended = suspend != nullptr && suspend->is_bool() && suspend->get_bool();
  const json::value* wanted = Member(job.spec, "completions");
  const std::int64_t completions = wanted != nullptr && wanted->is_int64() ? wanted->get_int64() : -1;
  const std::int64_t parallelism = IntegerOf(job.spec, "parallelism", 1);
  const auto active = static_cast<std::int64_t>(tally.active.size());
  const std::int64_t succeeded = std::max(tally.succeeded, job.StatusCount("succeeded"));
  const std::int64_t failed = std::max(tally.failed, job.StatusCount("failed"));
  const auto started = ParseRfc3339(StringOf(job.status, "startTime"));

  json::object& status = decision.status;
  status["active"] = active;
  status["ready"] = tally.ready;
  status["succeeded"] = succeeded;
  status["failed"] = failed;
  if (is_indexed) status["completedIndexes"] = Ranges(tally.indexes_done);
  if (is_suspended) {
    decision.surplus = tally.active;
    status["startTime"] = nullptr;
    if (!HasTrue(job, "Suspended")) {
      status["conditions"] = json::array{Condition("Suspended", true, "JobSuspended", "Job suspended", now)};
      decision.note = PodDecision::Note{false, "Suspended", "Job suspended"};
    }
    return decision;
  }
  if (HasTrue(job, "Suspended")) {
    status["conditions"] = json::array{Condition("Suspended", false, "JobResumed", "Job resumed", now)};
    decision.note = PodDecision::Note{false, "Resumed", "Job resumed"};
  }
  if (!started) status["startTime"] = FormatRfc3339(now);

  const json::value* deadline = Member(job.spec, "activeDeadlineSeconds");
  std::optional<Time> end;
  if (started && deadline != nullptr && deadline->is_int64()) {
    end = *started + std::chrono::seconds(std::clamp<std::int64_t>(deadline->get_int64(), 0, 1'000'000'000));
    if (*end > now) decision.again_after = *end - now;
  }
  const bool has_all = completions >= 0 ? succeeded >= completions : succeeded > 0 && active == 0;
  if (has_all) {
    Finish(decision, "Complete", "CompletionsReached", "Reached expected number of succeeded pods", now);
    status["completionTime"] = FormatRfc3339(now);
    decision.surplus = tally.active;
  } else if (failed > IntegerOf(job.spec, "backoffLimit", 6)) {
    Finish(decision, "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit", now);
    decision.surplus = tally.active;
  } else if (end && *end <= now) {
    Finish(decision, "Failed", "DeadlineExceeded", "Job was active longer than specified deadline", now);
    decision.surplus = tally.active;
  } else {
    // Without a number of completions the first success ends the work: no pod is made behind it.
    std::int64_t target = succeeded > 0 ? active : parallelism;
    if (completions >= 0) target = std::min(parallelism, completions - succeeded);
    if (active > target) {
      decision.surplus = tally.active;
      decision.surplus.resize(static_cast<std::size_t>(active - target));
    }
    MakePods(job, tally, target - active, is_indexed, decision);
  }
  return decision;
}

}  // namespace berth::controllers
