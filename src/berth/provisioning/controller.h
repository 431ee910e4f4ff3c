// SPDX-License-Identifier: Apache-2.0
// Controller: answers ProvisioningRequests of the class check-capacity that name this processor. It asks the core for
// room, writes the answer into the request's conditions, and ends promises when their time is over. It does no I/O and
// reads no clock: objects, the core's reports, outcomes of writes and the time come in; questions to the core,
// writes and events go out through ControllerOutside. Waits go by a clock that does not jump, which is each function's
// `now`; what is written into requests, and the end of a promise, by the time of day. One thread.
//
//              no room: again later, after a longer wait each time
//            +------------------+
//            v                  |                            its time is over, and that is written
//   -----> kWaiting -------> kAsked ----------> kBooked ------------------------------------------> kEnded
//     |     it is its turn      | no retry        |  the room is lost: CapacityRevoked                ^
//     |                         +-----------------|------------------> Failed ------------------------+
//     +--> kAsked: Provisioned=True stands in the request, so the promise was made before a restart --+
//          it holds room again, where it was, before any pod is decided
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/error.h"
#include "berth/base/time.h"
#include "berth/core/scheduler/io.h"
#include "berth/framework/metrics.h"
#include "berth/provisioning/agenda.h"
#include "berth/provisioning/provisioning_request.h"
#include "berth/provisioning/request_pods.h"

namespace berth::provisioning {

class ControllerOutside {
 public:
  virtual ~ControllerOutside() = default;
  // Inputs of the core, which takes them in this order.
  virtual void Push(scheduler::Input input) = 0;
  // Patches the request's status. Controller::Written() gets the outcome, later.
  virtual void PatchStatus(const ProvisioningRequest& request, std::string body) = 0;
  virtual void RecordEvent(const ProvisioningRequest& request, bool is_warning, std::string reason,
                           std::string note) = 0;
};

struct ControllerOptions {
  std::string instance;                           // the value of processorInstance that names this processor
  std::set<std::string, std::less<>> namespaces;  // whose requests are answered; empty: all
  framework::Metrics* metrics = &framework::Metrics::None();
};

class Controller {
 public:
  // Upstream's times: of a promise, and until a request that found no room fails.
  static constexpr Duration kBookedFor = std::chrono::minutes(10);
  static constexpr Duration kRequestedFor = std::chrono::hours(7 * 24);
  // Between checks of a request without room: doubles from the first to the second.
  static constexpr Duration kRetryMin = std::chrono::seconds(5);
  static constexpr Duration kRetryMax = std::chrono::minutes(1);
  // How long a PodTemplate may come later than its request.
  static constexpr Duration kTemplateGrace = std::chrono::seconds(30);
  // Between tries of a write that failed.
  static constexpr Duration kWriteRetryMin = std::chrono::seconds(1);
  static constexpr Duration kWriteRetryMax = std::chrono::seconds(30);
  // Questions that the core has at once.
  static constexpr std::size_t kAskedMax = 32;
  // Pods for which room is kept at once, of all requests.
  static constexpr std::uint64_t kPodsMax = 50'000;
  static constexpr std::size_t kMessageBytesMax = 4096;

  // `outside` must outlive it.
  Controller(ControllerOutside& outside, ControllerOptions options);

  PodSources& sources() { return sources_; }

  // How far the time of day is ahead of `now` in the calls that follow.
  void SetWallAhead(Duration ahead) { wall_ahead_ = ahead; }

  void SetRequest(RequestPtr request, Time now);
  void RequestGone(std::string_view key);
  // Everything has been listed, and this process decides from now on: pushes the promises that stand in the requests
  // to the core, the oldest first. Once.
  void Lead(Time now);
  void Take(const scheduler::BookingReport& report, Time now);
  void Written(const std::string& key, const std::string& uid, const std::optional<Error>& error, Time now);
  // Does what is due.
  void Tick(Time now);
  // nullopt: nothing will be due without an input.
  std::optional<Time> NextWake() const;

  std::size_t booked_count() const { return booked_pods_.size(); }

 private:
  enum class Phase : std::uint8_t { kWaiting, kAsked, kBooked, kEnded };
  // What is to be written, or is being written.
  struct Draft {
    std::vector<Condition> conditions;
    std::optional<std::map<std::string, std::string, std::less<>>> details;
    bool empty() const { return conditions.empty() && !details; }
  };
  struct Entry {
    RequestPtr request;
    Phase phase = Phase::kWaiting;
    bool is_restored = false;  // kAsked: it was promised before
    Time due{};                // kWaiting: the next check
    Time end{};                // kBooked: of the promise, by the time of day
    int refusals = 0;
    Time seen_at{};
    Draft draft;
    Draft sent;  // under way; empty: nothing is
    Time write_at{};
    int write_failures = 0;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  Time Wall(Time now) const { return now + wall_ahead_; }
  void Check(Entry& entry, Time now);
  void Restore(Entry& entry, Time now);
  void Booked(Entry& entry, const scheduler::BookingReport& report, Time now);
  void Refused(Entry& entry, const std::string& why, Time now);
  void Revoke(Entry& entry, const std::string& why, Time now);
  void Fail(Entry& entry, std::string_view reason, const std::string& why, Time now);
  void Expire(Entry& entry, Time now);
  void Release(Entry& entry);
  void SayUnknownParameters(const ProvisioningRequest& request) const;
  void Add(Entry& entry, std::string_view type, bool is_true, std::string_view reason, std::string message, Time now);
  void Send(Entry& entry);
  void Count(std::string_view result);
  void Plan(const Entry& entry);
  void SetBooked(const std::string& key, std::uint64_t pods);

  ControllerOutside& outside_;
  const ControllerOptions options_;
  PodSources sources_;
  Entries entries_;
  Agenda agenda_;  // of the entries
  bool is_leading_ = false;
  Duration wall_ahead_{0};
  std::map<std::string, std::uint64_t, std::less<>> booked_pods_;  // of promises, by request
  std::uint64_t booked_pods_sum_ = 0;
  framework::Gauge& bookings_;
  framework::Gauge& pods_;
};

}  // namespace berth::provisioning
