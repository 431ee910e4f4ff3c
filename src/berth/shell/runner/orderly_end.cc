// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/orderly_end.h"

namespace berth::runner {

void EndInOrder(const EndingProcess& process, Duration grace) {
  if (process.election != nullptr) process.election->Withdraw();
  if (process.end_others) process.end_others();
  const bool is_settled = process.shell.Stop(grace);
  const bool are_others_settled = !process.are_others_settled || process.are_others_settled();
  if (process.election != nullptr) process.election->End(is_settled && are_others_settled);
}

}  // namespace berth::runner
