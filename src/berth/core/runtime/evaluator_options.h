// SPDX-License-Identifier: Apache-2.0
// EvaluatorOptions: how an Evaluator calls plugins, what it reports, and how much memory it may use. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/framework/work_budget.h"

namespace berth::runtime {

// How plugins are called. All forms give the same answers.
enum class Form : std::uint8_t {
  kPlain,   // node by node: the specification
  kColumn,  // column form, without kept results
  kReuse,   // column form, with kept results of the class: used in production
};

struct EvaluatorOptions {
  Form form = Form::kReuse;
  // Puts every plugin's scores and the whole set of best nodes into the outcome, for explain and conformance.
  bool with_detail = false;
  // Limit on the memory of all kept results of classes: a constant, plus an amount for each row of the node table.
  std::size_t class_bytes_max = std::size_t{64} << 20;
  std::size_t class_bytes_per_row_max = std::size_t{24} << 10;
  // The block chooser declines smaller node tables, for which a scan costs less.
  std::size_t block_rows_min = 256;
  // Limit on the work of an author's plugins in one cycle, in units of WorkBudget.
  std::int64_t own_work_max = framework::WorkBudget::kUnitsMax;
  // Disabled choosers, by NodeChooser::Name(), for tests and measurements. The scan cannot be disabled.
  std::vector<std::string_view> choosers_left_out = {};

  std::size_t ClassBytesMax(std::size_t row_count) const {
    return class_bytes_max + class_bytes_per_row_max * row_count;
  }
};

}  // namespace berth::runtime
