// SPDX-License-Identifier: Apache-2.0
#include "berth/shadow/order_search.h"

#include <algorithm>
#include <chrono>

namespace berth::shadow {
namespace {

bool Agree(scheduler::Overlay& overlay, const Sighting& theirs, std::uint64_t seed) {
  // For a pod with a node the only question is whether that is one of the best.
  const OwnDecision ours =
      theirs.is_placed() ? OwnDecision{.result = runtime::Result::kFeasible} : Decide(overlay, theirs.pod, seed);
  return Agrees(Compare(overlay, theirs, ours, seed).match);
}

}  // namespace

OrderAnswer SearchOrder(scheduler::Overlay& overlay, const Sighting& theirs, const RecentChanges& recent,
                        const HeldInputs& later, std::uint64_t seed, std::size_t& tries) {
  OrderAnswer answer = OrderAnswer::kDoesNot;
  // True: the search is over.
  const auto try_now = [&] {
    if (tries == 0) {
      answer = OrderAnswer::kNotTried;
      return true;
    }
    --tries;
    if (Agree(overlay, theirs, seed)) answer = OrderAnswer::kExplains;
    return answer == OrderAnswer::kExplains;
  };
  for (std::size_t i = 0; i < recent.size() && answer == OrderAnswer::kDoesNot; ++i) {
    recent.TakeBack(i, overlay);
    try_now();
  }
  overlay.UndoTo(0);
  std::size_t placed = 0;
  later.ForEachSighting([&](const Sighting& other) {
    if (answer != OrderAnswer::kDoesNot || placed == kLaterMax) return false;
    if (!other.is_placed()) return true;
    overlay.AddPod(overlay.MakePod(*other.after));
    ++placed;
    return !try_now();
  });
  overlay.UndoTo(0);
  return answer;
}

std::size_t& TryBudget::LeftAt(Time now) {
  const auto gained = static_cast<std::size_t>(std::max<Duration::rep>((now - filled_at_).count(), 0)) * kPerSecond /
                      static_cast<std::size_t>(Duration(std::chrono::seconds(1)).count());
  if (gained > 0) {
    left_ = std::min(left_ + gained, kAtOnce);
    filled_at_ = now;
  }
  return left_;
}

}  // namespace berth::shadow
