// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/status_table.h"

namespace berth::framework {

const Status& StatusTable::Get(VerdictId id) const {
  static const Status kOk;
  return id == kVerdictOk ? kOk : entries_[id - 1].status;
}

VerdictId StatusTable::Intern(const Status& status) {
  // A class has a handful of distinct refusals; the newest are the most likely.
  for (std::size_t i = entries_.size(); i-- > 0;) {
    const Status& known = entries_[i].status;
    if (entries_[i].position == position_ && known.code() == status.code() && known.plugin() == plugin_ &&
        known.reasons() == status.reasons()) {
      return static_cast<VerdictId>(i + 1);
    }
  }
  entries_.push_back({status.WithPlugin(plugin_), position_});
  return static_cast<VerdictId>(entries_.size());
}

void StatusTable::SetPlugin(std::string_view name, int position) {
  plugin_ = name;
  position_ = position;
}

}  // namespace berth::framework
