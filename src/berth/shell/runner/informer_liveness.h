// SPDX-License-Identifier: Apache-2.0
// InformerLiveness: whether objects still come in, for a health check. An informer that works hears something every
// minute or two even where nothing changes: bookmarks, and the end of a watch followed by the next one. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/shell/runner/feeds.h"

namespace berth::runner {

class InformerLiveness {
 public:
  // A watch without events for 90 s is opened again after at most 30 s.
  static constexpr Duration kSilenceMax = std::chrono::minutes(4);

  // Names the informers that got nothing between two calls at least kSilenceMax apart; nullopt: all got something.
  // Kinds that the server does not serve are left out.
  std::optional<std::string> Look(const std::vector<FeedSource>& sources, Time now);

 private:
  struct Heard {
    std::uint64_t count = 0;
    Time since;
  };
  std::map<std::string, Heard> heard_;  // by source
};

// The sources that have not been listed yet, each with the reason if one is known; nullopt: all have been.
std::optional<std::string> NotSynced(const std::vector<FeedSource>& sources);
// The text for anybody who asks: it has only the codes of the reasons, for example "Forbidden".
std::optional<std::string> NotSyncedInBrief(const std::vector<FeedSource>& sources);

}  // namespace berth::runner
