// SPDX-License-Identifier: Apache-2.0
// Numbers: a short history of how a cluster's scheduling goes, one sample every kInterval. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/page/fleet.h"
#include "berth/page/pending_view.h"

namespace berth::page {

// Of a process that decides. The counts are those of its beginning, or of the sample before.
struct ProcessCounts {
  struct Profile {
    std::string name;      // its schedulerName
    double scheduled = 0;  // attempts that found a node
    double refused = 0;    // and those that did not
  };
  double cpu_seconds = 0;     // of user and system
  double resident_bytes = 0;  // now
  std::vector<Profile> profiles;
};
// What `now` has more than `before`; the bytes are those of now.
ProcessCounts Since(ProcessCounts now, const ProcessCounts& before);

// What was counted since the sample before.
struct NumberInput {
  Time time{};  // of day
  Duration since{0};
  FleetActivity activity;
  std::size_t pending = 0;
  std::vector<ZoneUse> zones;
  std::optional<std::uint64_t> decisions;  // nullopt: no scheduler is in this process
  std::optional<QueueCounts> queue;
  std::optional<ProcessCounts> process;  // likewise
};

// The schema NumberSample.
codec::json::object SampleJson(const NumberInput& input);

class Numbers {
 public:
  static constexpr Duration kInterval = std::chrono::seconds(2);
  static constexpr std::size_t kSamplesMax = 450;

  // The sample that has been added.
  codec::json::object Add(const NumberInput& input);
  // The answer of GET /numbers.
  codec::json::object Json() const;

 private:
  mutable std::mutex mutex_;
  std::deque<codec::json::object> samples_;  // guarded by mutex_
};

}  // namespace berth::page
