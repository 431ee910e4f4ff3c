// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/order_search.h"

#include <algorithm>

namespace berth::shadow {
namespace {

bool Agree(scheduler::Overlay& overlay, const Sighting& theirs, std::uint64_t seed) {
  return Agrees(Compare(overlay, theirs, Decide(overlay, theirs.pod, seed), seed).match);
}

}  // namespace

bool IsExplainedByOrder(scheduler::Overlay& overlay, const Sighting& theirs, const RecentChanges& recent,
                        const HeldInputs& later, std::uint64_t seed) {
  bool is_found = false;
  for (std::size_t i = 0; i < recent.size() && !is_found; ++i) {
    recent.TakeBack(i, overlay);
    is_found = Agree(overlay, theirs, seed);
  }
  overlay.UndoTo(0);
  std::size_t tried = 0;
  later.ForEachSighting([&](const Sighting& other) {
    if (is_found || tried == kLaterMax) return false;
    if (!other.is_placed()) return true;
    overlay.AddPod(overlay.MakePod(*other.after));
    ++tried;
    is_found = Agree(overlay, theirs, seed);
    return true;
  });
  overlay.UndoTo(0);
  return is_found;
}

}  // namespace berth::shadow
