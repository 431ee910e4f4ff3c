// SPDX-License-Identifier: Apache-2.0
// StatusTable: interns the distinct refusals of an evaluation, so that the fast path's verdict about a row is a number.
// Within turns only. Entries are never removed: ids are valid as long as the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/framework/status.h"

namespace berth::framework {

// A verdict about a row: kVerdictOk is success, any other value an entry of the StatusTable.
using VerdictId = std::uint32_t;
inline constexpr VerdictId kVerdictOk = 0;

class StatusTable {
 public:
  // The id of `status`, which must not be success, for the plugin of the last SetPlugin().
  VerdictId Intern(const Status& status);
  // Success for kVerdictOk.
  const Status& Get(VerdictId id) const;
  // Index of the refusing plugin in the profile's Filter order. Not for kVerdictOk.
  int Position(VerdictId id) const { return entries_[id - 1].position; }
  // All ids are below this number.
  std::size_t size() const { return entries_.size() + 1; }
  // For the runtime: sets the plugin of the next calls of Intern(). `name` must live until the next SetPlugin().
  void SetPlugin(std::string_view name, int position);

 private:
  struct Entry {
    Status status;
    int position = 0;
  };
  std::vector<Entry> entries_;  // by id - 1; kVerdictOk has no entry
  std::string_view plugin_;
  int position_ = 0;
};

}  // namespace berth::framework
