// SPDX-License-Identifier: Apache-2.0
#include "berth/base/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace berth {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row[b.size()];
}

namespace {
constexpr std::size_t kLettersMax = 100;
}

std::string_view NearestName(std::string_view name, std::span<const std::string_view> names) {
  name = name.substr(0, kLettersMax);
  const auto nearest = std::min_element(names.begin(), names.end(), [&](std::string_view a, std::string_view b) {
    return EditDistance(name, a) < EditDistance(name, b);
  });
  return nearest == names.end() ? std::string_view() : *nearest;
}

std::string_view SimilarName(std::string_view name, std::span<const std::string_view> names) {
  name = name.substr(0, kLettersMax);
  const std::string_view nearest = NearestName(name, names);
  const bool is_near = EditDistance(name, nearest) <= std::max<std::size_t>(1, name.size() / 3);
  return is_near ? nearest : std::string_view();
}

}  // namespace berth
