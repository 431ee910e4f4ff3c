// SPDX-License-Identifier: Apache-2.0
// EventRecorder: sends events.k8s.io/v1 Events about what the scheduler did, in the background: recording never waits,
// and nothing that schedules waits for an event. Give it a RestClient of its own, so that bindings need not wait for
// its rate limit, over a Transport that takes `in_flight_max` requests more than others need. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "berth/base/time.h"
#include "berth/shell/client/rest_client.h"

namespace berth::client {

class ServerPace;

struct ObjectReference {
  std::string api_version;  // "v1"
  std::string kind;         // "Pod"
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string resource_version;
};

struct Event {
  bool is_warning = false;  // type Warning instead of Normal
  std::string reason;       // "Scheduled"
  std::string action;       // "Binding"
  std::string note;         // cut at 1024 bytes
  ObjectReference regarding;
  std::optional<ObjectReference> related;
  std::string scheduler_name;  // reportingController
};

struct EventRecorderOptions {
  std::string hostname;  // reportingInstance is "<scheduler_name>-<hostname>"
  // Bounds of the events that wait: further ones are dropped and counted. A namespace alone gets seven eighths
  // (event_room.h).
  std::size_t queue_max = 100'000;
  std::size_t queue_bytes_max = std::size_t{64} << 20;
  Duration gather = Duration{0};  // how long an event waits for others, when none is in flight
  int in_flight_max = 8;
  int in_flight_restrained_max = 2;  // after Restrain(true), unless a quarter of the queue is full or events lag
  Duration lag_max = std::chrono::seconds(3);
  std::size_t series_max = 20'000;  // series that are open at once; beyond it the oldest is ended
  int tries_max = 12;               // answers (429 and 503 not counted) after which an event is given up
  Duration backoff_min = std::chrono::milliseconds(500);
  Duration backoff_max = std::chrono::seconds(10);
  Duration series_idle = std::chrono::minutes(6);      // a series ends after this time without a repetition
  Duration series_refresh = std::chrono::minutes(30);  // between writes of a series' count
  std::uint64_t seed = 1;
  std::shared_ptr<ServerPace> pace = nullptr;  // see RequestLanesOptions
};

struct EventRecorderStats {
  std::uint64_t recorded = 0;
  std::uint64_t sent = 0;     // created or patched
  std::uint64_t counted = 0;  // repetitions that only raised a count
  std::uint64_t dropped = 0;  // the queue was full, or the namespace's share of it
  std::uint64_t refused = 0;  // the server would not have them, or tries_max was reached
  std::size_t queued = 0;     // waiting or in flight
};

class EventRecorder {
 public:
  // `rest` must outlive it.
  EventRecorder(RestClient& rest, EventRecorderOptions options);
  // Gives up what is still queued; Flush() first.
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  // Any thread; never waits. A repetition (all equal but the note) within series_idle becomes a count on the first one.
  // While the API server is away events stay queued; one whose outcome is unknown is created again under the same name.
  void Record(Event event);

  // Sends fewer events at once while something more urgent is under way. Any thread. It holds for Flush() as well.
  void Restrain(bool is_restrained);

  // Waits until nothing is queued or `timeout` has passed, and returns how many events are left. Not on the loop's
  // thread.
  std::size_t Flush(Duration timeout);

  EventRecorderStats Stats() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::client
