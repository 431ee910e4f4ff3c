// SPDX-License-Identifier: Apache-2.0
// PageService: berth's page and its API, /ui and below. It puts the parts of this folder together: a Fleet that a watch
// keeps current, readers of events, and questions on threads of their own. Whoever serves it (PageServer on loopback,
// the secure port of `berth run`) has decided that the reader may read. It changes nothing in the cluster.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/base/worker_pool.h"
#include "berth/codec/json.h"
#include "berth/page/cluster_watch.h"
#include "berth/page/core_look.h"
#include "berth/page/decision_feed.h"
#include "berth/page/event_streams.h"
#include "berth/page/fleet.h"
#include "berth/page/frame_cache.h"
#include "berth/page/numbers.h"
#include "berth/page/pending_view.h"
#include "berth/page/questions.h"
#include "berth/page/static_files.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/io_context.h"
#include "berth/shell/net/url.h"

namespace berth::page {

// The moment of a recording that is shown, and its bounds; times of day.
struct TimelineState {
  Time from{}, to{}, at{};
  std::string problem;  // why it cannot be followed to its end; empty: it can
};

// A recording, whose moment a reader chooses.
struct Timeline {
  std::function<TimelineState()> state;
  // Changes the fleet to what the cluster was at that time, or at the nearest one that was recorded. May take long.
  std::function<Expected<void>(Time at, Fleet& fleet)> seek;
};

struct PageOptions {
  std::string version;                // of berth
  std::string kubernetes;             // "v1.36.3"; empty: not known
  std::string source;                 // the API server's address, or the file
  std::string mode = "live";          // or "snapshot", "recording"
  std::optional<Time> as_of;          // of a snapshot
  std::vector<std::string> left_out;  // of a snapshot: what is missing
  std::optional<Timeline> timeline;   // of a recording
  // The report of `berth shadow` as JSON, as it is now; empty: none is shown.
  std::function<Expected<std::string>()> shadow_report{};
  std::uint32_t epoch = 0;  // another one for each process
  std::uint64_t seed = 0;   // of the watch
};

class PageService {
 public:
  static constexpr std::string_view kApi = "/ui/api/v1/";
  static constexpr std::size_t kBodyBytesMax = std::size_t{8} << 20;  // a manifest of 5 MiB within JSON
  // Requests that wait for a thread: of those that take long, and of all others.
  static constexpr int kSlowWaitingMax = 8;
  static constexpr int kQuickWaitingMax = 64;
  // A scheduler that rests is asked about a pod again so often, this long apart.
  static constexpr int kExplainTries = 40;
  static constexpr Duration kExplainPause = std::chrono::milliseconds(50);
  static constexpr Duration kPumpPeriod = std::chrono::milliseconds(100);
  // What waits is found out anew no more often, and that takes a tenth of a thread's time at most.
  static constexpr Duration kPendingPeriod = std::chrono::seconds(1);
  static constexpr int kPendingRestFactor = 9;
  // Up to this size an event says what waits, beyond it that there is something to ask for.
  static constexpr std::size_t kPendingToldBytesMax = std::size_t{32} << 10;

  // `rest` is watched; null: a snapshot, which `source.fixed` has. `decisions` is fed by a scheduler in this process;
  // null: there is none. `scheduler`: its watch. They and what else is referred to must outlive it.
  PageService(PageOptions options, ClusterSource source, CoreSources core, client::RestClient* rest,
              DecisionFeed* decisions, const Clock& clock, SchedulerWatch scheduler = {});
  ~PageService();
  PageService(const PageService&) = delete;
  PageService& operator=(const PageService&) = delete;

  void Start();
  // Ends streams and the watch, forgets decisions, and waits for questions under way; requests after it get 503. Before
  // the client's loop ends.
  void Stop();

  // Answers a request for `path`, which is decoded and "/ui" or below it. `writer` is used at once or from another
  // thread. Any thread; does not block.
  void Handle(net::Request request, const net::Target& target, const std::string& path,
              const std::shared_ptr<net::ResponseWriter>& writer);

  // Somebody reads events, or waits for an answer.
  bool IsInUse() const { return streams_.HasReaders() || slow_waiting_ > 0 || quick_waiting_ > 0 || explaining_ > 0; }

