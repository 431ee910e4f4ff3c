// SPDX-License-Identifier: Apache-2.0
// Fleet: the nodes and pods of a cluster as the page shows them, kept current by whoever watches the cluster. It knows
// what has changed since any revision, so that readers get a whole frame once and then small ones. Thread-safe; each
// call holds a lock that none keeps for longer than a frame takes (a tenth of a second for 50,000 pods on a busy
// machine), so whoever watches should not do so on a loop that others wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "berth/api/node.h"
#include "berth/api/pod.h"
#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/page/fleet_rows.h"
#include "berth/page/requests_memo.h"

namespace berth::page {

struct FleetCounts {
  std::size_t nodes = 0;
  std::size_t pods = 0;     // that have not ended
  std::size_t pending = 0;  // of these, without a node and not being deleted
  std::uint32_t revision = 0;
};

// The objects themselves, for questions: ordered by namespace and name, as the API server lists them.
struct FleetCopy {
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::uint32_t revision = 0;
};

// What happened since the last look.
struct FleetActivity {
  std::size_t arrived = 0;       // pods that came without a node
  std::size_t bound = 0;         // pods that got one
  std::vector<Duration> waited;  // of these, from when they were seen; at most kWaitsMax
};

// When what is told of a pod was seen.
struct PodTimes {
  std::optional<Time> arrived_at;  // without a node, for the first time
  std::optional<Time> bound_at;    // likewise with one
};

// How full a zone is; the sums are of its nodes.
struct ZoneUse {
  std::string zone;
  std::size_t nodes = 0;
  double cpu = 0, memory = 0, pods = 0;  // requested of allocatable, 0 to 1
};

class Fleet {
 public:
  static constexpr std::size_t kLabelKeysMax = 16;
  static constexpr std::size_t kScalarsMax = 8;
  // Beyond so many pods a frame says only how many a node has, and how many of an owner wait. Part() has the pods of
  // some nodes.
  static constexpr std::size_t kPodRowsMax = 100'000;
  // Nodes of one part, and pods from which on it takes no further node in.
  static constexpr std::size_t kPartNodesMax = 256;
  static constexpr std::size_t kPartPodsMax = 20'000;
  // Owners that a frame without pods names.
  static constexpr std::size_t kOwnerRowsMax = 100'000;
  // A reader that is further behind than so many changes of rows gets everything anew.
  static constexpr std::size_t kChangesMax = 100'000;
  static constexpr std::size_t kWaitsMax = 10'000;
  static constexpr std::size_t kZonesMax = 16;
  static constexpr std::size_t kNodePodsMax = 1'000;

  // `epoch` tells this one from another of an earlier process.
  explicit Fleet(std::uint32_t epoch, std::size_t pod_rows_max = kPodRowsMax)
      : epoch_(epoch), pod_rows_max_(pod_rows_max) {}
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  void SetNode(std::shared_ptr<const api::Node> node);
  void RemoveNode(std::string_view name);
  // `now`: when it was seen; nullopt: while the cluster is read for the first time, which is nobody's arrival. Pods
  // that have ended should not be added.
  void SetPod(std::shared_ptr<const api::Pod> pod, std::optional<Time> now);
  // The same for a pod that may have come, and got its node, without a call of its own for each.
  void SetPod(std::shared_ptr<const api::Pod> pod, const PodTimes& times);
  // A pod of that name with another uid stays. `times`: as of SetPod(), of one that was not set before it went.
  void RemovePod(std::string_view namespace_name, std::string_view name, std::string_view uid,
                 const PodTimes& times = {});

  // What a node has, or a pod holds, beside what their objects say; each call says all of it (FleetDevices). It may
  // come before the node or pod does, and is forgotten when it is empty.
  void SetNodeDevices(std::string_view name, framework::Resource devices);
  void SetPodDevices(std::string_view namespace_name, std::string_view name, std::string_view uid,
                     framework::Resource devices);

  std::uint32_t epoch() const { return epoch_; }
  FleetCounts counts() const;
  FleetCopy Copy() const;
  // The pods without a node alone, in the same order; no nodes.
  FleetCopy CopyWaiting() const;
  // Names of the schedulers that pods name, the first `count_max` by name.
  std::vector<std::string> SchedulerNames(std::size_t count_max) const;
  FleetActivity TakeActivity();
  std::vector<ZoneUse> UseByZone() const;

