// SPDX-License-Identifier: Apache-2.0
// LeaderElector: holds a Lease or waits for it, so that only one of several processes schedules. It is compatible with
// client-go's tools/leaderelection (v0.36) and shares Leases with it. It opens the fence (net/write_fence.h) and
// extends it with each renewal, and calls back when it begins to lead or has lost the lease. What leading means is the
// caller's business.
//
// All durations are measured by the fence's clock, which does not jump. The times of day that other holders write are
// not interpreted: a changed record is valid for its lease duration from the moment when the change was seen.
//
//   kIdle --Start()--> kStandby --a--> kLeading --Release()--> kReleasing
//     |                   |               |                        |
//     | Release()         | Release()     | b                      | c
//     +---------+---------+               v                        |
//               v                       kLost                      |
//            kReleased <-------------------------------------------+
//
//   a  the server has stored our record, and the fence has time left: on_started_leading
//   b  no renewal succeeded within the renew deadline or before the fence closed, or the lease is another's: on_lost
//   c  the server has stored a record without a holder, or kReleaseMax has passed
//
// LeaveToRunOut() leads from each of them to kReleased at once.
//
// There is one request at a time (Step). An attempt passes through these steps and ends in kPausing, until the next
// attempt:
//
//             +--the record is ours and valid--> kRenewing --ok--> kPausing
//   kPausing -+                                      | any error
//             +--else----------------------------> kGetting --held by another--> kPausing
//                                                    |   |
//                                                404 |   | free, expired or ours
//                                                    v   v
//                                              kCreating kUpdating --ok or error--> kPausing
//
// Differences from client-go, all on the safe side:
// - A leader that reads another holder's name has lost at once, and not only at the end of its renew deadline. The
//   fence may also close before that deadline.
// - If a Lease is deleted while another process holds it, a standby creates it again only when the holder's lease
//   duration is over. Until then the holder has had the time to create it again itself. A standby that has only just
//   started, and has seen no holder, takes a missing Lease at once, as client-go does.
// - While another process holds the lease, a standby reads it at least every retry period, and when it runs out. It
//   therefore takes over within the lease duration plus one retry period. client-go waits up to 2.2 retry periods
//   between two reads, as this class does after errors.
// - "stopped leading" is recorded while the lease is still held, and not after a loss.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "berth/base/random.h"
#include "berth/base/time.h"
#include "berth/shell/client/lease.h"
#include "berth/shell/client/rest_client.h"
#include "berth/shell/net/write_fence.h"

namespace berth::client {

struct LeaderElectorOptions {
  std::string namespace_name = "kube-system";
  std::string name = "kube-scheduler";
  std::string identity = {};                    // unique to this process: "host_<uuid>"
  std::string component = "default-scheduler";  // the source named in events
  // leaseDuration > renewDeadline > 1.2 * retryPeriod; see Check().
  Duration lease_duration = std::chrono::seconds(15);  // fractions of a second are dropped
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  std::uint64_t seed = 1;  // of the jitter

  // kInvalid, with client-go's message.
  Expected<void> Check() const;
};

class LeaderElector final {
 public:
  static constexpr double kJitterFactor = 1.2;
  // The fence closes a tenth of the lease duration early. This covers a write's way to the server, and clocks of other
  // machines that run at a slightly different rate.
  static constexpr int kMarginDivisor = 10;
  // kReleaseMax bounds the release. kLogPeriod is the shortest time between two log lines about failures.
  static constexpr Duration kReleaseMax = std::chrono::seconds(2);
  static constexpr Duration kLogPeriod = std::chrono::seconds(10);
  static constexpr std::size_t kLeaseBytesMax = std::size_t{1} << 20;

  // Called on the loop's thread, each at most once.
  struct Callbacks {
    std::function<void()> on_started_leading;
    std::function<void(const std::string& why)> on_lost;  // the fence is closed, for good
  };

