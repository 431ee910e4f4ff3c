// SPDX-License-Identifier: Apache-2.0
#include "berth/framework/outside_data.h"

namespace berth::framework {

ClusterEventWithHint OutsideDataEvent(std::string_view plugin) {
  return {{EventResource::kOutsideData, action::kUpdate},
          [plugin = std::string(plugin)](const PodInfo&, const EventObjects& event) {
            return event.outside_plugin == plugin ? QueueingHint::kQueue : QueueingHint::kSkip;
          },
          true};
}

}  // namespace berth::framework
