// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/informer_liveness.h"

#include <cstddef>

namespace berth::runner {

std::optional<std::string> InformerLiveness::Look(const std::vector<FeedSource>& sources, Time now) {
  std::string silent;
  for (const FeedSource& source : sources) {
    const client::ReflectorStats& stats = source.stats;
    const std::uint64_t count = stats.lists + stats.pages + stats.watches + stats.events + stats.bookmarks;
    Heard& heard = heard_.try_emplace(source.name, Heard{count, now}).first->second;
    if (heard.count != count) heard = {count, now};
    const bool is_missing = source.has_synced && stats.lists == 0;
    if (is_missing || now - heard.since <= kSilenceMax) continue;
    silent += (silent.empty() ? "" : ", ") + source.name;
    if (stats.failure) silent += " (" + stats.failure->message + ")";
  }
  if (silent.empty()) return std::nullopt;
  return "nothing has been heard of for more than " + FormatGoDuration(kSilenceMax) + ": " + silent;
}

namespace {

std::optional<std::string> NotSyncedWith(const std::vector<FeedSource>& sources,
                                         std::string (*reason)(const Error& failure)) {
  std::string unsynced;
  for (const FeedSource& source : sources) {
    if (source.has_synced) continue;
    unsynced += (unsynced.empty() ? "" : ", ") + source.name;
    if (source.stats.failure) unsynced += " (" + reason(*source.stats.failure) + ")";
  }
  if (unsynced.empty()) return std::nullopt;
  return "handlers are not fully synchronized: " + unsynced;
}

}  // namespace

std::optional<std::string> NotSynced(const std::vector<FeedSource>& sources) {
  return NotSyncedWith(sources, [](const Error& failure) { return failure.message; });
}

std::optional<std::string> NotSyncedInBrief(const std::vector<FeedSource>& sources) {
  return NotSyncedWith(sources, [](const Error& failure) { return std::string(ToString(failure.code)); });
}

}  // namespace berth::runner
