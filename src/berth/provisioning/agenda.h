// SPDX-License-Identifier: Apache-2.0
// Agenda: what is due for which request, so that an event costs what it is about and not what all requests are. Plain
// values; one thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/time.h"

namespace berth::provisioning {

// What is planned for a request. Without plans nothing is due.
struct Plans {
  std::optional<Time> check;  // whether it has room
  std::optional<Time> end;    // of its promise, by the time of day
  std::optional<Time> write;
  bool is_asked = false;  // the core has been asked about it
  bool operator==(const Plans&) const = default;
};

class Agenda {
 public:
  // Replaces what was planned for the request; of those that are due the oldest is checked first.
  void Set(const std::string& key, Time created, const Plans& plans);
  void Remove(std::string_view key);

  // The oldest request whose check is due, of equal ones the first by name; nullopt: none is.
  std::optional<std::string> FirstCheck(Time now);
  // Requests whose promise has ended by then, and those to be written, by name.
  std::vector<std::string> Ended(Time wall_now) const { return DueIn(ends_, wall_now); }
  std::vector<std::string> ToWrite(Time now) const { return DueIn(writes_, now); }

  std::optional<Time> NextCheck() const;
  std::optional<Time> NextEnd() const { return FirstOf(ends_); }
  std::optional<Time> NextWrite() const { return FirstOf(writes_); }
  std::size_t asked_count() const { return asked_count_; }

 private:
  using Times = std::set<std::pair<Time, std::string>>;
  struct Entry {
    Time created{};
    Plans plans;
  };

  static std::vector<std::string> DueIn(const Times& times, Time now);
  static std::optional<Time> FirstOf(const Times& times);

  std::map<std::string, Entry, std::less<>> entries_;
  Times checks_;  // that are not in line
  Times line_;    // checks that are due, by the request's age
  Times ends_;
  Times writes_;
  std::size_t asked_count_ = 0;
};

}  // namespace berth::provisioning
