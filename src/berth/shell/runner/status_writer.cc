// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/status_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "berth/base/backoff.h"
#include "berth/base/log.h"
#include "berth/codec/document_memory.h"
#include "berth/codec/json.h"
#include "berth/shell/client/rest_client.h"

namespace berth::runner {
namespace {

constexpr Duration kBackoffInitial = std::chrono::milliseconds(200);
constexpr Duration kBackoffMax = std::chrono::seconds(10);

// Tries after a 403 or a conflict. An API server that has just started refuses what it has not read the rules for yet.
// A conflict means another pod of the same name, or a write in between.
constexpr int kRefusedTriesMax = 12;  // about a minute

bool IsPassing(const Error& error, int failures) {
  // A policy that denies the patch would deny it for ever.
  const bool is_denied = error.code == ErrorCode::kDeniedByAdmission && !client::SaysWebhookIsAway(error.message);
  if (is_denied || error.code == ErrorCode::kForbidden || error.code == ErrorCode::kUnauthorized ||
      error.code == ErrorCode::kConflict) {
    return failures + 1 < kRefusedTriesMax;
  }
  return error.outcome_unknown || error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout ||
         error.code == ErrorCode::kTooManyRequests || error.code == ErrorCode::kInternal ||
         error.code == ErrorCode::kDeniedByAdmission;
}

// Adds the parts of an older patch that the newer one does not set.
void MergeOlder(framework::PodStatusWrite& newer, const framework::PodStatusWrite& older) {
  if (!newer.has_nomination && older.has_nomination) {
    newer.has_nomination = true;
    newer.nominated_node_name = older.nominated_node_name;
  }
  if (!newer.has_condition && older.has_condition) {
    newer.has_condition = true;
    newer.condition_type = older.condition_type;
    newer.condition_status = older.condition_status;
    newer.condition_reason = older.condition_reason;
    newer.condition_message = older.condition_message;
    newer.is_transition = older.is_transition;
    newer.observed_generation = older.observed_generation;
  } else if (newer.has_condition && older.has_condition) {
    newer.is_transition |= older.is_transition;
  }
}

}  // namespace

std::string StatusPatch(const framework::PodStatusWrite& write, Time wall_now) {
  codec::DocumentMemory memory;
  codec::json::value patch(memory.storage());
  codec::json::object& status = patch.emplace_object()["status"].emplace_object();
  if (write.has_condition) {
    codec::json::array& conditions = status["conditions"].emplace_array();
    codec::json::object& condition = conditions.emplace_back(nullptr).emplace_object();
    condition["type"] = write.condition_type;
    condition["status"] = write.condition_status;
    condition["reason"] = write.condition_reason;
    condition["message"] = write.condition_message;
    condition["lastProbeTime"] = nullptr;
    if (write.is_transition) condition["lastTransitionTime"] = FormatRfc3339(wall_now);
    if (write.observed_generation > 0) condition["observedGeneration"] = write.observed_generation;
  }
  if (write.has_nomination) {
    if (write.nominated_node_name.empty()) {
      status["nominatedNodeName"] = nullptr;
    } else {
      status["nominatedNodeName"] = write.nominated_node_name;
    }
  }
  return codec::WriteJson(patch);
}

StatusWriter::~StatusWriter() { *alive_ = false; }

void StatusWriter::Write(framework::PodStatusWrite write) {
  const std::string uid = write.pod.uid;
  Entry& entry = entries_[uid];
  if (entry.next) MergeOlder(write, *entry.next);
  entry.next = std::move(write);
  if (!entry.sending && entry.failures == 0) Enqueue(uid, entry);
}

void StatusWriter::Settle(const std::string& uid, std::function<void()> then) {
  const auto it = entries_.find(uid);
  if (it == entries_.end()) {
    then();
    return;
  }
  if (!it->second.sending) {
    Erase(it);
    then();
    return;
  }
  it->second.next.reset();
  it->second.settled = std::move(then);
}

void StatusWriter::Enqueue(const std::string& uid, Entry& entry) {
  if (std::exchange(entry.is_queued, true)) return;
  const std::string namespace_name = entry.next->pod.namespace_name;
  lanes_->Add(namespace_name, [this, alive = alive_, uid](client::RequestLanes::Ended ended) {
    return *alive && Send(uid, std::move(ended));
  });
}

// False: there is no patch for the pod any more.
bool StatusWriter::Send(const std::string& uid, client::RequestLanes::Ended ended) {
  const auto it = entries_.find(uid);
  if (it == entries_.end()) return false;
  Entry& entry = it->second;
  entry.is_queued = false;
  if (!entry.next || entry.sending) return false;
  entry.sending = std::exchange(entry.next, std::nullopt);
  const framework::PodRef& pod = entry.sending->pod;
  writer_.PatchPodStatus({pod.namespace_name, pod.name, pod.uid}, StatusPatch(*entry.sending, loop_.WallNow()),
                         [this, alive = alive_, uid, ended = std::move(ended)](const Expected<void>& result) {
                           if (*alive) Sent(uid, result);
                           if (*alive) ended(client::EndOf(result));
                         });
  return true;
}

void StatusWriter::Sent(const std::string& uid, const Expected<void>& result) {
  const auto it = entries_.find(uid);
  if (it == entries_.end()) return;
  Entry& entry = it->second;
  const framework::PodStatusWrite sent = *std::exchange(entry.sending, std::nullopt);
  if (entry.settled) {
    const std::function<void()> settled = std::move(entry.settled);
    Erase(it);
    settled();
    return;
  }
  if (!result.ok() && IsPassing(result.error(), entry.failures)) {
    if (entry.next) {
      MergeOlder(*entry.next, sent);
    } else {
      entry.next = sent;
    }
    const Duration backoff = Doubled(kBackoffInitial, kBackoffMax, entry.failures++);
    const Duration asked = std::chrono::milliseconds(result.error().retry_after_ms);
    const Duration delay = std::clamp<Duration>(asked, backoff, client::kRetryAfterMax);
    (void)loop_.PostAfter(delay, [this, alive = alive_, uid] {
      if (!*alive) return;
      const auto waiting = entries_.find(uid);
      if (waiting != entries_.end() && waiting->second.next) Enqueue(uid, waiting->second);
    });
    return;
  }
  // The pod was deleted, or replaced by another one of the same name: its status does not matter any more.
  const bool is_gone =
      !result.ok() && (result.error().code == ErrorCode::kNotFound || result.error().code == ErrorCode::kConflict);
  if (!result.ok() && !is_gone) {
    log::Warning("app", "Could not write a pod's status",
                 {{"pod", sent.pod.namespace_name + "/" + sent.pod.name}, {"err", result.error().message}});
  }
  entry.failures = 0;
  if (entry.next && !is_gone) {
    Enqueue(uid, entry);
  } else {
    Erase(it);
  }
}

void StatusWriter::Erase(Entries::iterator entry) {
  entries_.erase(entry);
  if (entries_.empty() && entries_.capacity() > kSlotsKeptMax) entries_ = Entries();
}

}  // namespace berth::runner
