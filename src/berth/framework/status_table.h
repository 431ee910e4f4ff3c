// SPDX-License-Identifier: Apache-2.0
// StatusTable: the distinct refusals of one evaluation, each stored once, so that the fast path's verdict about a row
// is a number. Within turns only. It never forgets an entry: ids hold for as long as the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/framework/status.h"

namespace berth::framework {

// A verdict about a row: kVerdictOk is success, anything else an entry of the StatusTable.
using VerdictId = std::uint32_t;
inline constexpr VerdictId kVerdictOk = 0;

class StatusTable {
 public:
  // The id of `status`, which must not be success, as said by the plugin of the last SetPlugin().
  VerdictId Intern(const Status& status);
  // Success for kVerdictOk.
  const Status& Get(VerdictId id) const;
  // Position of the refusing plugin in the profile's Filter order. Not for kVerdictOk.
  int Position(VerdictId id) const { return entries_[id - 1].position; }
  // Ids are smaller.
  std::size_t size() const { return entries_.size() + 1; }
  // For the runtime: the plugin whose verdicts come next. `name` must be there until the next call.
  void SetPlugin(std::string_view name, int position);

 private:
  struct Entry {
    Status status;
    int position = 0;
  };
  std::vector<Entry> entries_;  // by id; kVerdictOk has none
  std::string_view plugin_;
  int position_ = 0;
};

}  // namespace berth::framework
