// SPDX-License-Identifier: Apache-2.0
// Data from outside have types that only their plugins know, so a recording has the text that they were parsed from.
// The deleter of the shared pointer carries the text from the parser to the recorder. Any thread; one at a time for the
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

// Holds the data and their text. Both are freed with the deleter itself.
struct BodyKeeper {
  void operator()(const framework::OutsideData*) const {}

  std::shared_ptr<const framework::OutsideData> data;
  std::string body;
};

// Takes the text out of data that a parser of KeepBodies() has made. A second call gets nothing.
inline std::string TakeBody(const std::shared_ptr<const framework::OutsideData>& data) {
  auto* const keeper = std::get_deleter<BodyKeeper>(data);
  return keeper == nullptr ? std::string() : std::exchange(keeper->body, {});
}

// The requests with parsers that keep the text with the data.
inline std::vector<scheduler::OutsideRequest> KeepBodies(std::vector<scheduler::OutsideRequest> requests) {
  for (scheduler::OutsideRequest& request : requests) {
    if (!request.source.parse) continue;  // a clock, which has no text
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
