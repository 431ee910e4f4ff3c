// SPDX-License-Identifier: Apache-2.0
// Reply: the answer to a question, in each of its forms. A plain value.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/codec/json.h"
#include "berth/shell/cli/table.h"

namespace berth::ask {

// What scripts go by.
enum class Verdict : std::uint8_t {
  kYes,     // every pod has a place, the nodes can be drained, ...
  kNo,      // something stays pending, less fits than is required, ...
  kFailed,  // the answer could not be found, or not all of it
};
// "yes", "no", "failed"; kFailed for any other text.
std::string_view ToString(Verdict verdict);
Verdict VerdictNamed(std::string_view text);

struct TextStyle {
  bool is_wide = false;
  bool has_color = false;
  std::size_t columns = 0;  // of the terminal; 0: there is none
};

struct Reply {
  codec::json::value document;                        // as the command prints it with -o json
  std::function<std::string(const TextStyle&)> text;  // as it prints a table
  Verdict verdict = Verdict::kYes;
  std::vector<std::string> warnings;  // beside the answer, one line each
};

}  // namespace berth::ask
