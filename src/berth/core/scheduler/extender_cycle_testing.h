// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of cycles that ask HTTP extenders. The test answers for the extenders. Tests only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/core/scheduler/scheduler_testing.h"

namespace berth::scheduler {

inline config::Extender Extender(std::string url) {
  config::Extender extender;
  extender.url_prefix = std::move(url);
  return extender;
}

inline config::Extender Filter(std::string url) {
  config::Extender extender = Extender(std::move(url));
  extender.filter_verb = "filter";
  return extender;
}

inline config::Extender Prioritizer(std::string url, std::int64_t weight) {
  config::Extender extender = Extender(std::move(url));
  extender.prioritize_verb = "prioritize";
  extender.weight = weight;
  return extender;
}

inline config::Extender Binder(std::string url) {
  config::Extender extender = Extender(std::move(url));
  extender.bind_verb = "bind";
  return extender;
}

inline config::Extender Ignorable(config::Extender extender) {
  extender.ignorable = true;
  return extender;
}

class ExtenderWorld : public Harness {
 public:
  explicit ExtenderWorld(const std::vector<config::Extender>& extenders, std::uint64_t seed = 1,
                         Profiles profiles = DefaultProfiles())
      : Harness(std::move(profiles), OptionsOf(extenders, seed)) {}

  // Each of these answers the oldest request.
  void Reply(ExtenderAnswer answer) { Finish(std::move(answer)); }
  void Left(std::vector<std::string> names) { Finish(ExtenderAnswer{.node_names = std::move(names)}); }
  void Scores(std::vector<std::pair<std::string, std::int64_t>> scores) {
    Finish(ExtenderAnswer{.scores = std::move(scores)});
  }
  void Break(std::string message) { Finish(Error{ErrorCode::kUnavailable, std::move(message)}); }

  void Finish(Expected<ExtenderAnswer> answer) {
    ASSERT_FALSE(asked.empty()) << "nobody was asked";
    const std::uint64_t oldest = asked.front();
    asked.erase(asked.begin());
    core.Handle(ExtenderDone{oldest, std::move(answer)}, now);
  }

  // Three nodes of the same size.
  void SetNodes() {
    for (const char* name : {"a", "b", "c"}) Set(testing::MakeNode(name));
  }

 private:
  static SchedulerOptions OptionsOf(const std::vector<config::Extender>& extenders, std::uint64_t seed) {
    SchedulerOptions options;
    options.seed = seed;
    options.extenders = config::InCallOrder(extenders);
    return options;
  }
};

}  // namespace berth::scheduler
