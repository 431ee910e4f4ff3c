// What extenders change in an evaluation: the nodes that are left, and their totals.
#include "berth/core/runtime/evaluator.h"

namespace berth::runtime {

using framework::kVerdictOk;
using framework::NodeIndex;
using framework::VerdictId;

// Takes out of feasible_ what extenders have refused. A node that one left out without a reason is, as upstream has it,
// a node without a verdict.
void Evaluator::ApplyExtenderFilters() {
  if (extenders_->filters_only) return;
  std::erase_if(feasible_, [this](NodeIndex row) {
    const std::string& name = nodes_->Info(row).name();
    if (extenders_->passed.contains(name)) return false;
    const auto refused = extenders_->refused.find(name);
    cycle_verdicts_[row] = refused == extenders_->refused.end() ? kVerdictNoNode : VerdictOf(refused->second);
    return true;
  });
}

// Sums wrap, as Go's do.
void Evaluator::AddExtenderScores() {
  for (std::size_t i = 0; i < feasible_.size(); ++i) {
    const auto score = extenders_->scores.find(nodes_->Info(feasible_[i]).name());
    if (score == extenders_->scores.end()) continue;
    totals_[i] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(totals_[i]) + static_cast<std::uint64_t>(score->second));
  }
}

}  // namespace berth::runtime
