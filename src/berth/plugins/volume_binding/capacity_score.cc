// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/volume_binding/capacity_score.h"

#include <cmath>

namespace berth::plugins::volumes {
namespace {

constexpr std::int64_t kUtilizationMax = 100;
// Shapes have scores from 0 to 10.
constexpr std::int64_t kShapeScoreScale = 10;

}  // namespace

CapacityScore::CapacityScore(const std::optional<Shape>& shape)
    : shape_(shape && !shape->empty() ? *shape : Shape{{0, 10}, {100, 0}}) {}

// Upstream rounds in floating point.
std::int64_t CapacityScore::Mean(const std::map<std::string_view, Use>& by_class) const {
  if (by_class.empty()) return 0;
  std::int64_t sum = 0;
  for (const auto& [name, use] : by_class) {
    const bool is_full = use.capacity == 0 || use.requested > use.capacity;
    sum += At(is_full ? kUtilizationMax : static_cast<std::int64_t>(use.requested * kUtilizationMax / use.capacity));
  }
  return static_cast<std::int64_t>(std::round(static_cast<double>(sum) / static_cast<double>(by_class.size())));
}

// Between two points of the shape, on the line through them.
std::int64_t CapacityScore::At(std::int64_t utilization) const {
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    if (utilization > shape_[i].utilization) continue;
    if (i == 0) return shape_[0].score * kShapeScoreScale;
    const config::UtilizationShapePoint& from = shape_[i - 1];
    const std::int64_t rise = (shape_[i].score - from.score) * kShapeScoreScale;
    return from.score * kShapeScoreScale +
           rise * (utilization - from.utilization) / (shape_[i].utilization - from.utilization);
  }
  return shape_.back().score * kShapeScoreScale;
}

}  // namespace berth::plugins::volumes
