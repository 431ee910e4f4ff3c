// SPDX-License-Identifier: Apache-2.0
// EvaluatorOptions: how an Evaluator asks plugins, what it reports, and how much it may keep. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace berth::runtime {

// How plugins are asked. All three give the same answers.
enum class Form : std::uint8_t {
  kPlain,   // node by node: the specification
  kColumn,  // column form, everything anew for each pod
  kReuse,   // column form, keeping what a class evaluated before: what production uses
};

struct EvaluatorOptions {
  Form form = Form::kReuse;
  // Keeps every plugin's scores and the whole set of best nodes in the outcome, for explain and conformance.
  bool with_detail = false;
  // Bounds on what is kept between the pods of a class, all classes together: so many bytes, and so many more for each
  // row of the node table.
  std::size_t class_bytes_max = std::size_t{64} << 20;
  std::size_t class_bytes_per_row_max = std::size_t{24} << 10;
  // The block chooser leaves tables with fewer rows to the others: a scan costs less there.
  std::size_t block_rows_min = 256;
  // Choosers that are left out, by NodeChooser::Name(), for tests and measurements. The scan cannot be left out.
  std::vector<std::string_view> choosers_left_out = {};

  std::size_t ClassBytesMax(std::size_t row_count) const {
    return class_bytes_max + class_bytes_per_row_max * row_count;
  }
};

}  // namespace berth::runtime
