// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/reply.h"

namespace berth::ask {

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kYes: return "yes";
    case Verdict::kNo: return "no";
    case Verdict::kFailed: break;
  }
  return "failed";
}

Verdict VerdictNamed(std::string_view text) {
  for (const Verdict verdict : {Verdict::kYes, Verdict::kNo}) {
    if (ToString(verdict) == text) return verdict;
  }
  return Verdict::kFailed;
}

}  // namespace berth::ask
