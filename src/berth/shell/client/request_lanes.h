// SPDX-License-Identifier: Apache-2.0
// RequestLanes: requests wait in a lane for each cause (a namespace), so that nobody waits for another tenant's
// webhook. Lanes take turns (round robin), and in_flight_max requests are in flight at once. A request that has no
// answer after a second does not count any more, and its lane becomes slow. A slow lane sends few requests at a time,
// beside the others. It sends more as answers come quickly again (slow start, as in TCP), or no later than those of
// other lanes. After a request that ended without an answer the lane waits for a back-off. Only the event loop's thread
// may use it.
//
// A lane is blamed when the server answers others far sooner in the same time (ServerPace). Requests that wait in a
// blamed lane are refused, if they can be. While the server is slow for all they go on waiting.
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

// A request is late after this time without an answer.
inline constexpr Duration kRequestLateAfter = std::chrono::seconds(1);

struct RequestLanesOptions {
  int in_flight_max = 16;  // of lanes that are not slow, without late requests
  Duration late_after = kRequestLateAfter;
  // A lane that has got an answer since its oldest late request was sent is blamed only with this many late requests,
  // and if the oldest has waited this long: they may have been sent while the server was slow for all.
  int blamed_late_min = 8;
  Duration blamed_late_for = std::chrono::seconds(10);
  int slow_in_flight_max = 32;       // of slow lanes; never more than in_flight_max
  int late_beside_max = 2;           // late requests (lost answers, for example) with which a slow lane still sends
  int all_in_flight_max = 128;       // of all lanes, with late requests
  int quick_answers_wanted = 16;     // in a row, after which a lane is not slow any more
  std::size_t idle_slow_max = 4096;  // slow lanes that are remembered while they are empty
  // The back-off of a lane after a request without an answer. It doubles with each in a row, and half of it is jitter.
  Duration backoff_min = std::chrono::milliseconds(500);
  Duration backoff_max = std::chrono::seconds(10);
  std::uint64_t seed = 1;
  // How quick the server is for others; null: only lanes of this object are compared.
  std::shared_ptr<ServerPace> pace = nullptr;
};

// How a request ended.
enum class RequestEnd : std::uint8_t {
  kAnswered,
  kNotReached,  // failed at once, but not by the API server: this says nothing about its speed
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
  // Called instead of Start when the lane is blamed. `why` is like "have had no answer for 1.2s, while ...". Without a
  // function the request goes on waiting.
  using Refuse = std::function<void(const std::string& why)>;

  // Always in a shared_ptr. `loop` must outlive it.
  RequestLanes(EventLoop& loop, RequestLanesOptions options);
  ~RequestLanes();
  RequestLanes(const RequestLanes&) = delete;
  RequestLanes& operator=(const RequestLanes&) = delete;

  // Adds a request at the end or at the front of the lane. May call `start` before it returns.
  void Add(std::string_view lane, Start start, Refuse refuse = {}) {
    Add(lane, {std::move(start), std::move(refuse)}, false);
  }
  void AddFirst(std::string_view lane, Start start) { Add(lane, {std::move(start), {}}, true); }
  // With 0 no lane sends anything, slow or not.
  void SetInFlightMax(int in_flight_max);

  std::size_t waiting() const { return waiting_; }
  // Without late requests, and without those of slow lanes.
  int in_flight() const { return in_flight_; }
  // With late requests and those of slow lanes.
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
    int late = 0;    // late requests among those in flight
    int window = 0;  // while slow: requests at once; 0: not slow
    int quick_in_row = 0;
    Time answered_at = Time::min();
    std::string blamed_for;     // while it is blamed: the argument for Refuse
    int failures = 0;           // in a row; requests that were in flight together count as one
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
  // `end` is empty if the request was not sent.
  void OnEnd(std::uint64_t id, std::optional<RequestEnd> end);
  void Hold(const std::string& name, Lane& lane);
  void ArmTimer();
  void MarkLate();
  void DropIdle(const std::string& name);

  EventLoop& loop_;
  RequestLanesOptions options_;
  StringHashMap<Lane> lanes_;
  // Lanes that have requests which they may send, in their order.
  std::deque<std::string> turns_;
  std::deque<std::string> slow_turns_;
  std::deque<std::string> idle_slow_;  // empty lanes that were slow when they became empty
  absl::flat_hash_map<std::uint64_t, Flight> flights_;
  std::deque<std::pair<Time, std::uint64_t>> by_age_;  // of flights_; entries of ended ones may still be in it
  std::uint64_t next_id_ = 1;
  std::size_t waiting_ = 0;
  int in_flight_ = 0;
  int slow_in_flight_ = 0;
  int late_in_flight_ = 0;
  Time judged_at_ = Time::min();
  bool is_pumping_ = false;
  std::deque<std::pair<Refuse, std::string>> refused_;  // calls that are due, with their reasons
  std::function<void()> cancel_timer_;                  // empty: the timer is not set
  Random random_;
};

}  // namespace berth::client