  // Whether `path` is one of the page's files, which hold no data and which anyone may have.
  static bool IsFile(std::string_view path) { return !path.starts_with("/ui/api/"); }

 private:
  using Writer = std::shared_ptr<net::ResponseWriter>;
  struct Asked {
    net::Request request;
    net::Target target;
    std::string path;  // behind kApi
    Writer writer;
  };
  using AskedPtr = std::shared_ptr<const Asked>;
  using Make = std::function<net::Response(const Asked&)>;

  void Get(const AskedPtr& asked);
  void Post(const AskedPtr& asked);
  // Where a request is answered: on a thread for what takes long, or for all else.
  enum class Lane : std::uint8_t { kQuick, kSlow };
  // False: it has stopped.
  bool RunIn(Lane lane, std::function<void()> work);
  // Runs `make` in the lane and sends what it returns; 429 when too much waits there.
  void Later(Lane lane, const AskedPtr& asked, Make make);
  void Quick(const AskedPtr& asked, Make make) { Later(Lane::kQuick, asked, std::move(make)); }
  void Slow(const AskedPtr& asked, Make make) { Later(Lane::kSlow, asked, std::move(make)); }
  // Asks about a pod until the scheduler has time, or `tries` are over.
  void ExplainSoon(const AskedPtr& asked, const std::string& namespace_name, const std::string& name, int tries);
  net::Response AnswerFleet(const Asked& asked);
  net::Response AnswerPart(const Asked& asked);
  net::Response AnswerSearch(const Asked& asked) const;
  net::Response AnswerPending(const Asked& asked);
  net::Response AnswerPod(const Asked& asked, const std::string& namespace_name, const std::string& name);
  net::Response AnswerDecisions(const Asked& asked) const;
  net::Response AnswerQuestion(const Asked& asked);
  net::Response AnswerTimeline(const Asked& asked) const;
  net::Response AnswerShadow(const Asked& asked) const;
  net::Response AnswerSeek(const Asked& asked);
  void BeginEvents(const Asked& asked);

  codec::json::object StatusJson(bool with_counts) const;
  // Finds out what waits; on a thread that may block.
  Expected<PendingView> FindPending();
  // The same, and keeps and announces it.
  Expected<void> RefreshPending();
  bool IsPendingDue(Time now) const;
  void ArmPump();
  void Pump();
  void TakeSample(Time now);

  const PageOptions options_;
  const Clock& clock_;
  DecisionFeed* const decisions_;
  const StaticFiles files_;
  Fleet fleet_;
  FrameCache frames_;
  CoreLook core_;
  Questions questions_;
  std::unique_ptr<ClusterWatch> watch_;  // null: a snapshot
  EventStreams streams_;
  Numbers numbers_;
  std::atomic<bool> is_stopped_{false};
  std::atomic<int> slow_waiting_{0};
  std::atomic<int> quick_waiting_{0};
  std::atomic<int> explaining_{0};

  // What was found out last of the pods that wait.
  struct KnownPending {
    std::optional<codec::json::object> json;  // nullopt: nothing yet
    std::string facts;
    std::uint32_t revision = 0;   // counts the changes of `facts`
    std::uint32_t fleet = 0;      // revision of the fleet that it is of
    std::uint64_t decisions = 0;  // likewise the last decision
    Time due_at{};
    bool is_under_way = false;
  };
  mutable std::mutex mutex_;  // guards what follows
  KnownPending pending_;
  std::optional<QueueCounts> queue_;
  std::string status_told_;
  // What had been counted at the last sample.
  struct Sampled {
    Time at{};
    std::uint64_t decisions = 0;
    std::optional<ProcessCounts> counts;
  } sampled_;

  net::IoContext io_;  // its thread pumps
  // The last, since their work uses the others. Null after Stop().
  std::mutex pools_mutex_;
  std::unique_ptr<WorkerPool> quick_ = std::make_unique<WorkerPool>(2);  // guarded by pools_mutex_
  std::unique_ptr<WorkerPool> slow_ = std::make_unique<WorkerPool>(1);   // guarded by pools_mutex_
};

}  // namespace berth::page
