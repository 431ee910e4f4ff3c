// SPDX-License-Identifier: Apache-2.0
// DecisionFeed: the newest decisions of a scheduler in this process, for the page: a ring, and the last refusal of each
// pod that waits. The scheduler's thread writes with Note(), which copies one decision and takes a lock that nobody
// holds for long; all else is for any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/hash_map.h"
#include "berth/base/time.h"
#include "berth/codec/json.h"
#include "berth/core/scheduler/decision_log.h"

namespace berth::page {

// How many nodes were refused for a reason.
struct Reason {
  std::string plugin;  // empty: not known
  std::string text;
  std::size_t nodes = 0;
  bool operator==(const Reason&) const = default;
};

codec::json::object ReasonJson(const Reason& reason);
codec::json::array ReasonsJson(const std::vector<Reason>& reasons);
// Those of the most nodes first.
std::vector<Reason> ReasonsOf(const scheduler::Decision& decision);

class DecisionFeed {
 public:
  static constexpr std::size_t kKeptMax = 1'000;
  static constexpr std::size_t kRefusedMax = 20'000;
  static constexpr std::size_t kMessageBytesMax = 1'024;

  // Message and refusals of a decision that are longer are kept as the message's beginning alone.
  static constexpr std::size_t kTextBytesMax = std::size_t{16} << 10;
  // Of the messages and refusals of all last refusals: beyond it the oldest are forgotten.
  static constexpr std::size_t kRefusedBytesMax = std::size_t{16} << 20;

  struct Entry {
    std::uint64_t sequence = 0;
    Time time{};                        // of day
    scheduler::OlderDecision decision;  // its texts are one block: to keep it costs the scheduler one allocation
    std::size_t text_bytes = 0;         // of a refusal: message and refusals
  };
  using EntryPtr = std::shared_ptr<const Entry>;

  // A scheduler's feed begins off, until a page is opened: most never are.
  explicit DecisionFeed(bool is_on = true) : is_on_(is_on) {}

  // While it is off, Note() costs one look at a flag and keeps nothing.
  void SetOn(bool is_on) { is_on_ = is_on; }
  void Note(const scheduler::Decision& decision, Time time_of_day);

  // Forgets all decisions; sequences go on.
  void Clear();

  // The sequence of the newest one; 0: there was none.
  std::uint64_t last() const;
  // The last decision about the pod, if it was not placed; null: none is known.
  EntryPtr LastRefusal(std::string_view uid) const;
  struct List {
    std::uint64_t last = 0;  // the sequence of the newest one
    std::string json;        // schema DecisionList
  };
  // The newest `count_max` of those after `after`, oldest first.
  List Since(std::uint32_t epoch, std::uint64_t after, std::size_t count_max) const;

 private:
  struct Refused {
    EntryPtr entry;
    std::list<std::string>::iterator age;  // in refused_ages_
  };

  // With mutex_ held; there is one of that uid.
  void ForgetRefusal(StringHashMap<Refused>::iterator refused);

  std::atomic<bool> is_on_;
  mutable std::mutex mutex_;  // guards all below
  std::uint64_t last_ = 0;
  std::deque<EntryPtr> newest_;
  StringHashMap<Refused> refused_;       // by uid
  std::list<std::string> refused_ages_;  // uids, the one that was refused longest ago first
  std::size_t refused_bytes_ = 0;        // of the texts of all in refused_
};

}  // namespace berth::page
