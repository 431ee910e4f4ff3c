// SPDX-License-Identifier: Apache-2.0
// Data from outside have types that only their plugins know: they are recorded as the text that they were parsed from,
// which travels with them from the parser to the recorder, inside the shared pointer. Any thread; one at a time for the
// same data.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/core/scheduler/outside_request.h"
#include "berth/framework/outside_data.h"

namespace berth::recording {

// Deletes nothing by itself: what it holds is let go of with it.
struct BodyKeeper {
  void operator()(const framework::OutsideData*) const {}

  std::shared_ptr<const framework::OutsideData> data;
  std::string body;
};

// The text of data that a source of KeepBodies() has made, once: it is not kept any longer.
inline std::string TakeBody(const std::shared_ptr<const framework::OutsideData>& data) {
  auto* const keeper = std::get_deleter<BodyKeeper>(data);
  return keeper == nullptr ? std::string() : std::exchange(keeper->body, {});
}

// The same sources, with parsers whose data know their text.
inline std::vector<scheduler::OutsideRequest> KeepBodies(std::vector<scheduler::OutsideRequest> requests) {
  for (scheduler::OutsideRequest& request : requests) {
    if (!request.source.parse) continue;  // a clock
    request.source.parse = [parse = std::move(request.source.parse)](
                               std::string_view body) -> Expected<std::shared_ptr<const framework::OutsideData>> {
      auto data = parse(body);
      if (!data.ok() || *data == nullptr) return data;
      const framework::OutsideData* const raw = data->get();
      return std::shared_ptr<const framework::OutsideData>(raw, BodyKeeper{*std::move(data), std::string(body)});
    };
  }
  return requests;
}

}  // namespace berth::recording
