// SPDX-License-Identifier: Apache-2.0
// Context: what the controllers share: the cluster as the watches show it, requests, events, counters. All of it
// belongs to the loop's thread but what is atomic.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/api/node.h"
#include "berth/base/time.h"
#include "berth/devcluster/controllers/controllers.h"
#include "berth/devcluster/controllers/objects.h"
#include "berth/shell/client/event_recorder.h"
#include "berth/shell/client/rest_client.h"

namespace berth::controllers {

inline constexpr std::string_view kCorePrefix = "/api/v1";
inline constexpr std::string_view kAppsPrefix = "/apis/apps/v1";
inline constexpr std::string_view kMergePatch = "application/merge-patch+json";
inline constexpr std::string_view kStrategicPatch = "application/strategic-merge-patch+json";

// A kind whose objects own pods (or, as Deployments, what owns them).
struct OwnerKind {
  std::string_view kind;      // "Job"
  std::string_view prefix;    // "/apis/batch/v1"
  std::string_view plural;    // "jobs"
  std::string_view reporter;  // of its events
};
inline constexpr OwnerKind kReplicaSets = {"ReplicaSet", kAppsPrefix, "replicasets", "replicaset-controller"};
inline constexpr OwnerKind kJobs = {"Job", "/apis/batch/v1", "jobs", "job-controller"};
inline constexpr OwnerKind kDaemonSets = {"DaemonSet", kAppsPrefix, "daemonsets", "daemonset-controller"};
inline constexpr OwnerKind kStatefulSets = {"StatefulSet", kAppsPrefix, "statefulsets", "statefulset-controller"};

class Context : public std::enable_shared_from_this<Context> {
 public:
  using Answer = std::function<void(Expected<net::Response>)>;

  Context(client::RestClient& rest, client::RestClient& events_rest, const ControllersOptions& options);

  client::RestClient& rest;
  client::EventLoop& loop;
  const ControllersOptions options;

  ObjectIndex<WorkloadView> deployments;
  ObjectIndex<WorkloadView> replica_sets;
  ObjectIndex<WorkloadView> jobs;
  ObjectIndex<WorkloadView> daemon_sets;
  ObjectIndex<WorkloadView> stateful_sets;
  ObjectIndex<PodView> pods;
  std::map<std::string, std::shared_ptr<const api::Node>, std::less<>>
      nodes;  // by name; empty when no nodes are watched

  std::atomic<bool> is_stopped{false};
  std::atomic<std::uint64_t> pods_created{0};
  std::atomic<std::uint64_t> pods_deleted{0};
  std::atomic<std::uint64_t> objects_collected{0};
  std::atomic<std::uint64_t> failures{0};

  // Null for a kind that is not looked after.
  const ObjectIndex<WorkloadView>* OwnersOf(const api::OwnerReference& owner) const;
  static const OwnerKind* FindOwnerKind(const api::OwnerReference& owner);

  // One try; the controllers try again themselves, with the newest state. The caller gets no answer after Stop().
  void Send(std::string method, std::string path, const json::object& body, std::string_view content_type,
            Answer answer);
  void Read(std::string path, Answer answer) { Read(std::move(path), {}, std::move(answer)); }
  void Read(std::string path, std::string_view accept, Answer answer);
  struct DeleteMode {
    bool is_version_strict = false;  // only the version that `object` is
    bool is_immediate = false;       // no grace period
    std::string_view propagation = "Background";
  };
  // Deletes with the object's uid as a precondition.
  void Delete(std::string path, const ObjectView& object, DeleteMode mode, Answer answer);

  // For Delete() of an object that nobody needs: counts the deletion, and calls `done` with whether the key is done
  // with.
  Answer AfterCollecting(std::string key, std::function<void(bool)> done);

  // Runs `work`, which ends with Leave(), when fewer than options.in_flight_max such calls are under way.
  void Enter(std::function<void()> work);
  void Leave();

  // About a workload; `pod` names the pod that it did something to, if there is one.
  void RecordEvent(const ObjectView& regarding, std::string_view kind, std::string_view reporter, bool is_warning,
                   std::string_view reason, std::string note, const std::string& pod = {});
  // Counts a failure and logs it, seldom.
  void CountFailure(std::string_view doing, const std::string& key, const Error& error);

 private:
  Answer WhenAlive(Answer answer);

  client::EventRecorder recorder_;
  std::deque<std::function<void()>> waiting_;  // bounded by the bursts of the ReplicaSets that are handled at once
  int entered_ = 0;
  std::optional<Time> failure_logged_at_;
};

}  // namespace berth::controllers
