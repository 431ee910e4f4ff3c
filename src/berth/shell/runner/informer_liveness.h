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
  // A watch that has heard nothing for 90 s is opened anew, after at most 30 s.
  static constexpr Duration kSilenceMax = std::chrono::minutes(4);

  // What is wrong, or nullopt: the informers that have heard nothing new for longer than kSilenceMax, between two looks
  // at least so far apart. A kind that the server does not serve is not waited for.
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
// The same for whoever asks: of the reasons the code alone, for example "Forbidden".
std::optional<std::string> NotSyncedInBrief(const std::vector<FeedSource>& sources);

}  // namespace berth::runner
