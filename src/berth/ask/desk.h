// SPDX-License-Identifier: Apache-2.0
// Desk: answers questions on a few threads, each with a WarmCluster of its own. Bounded in every way: how many wait,
// how many of one client, how long one takes, how much it may ask for. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "berth/ask/change_log.h"
#include "berth/ask/desk_metrics.h"
#include "berth/ask/question_kinds.h"
#include "berth/ask/warm_cluster.h"
#include "berth/base/expected.h"
#include "berth/base/metric_registry.h"
#include "berth/base/time.h"

namespace berth::ask {

// For who keeps traces. Times are those of Clock::Now().
struct AnsweredQuestion {
  std::string_view question;
  std::string_view client;
  std::string_view traceparent;  // as the client has sent it
  std::string_view outcome;      // as in the metrics
  std::string_view error;        // empty: there was an answer
  Time asked_at{};
  Time begun_at{};
  Time ended_at{};
};

struct DeskOptions {
  std::size_t workers = 2;
  std::size_t waiting_max = 64;                  // questions that no worker has begun
  std::size_t of_client_max = 16;                // questions of one client, waiting or being answered
  Duration time_max = std::chrono::seconds(30);  // from the question to its answer
  AskLimits limits{.added_pods_max = 20'000, .node_copies_max = 10'000, .capacity_max = 1'000'000};
  bool is_live = true;                                       // the cluster is followed; else it is a snapshot
  std::function<void(const AnsweredQuestion&)> on_answer{};  // on a worker's thread; empty: nobody wants to know
};

class Desk {
 public:
  // Of the text of a snapshot that a question brings along, once it is unpacked.
  static constexpr std::uint64_t kSnapshotTextBytesMax = std::uint64_t{256} << 20;
  static constexpr Duration kIdlePeriod = std::chrono::milliseconds(500);

  // `log`, `clock` and `metrics` must outlive it.
  Desk(DeskOptions options, const ChangeLog& log, CoreFor core_for, const Clock& clock, MetricRegistry& metrics);
  // Ends questions under way, and drops those that wait.
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // The cluster has been read: workers make their cores.
  void Open();

  struct Question {
    std::string client;  // who asks
    const QuestionKind* kind = nullptr;
    std::string body;         // JSON
    std::string traceparent;  // the client's header; empty: none
  };
  // Ends the question at once where nobody waits for its answer any more. Any thread.
  class Ticket {
   public:
    void Cancel() { is_cancelled_ = true; }
    bool IsCancelled() const { return is_cancelled_; }

   private:
    std::atomic<bool> is_cancelled_{false};
  };
  // Is called once, on a worker's thread, unless the question was cancelled.
  using Done = std::function<void(Expected<Reply>)>;
  // kTooManyRequests: too many questions wait, or this client has too many.
  Expected<std::shared_ptr<Ticket>> Ask(Question question, Done done);

  // Cores loaded so far by all workers.
  std::size_t loads() const { return loads_; }

 private:
  struct Job {
    Question question;
    Done done;
    std::shared_ptr<Ticket> ticket;
    Time asked_at{};
  };

  void Work();
  void Answer(Job& job, WarmCluster& cluster);
  Expected<Reply> Find(const Job& job, WarmCluster& cluster, const IsInterrupted& is_interrupted);
  // On a core of the question's own.
  Expected<Reply> FindOnce(const Job& job, const codec::json::object& body, const whatif::ClusterState& state,
                           std::string configuration, const IsInterrupted& is_interrupted);
  void Leave(const std::string& client);

  const DeskOptions options_;
  const ChangeLog& log_;
  const CoreFor core_for_;
  const Clock& clock_;
  DeskMetrics metrics_;
  std::atomic<bool> is_stopped_{false};
  std::atomic<std::size_t> loads_{0};
  std::mutex
      once_mutex_;  // held while a question with a snapshot or configuration of its own is answered: one at a time

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool is_open_ = false;
  std::deque<Job> waiting_;
  std::map<std::string, std::size_t> of_client_;  // questions that are not answered yet
  std::vector<std::thread> threads_;
};

}  // namespace berth::ask
