// SPDX-License-Identifier: Apache-2.0
#include "berth/core/scheduler/outputs.h"

namespace berth::scheduler {

void Outputs::AddEvent(const std::string& scheduler_name, const framework::PodInfo& pod, bool is_warning,
                       std::string reason, std::string action, std::string note) {
  outputs_.emplace_back(std::in_place_type<framework::PodEvent>, RefOf(pod), scheduler_name, is_warning,
                        std::move(reason), std::move(action), std::move(note));
}

}  // namespace berth::scheduler
