// SPDX-License-Identifier: Apache-2.0
#include "berth/whatif/live_record.h"

namespace berth::whatif {

std::string_view ToString(QueuePlace place) {
  switch (place) {
    case QueuePlace::kActive: return "Active";
    case QueuePlace::kBackoff: return "Backoff";
    case QueuePlace::kErrorBackoff: return "ErrorBackoff";
    case QueuePlace::kUnschedulable: return "Unschedulable";
    case QueuePlace::kGated: return "Gated";
    case QueuePlace::kInFlight: return "InFlight";
  }
  return "";
}

}  // namespace berth::whatif