  struct Framed {
    std::uint32_t revision = 0;
    std::string bytes;
  };
  // Everything. Not const: it decides which labels and resources frames have from now on.
  Framed Frame();
  // What has changed since `base`; nullopt: not known any more, or frames have other columns now: a whole one is
  // needed.
  std::optional<Framed> Delta(std::uint32_t base);
  // The same since each of some revisions, all up to one; of the revision that is now there is none.
  struct Deltas {
    std::uint32_t revision = 0;
    std::map<std::uint32_t, std::string> since;  // without those for which a whole frame is needed
  };
  Deltas DeltasSince(const std::set<std::uint32_t>& bases);
  // The pods of these nodes, whatever their number in the cluster. Of nodes that there are not it has none.
  Framed Part(const std::vector<RowId>& nodes);
  // Whether Delta() could go on from there.
  bool KnowsChangesSince(std::uint32_t base) const;

  // What GET /nodes/NAME and the `page` part of GET /pods/NAMESPACE/NAME answer; nullopt: there is none.
  std::optional<codec::json::object> NodeJson(std::string_view name) const;
  std::optional<codec::json::object> PodJson(std::string_view namespace_name, std::string_view name) const;
  // What GET /search answers in `pods`: see the function of fleet_json.h.
  codec::json::array PodsLike(std::string_view text, std::size_t count_max) const;

 private:
  using NodeAt = std::map<RowId, NodeRow>::iterator;

  void PutNode(std::shared_ptr<const api::Node> node);
  void PutPod(std::shared_ptr<const api::Pod> pod, const PodTimes& times);
  NodeAt NodeNamed(std::string_view name);
  // The pod's row, and whether it is a new one, which has no pod yet.
  std::pair<PodAt, bool> RowFor(const api::ObjectMeta& meta);
  OwnerRow& OwnerFor(const whatif::WorkloadView& workload);
  void DropOwner(OwnerRow& owner);
  // Adds what the pod requests to its node, or takes it away.
  void Count(RowId id, const PodRow& row, int sign);
  // Counts a pod among what happens.
  void CountActivity(const PodTimes& times, bool is_new, bool was_unbound, PodRow& row);
  void DropPod(PodAt pod);
  void DropNodeIfUnused(RowId id);
  void Remember(const FleetChange& change);
  // Notes that a row has changed in this revision; `changed_in` is the row's.
  void Touch(RowId id, bool is_node, std::uint32_t& changed_in);
  void TouchNode(RowId id, NodeRow& row);
  void LeaveZone(NodeRow& row);
  bool CanGoOnFrom(std::uint32_t base) const;
  std::string DeltaFrom(std::uint32_t base) const;
  void CountScheduler(const std::string& name, int sign);
  void CountLabels(const api::Node& node, bool is_added);
  void NoteScalars(const framework::Resource& of);
  void RefreshSchema();

  const std::uint32_t epoch_;
  const std::size_t pod_rows_max_;
  mutable std::mutex mutex_;  // guards all below
  std::uint32_t revision_ = 1;
  RowId next_id_ = 0;
  FleetRows rows_;
  StringHashMap<NodeAt> node_ids_;  // by name
  absl::flat_hash_set<PodAt, PodNameHash, PodNameEqual> pods_by_name_;
  // By workload: found sooner than in the order of rows_.owners.
  absl::flat_hash_set<OwnerRow*, OwnerHash, OwnerEqual> owner_rows_;
  RequestsMemo requests_;
  StringHashMap<framework::Resource> node_devices_;  // by name
  StringHashMap<framework::Resource> pod_devices_;   // by uid
  std::uint32_t changes_known_from_ = 0;             // of an older base some are forgotten
  std::size_t pending_count_ = 0;
  std::map<std::string, std::size_t, std::less<>> label_counts_;      // nodes, by label key
  std::map<std::string, std::size_t, std::less<>> scheduler_counts_;  // pods, by schedulerName
  std::set<std::string, std::less<>> scalars_seen_;                   // that some node has
  std::map<std::string, ZoneSums, std::less<>> zones_;                // by name; "": of nodes without a zone
  bool is_schema_stale_ = true;
  FleetSchema schema_;
  std::uint32_t schema_since_ = 0;  // revision; frames before it have other columns
  FleetActivity activity_;
};

}  // namespace berth::page
