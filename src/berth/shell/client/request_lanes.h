// SPDX-License-Identifier: Apache-2.0
// RequestLanes: requests that wait their turn, in a lane for each cause (a namespace), so that nobody waits for another
// tenant's webhook. Lanes take turns (round robin); so many requests are under way at once. One that has no answer
// after a second is taken out of that number, and its lane becomes slow: from then on it sends few at a time, beside
// the others, and more only as answers come quickly again (slow start, as in TCP), or as late as everybody's. After a
// request that ended without an answer the lane waits for a while, longer each time. Only the event loop's thread may
// use it.
//
// A server that is slow for all is no lane's fault: what waits in a slow lane waits on. A lane is blamed when the
// server answers others far sooner in the same time (ServerPace). Then what waits in it is refused, where it can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_map.h>

#include "berth/base/expected.h"
#include "berth/base/hash_map.h"
#include "berth/base/random.h"
#include "berth/base/time.h"
#include "berth/shell/client/event_loop.h"
#include "berth/shell/client/server_pace.h"

namespace berth::client {

// A request without an answer for so long is late.
inline constexpr Duration kRequestLateAfter = std::chrono::seconds(1);

struct RequestLanesOptions {
  int in_flight_max = 16;  // of lanes that are not slow; late ones do not count
  Duration late_after = kRequestLateAfter;
  // A lane that has been answered since its oldest late request was sent is blamed only if so many are late, the oldest
  // for so long: they may have been sent while the server was slow for all.
  int blamed_late_min = 8;
  Duration blamed_late_for = std::chrono::seconds(10);
  int slow_in_flight_max = 32;       // sent by slow lanes; never more than in_flight_max
  int late_beside_max = 2;           // late ones of a slow lane that do not keep it from sending: lost answers, say
  int all_in_flight_max = 128;       // late ones and all
  int quick_answers_wanted = 16;     // in a row, after which a lane is slow no more
  std::size_t idle_slow_max = 4096;  // slow lanes that are remembered while nothing waits in them
  // What a lane waits after a request without an answer; doubles with each in a row, half of it is jitter.
  Duration backoff_min = std::chrono::milliseconds(500);
  Duration backoff_max = std::chrono::seconds(10);
  std::uint64_t seed = 1;
  // What the server takes for others; null: this object's own lanes alone are compared.
  std::shared_ptr<ServerPace> pace = nullptr;
};

// How a request ended, for its lane.
enum class RequestEnd : std::uint8_t {
  kAnswered,
  kNotReached,  // at once, and not by the API server: this says nothing about how fast it is
  kNoAnswer,    // in time
};
template <typename T>
RequestEnd EndOf(const Expected<T>& result) {
  if (result.ok()) return RequestEnd::kAnswered;
  if (result.error().code == ErrorCode::kTimeout) return RequestEnd::kNoAnswer;
  return result.error().code == ErrorCode::kUnavailable ? RequestEnd::kNotReached : RequestEnd::kAnswered;
}

class RequestLanes : public std::enable_shared_from_this<RequestLanes> {
 public:
  // To be called once the request has ended, with EndOf its result; never twice.
  using Ended = std::function<void(RequestEnd end)>;
  // Sends the request, or returns false where there is nothing to send any more.
  using Start = std::function<bool(Ended ended)>;
  // Called instead of Start: the lane is blamed, and would not get to the request soon. `why` says what was found:
  // "have had no answer for 1.2s, while ...". Empty: it waits all the same.
  using Refuse = std::function<void(const std::string& why)>;

  // Always in a shared_ptr. `loop` must outlive it.
  RequestLanes(EventLoop& loop, RequestLanesOptions options);
  ~RequestLanes();
  RequestLanes(const RequestLanes&) = delete;
  RequestLanes& operator=(const RequestLanes&) = delete;

  // Behind what waits in this lane, or before it. May call `start` before it returns.
  void Add(std::string_view lane, Start start, Refuse refuse = {}) {
    Add(lane, {std::move(start), std::move(refuse)}, false);
  }
  void AddFirst(std::string_view lane, Start start) { Add(lane, {std::move(start), {}}, true); }
  // 0: no lane sends anything, slow or not.
  void SetInFlightMax(int in_flight_max);

  std::size_t waiting() const { return waiting_; }
  // Without those that have had no answer for long.
  int in_flight() const { return in_flight_; }
  // With late ones and those of slow lanes.
  int all_in_flight() const { return static_cast<int>(flights_.size()); }
  bool IsSlow(std::string_view lane) const;
  bool IsBlamed(std::string_view lane) const;

 private:
  struct Request {
    Start start;
    Refuse refuse;
  };
  struct Lane {
    std::deque<Request> waiting;
    int in_flight = 0;
    int late = 0;    // of those in flight
    int window = 0;  // while slow: requests at once; 0: not slow
    int quick_in_row = 0;
    Time answered_at = Time::min();
    std::string blamed_for;     // while it is blamed: what Refuse is told
    int failures = 0;           // in a row; of requests that were under way together one counts
    bool is_held = false;       // until its back-off has passed
    bool is_listed = false;     // in turns_ or slow_turns_
    bool is_kept_idle = false;  // in idle_slow_
  };
  struct Flight {
    std::string lane;
    Time sent_at{};
    std::uint64_t number = 0;  // in ServerPace
    bool is_slow = false;      // counted as such
    bool is_late = false;
  };

  void Add(std::string_view lane, Request request, bool is_first);
  bool HasRoom(const Lane& lane) const;
  std::uint64_t CauseOf(const std::string& lane) const;
  std::optional<Duration> FarSoonerOthers(const Flight& flight) const;
  void BecomeSlow(Lane& lane);
  void JudgeLateOnes();
  void Blame(Lane& lane, std::string why);
  void List(const std::string& name, Lane& lane);
  void Pump();
  bool StartOne(std::deque<std::string>& turns);
  void StartNext(const std::string& name, Lane& lane);
  // Without `end` the request was not sent.
  void OnEnd(std::uint64_t id, std::optional<RequestEnd> end);
  void Hold(const std::string& name, Lane& lane);
  void ArmTimer();
  void MarkLate();
  void DropIdle(const std::string& name);

  EventLoop& loop_;
  RequestLanesOptions options_;
  StringHashMap<Lane> lanes_;
  // Lanes in which something waits that they may send, in their turn.
  std::deque<std::string> turns_;
  std::deque<std::string> slow_turns_;
  std::deque<std::string> idle_slow_;  // those with nothing to do, which are slow, or were when they came here
  absl::flat_hash_map<std::uint64_t, Flight> flights_;
  std::deque<std::pair<Time, std::uint64_t>> by_age_;  // of flights, those that have ended among them
  std::uint64_t next_id_ = 1;
  std::size_t waiting_ = 0;
  int in_flight_ = 0;
  int slow_in_flight_ = 0;
  int late_in_flight_ = 0;
  Time judged_at_ = Time::min();
  bool is_pumping_ = false;
  std::deque<std::pair<Refuse, std::string>> refused_;  // to be told, and why
  std::function<void()> cancel_timer_;                  // of the oldest request, or of late ones; empty: it is not set
  Random random_;
};

}  // namespace berth::client