  // `rest` must have no fence, and a transport of its own, so that renewals wait for no other request. It must outlive
  // this object.
  LeaderElector(RestClient& rest, std::shared_ptr<net::WriteFence> fence, LeaderElectorOptions options,
                Callbacks callbacks);
  // On the loop's thread, or after its end.
  ~LeaderElector();
  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  // Any thread, once.
  void Start();
  // Ends the candidacy. A leader closes the fence and gives the lease back. `done` is called on the loop's thread with
  // whether this process led; no other callback comes afterwards. A standby whose first write is under way may leave a
  // lease that has to run out. Any thread.
  void Release(std::function<void(bool was_leader)> done);
  // Ends the candidacy and closes the fence as well, but leaves the lease of a leader to run out: a write that it has
  // sent may still take effect, and nobody else may lead before that is past. Any thread.
  void LeaveToRunOut(std::function<void(bool was_leader)> done);
  // The same as Release() for a standby. If this process leads, nothing happens, and `done` is called with true. Any
  // thread.
  void Withdraw(std::function<void(bool is_leader)> done);

  // Any thread: for metrics and health checks.
  bool IsLeader() const { return is_leader_; }
  std::uint64_t slow_path_count() const { return slow_path_count_; }
  // False if this process leads and has not renewed the lease for the lease duration plus `tolerance`.
  bool IsHealthy(Duration tolerance) const;

 private:
  enum class State : std::uint8_t { kIdle, kStandby, kLeading, kReleasing, kReleased, kLost };
  enum class Step : std::uint8_t { kPausing, kRenewing, kGetting, kCreating, kUpdating };
  using Answer = void (LeaderElector::*)(Expected<net::Response>);

  void Try();
  void Send(Step step, net::Request request, Answer answer);
  void Get();
  void Write(Step step, LeaseRecord record);
  void OnGot(Expected<net::Response> answer);
  void OnMissing();
  void OnStored(Expected<net::Response> answer);
  void OnRenewed(const LeaseRecord& record);
  void Lead();
  void Lose(const std::string& why);
  void Fail(const Error& error);
  void Pause(Duration delay);
  void ArmDeadline();
  void BeginRelease();
  void GiveBack();
  void OnGivingBack(Expected<net::Response> answer);
  void EndRelease();
  void RecordEvent(std::string_view what, std::function<void()> done);
  bool MayLog();

  Time Now() const { return fence_->Now(); }
  LeaseRecord NewRecord() const;
  bool IsOurs(const LeaseRecord& record) const { return record.holder_identity == options_.identity; }
  Time ObservedEnd() const { return observed_at_ + std::chrono::seconds(observed_.lease_duration_seconds); }
  Time Deadline() const { return std::min(renew_since_ + options_.renew_deadline, held_until_); }
  Duration RandomBetween(Duration least, Duration most);

  RestClient& rest_;
  const std::shared_ptr<net::WriteFence> fence_;
  const LeaderElectorOptions options_;
  Callbacks callbacks_;
  Random random_;

  State state_ = State::kIdle;
  Step step_ = Step::kPausing;
  std::uint64_t request_ = 0;   // number of the latest request; answers to earlier ones are dropped
  std::optional<Lease> lease_;  // as it was last read or stored
  LeaseRecord observed_;
  Time observed_at_{};
  Time sent_at_{};      // the request under way
  Time renew_since_{};  // kLeading: when the renewals began that have not succeeded yet
  Time held_until_{};   // the moment at which the fence closes
  std::function<void()> cancel_pause_;
  std::function<void()> cancel_deadline_;
  std::function<void(bool)> on_released_;
  int release_parts_ = 0;  // answers that a release still waits for: to the write of the record, and to the event
  std::optional<Time> logged_at_;
  std::string logged_holder_;  // in the log

  std::atomic<bool> is_leader_{false};
  std::atomic<std::uint64_t> slow_path_count_{0};
  std::atomic<Duration::rep> renewed_at_{0};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::client
