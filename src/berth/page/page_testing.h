// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: reading a fleet frame by the contract's words alone, and readers of streams.
// Tests only.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/check.h"
#include "berth/codec/json.h"
#include "berth/shell/net/http_server.h"

namespace berth::page {

class FrameReader {
 public:
  explicit FrameReader(std::string bytes) : bytes_(std::move(bytes)) {
    BERTH_CHECK(bytes_.starts_with("BFLT"));
    BERTH_CHECK(Number<std::uint32_t>(4) == 4);
    const auto length = Number<std::uint32_t>(8);
    begin_ = Number<std::uint32_t>(12);
    BERTH_CHECK(begin_ % 8 == 0 && begin_ >= 16 + length && begin_ < 16 + length + 8);
    auto parsed = codec::ParseJson(bytes_.substr(16, length));
    BERTH_CHECK(parsed.ok());
    directory = parsed->as_object();
    for (const auto& column : directory.at("columns").as_array()) {
      columns_[std::string(column.at("name").as_string())] = {column.at("offset").to_number<std::size_t>(),
                                                              column.at("length").to_number<std::size_t>(),
                                                              Stored(column), column.at("type").as_string() == "d32"};
      BERTH_CHECK(column.at("offset").to_number<std::size_t>() % 8 == 0);
    }
  }

  template <typename T>
  std::vector<T> Column(const std::string& name) const {
    const auto at = columns_.find(name);
    BERTH_CHECK(at != columns_.end(), name);
    const Place& place = at->second;
    std::vector<T> values(place.length);
    BERTH_CHECK(begin_ + place.offset + place.stored * sizeof(T) <= bytes_.size());
    if (!values.empty()) std::memcpy(values.data(), bytes_.data() + begin_ + place.offset, place.stored * sizeof(T));
    for (std::size_t i = place.stored; i < place.length; ++i) values[i] = values[i - place.stored];
    if (place.are_differences) std::partial_sum(values.begin(), values.end(), values.begin());
    return values;
  }

  bool Has(const std::string& name) const { return columns_.contains(name); }

  std::string Text(std::uint32_t number) const {
    const auto offsets = Column<std::uint32_t>("string.offset");
    const auto text = Column<std::uint8_t>("string.bytes");
    return {text.begin() + offsets.at(number), text.begin() + offsets.at(number + 1)};
  }

  std::vector<std::string> Texts(const std::string& name) const {
    const auto offsets = Column<std::uint32_t>("string.offset");
    const auto text = Column<std::uint8_t>("string.bytes");
    std::vector<std::string> texts;
    for (const std::uint32_t number : Column<std::uint32_t>(name))
      texts.emplace_back(text.begin() + offsets.at(number), text.begin() + offsets.at(number + 1));
    return texts;
  }

  codec::json::object directory;

 private:
  template <typename T>
  T Number(std::size_t at) const {
    T number;
    BERTH_CHECK(at + sizeof(T) <= bytes_.size());
    std::memcpy(&number, bytes_.data() + at, sizeof(T));
    return number;
  }

  // How many of a column's values are there; the others repeat them.
  static std::size_t Stored(const codec::json::value& column) {
    const auto* const stored = column.as_object().if_contains("stored");
    return (stored == nullptr ? column.at("length") : *stored).to_number<std::size_t>();
  }

  std::string bytes_;
  std::size_t begin_ = 0;
  struct Place {
    std::size_t offset = 0;
    std::size_t length = 0;
    std::size_t stored = 0;
    bool are_differences = false;
  };
  std::map<std::string, Place> columns_;
};

// What a frame says of nodes and pods, by name, kept current by deltas as a reader does it.
struct FrameModel {
  std::map<std::uint32_t, std::string> nodes, pods;  // by id: all that the columns say of the row
  std::map<std::uint32_t, std::string> use;          // of nodes: what is requested, and how many pods they have

  void Apply(const FrameReader& frame) {
    if (frame.directory.at("kind").as_string() == "full") {
      nodes.clear();
      use.clear();
      pods.clear();
    } else {
      for (const std::uint32_t id : frame.Column<std::uint32_t>("node.removed")) {
        nodes.erase(id);
        use.erase(id);
      }
      for (const std::uint32_t id : frame.Column<std::uint32_t>("pod.removed")) pods.erase(id);
    }
    const auto ids = frame.Column<std::uint32_t>("node.id");
    const auto flags = frame.Column<std::uint16_t>("node.flags");
    const auto names = frame.Texts("node.name");
    for (std::size_t i = 0; i < ids.size(); ++i) nodes[ids[i]] = names[i] + " " + std::to_string(flags[i]);
    TakeUse(frame, ids, "node");
    if (frame.Has("use.node")) TakeUse(frame, frame.Column<std::uint32_t>("use.node"), "use");
    const auto pod_ids = frame.Column<std::uint32_t>("pod.id");
    const auto pod_nodes = frame.Column<std::uint32_t>("pod.node");
    const auto pod_flags = frame.Column<std::uint16_t>("pod.flags");
    const auto owners = frame.Column<std::uint32_t>("pod.owner");
    const auto pod_names = frame.Texts("pod.name");
    const auto owner_names = frame.Texts("owner.name");
    for (std::size_t i = 0; i < pod_ids.size(); ++i) {
      pods[pod_ids[i]] = pod_names[i] + " " + std::to_string(pod_nodes[i]) + " " + std::to_string(pod_flags[i]) + " " +
                         owner_names.at(owners[i]);
    }
  }
  void TakeUse(const FrameReader& frame, const std::vector<std::uint32_t>& ids, const std::string& columns) {
    const auto requested = frame.Column<double>(columns + ".requested");
    const auto pod_counts = frame.Column<std::uint32_t>(columns + ".podCount");
    const std::size_t width = frame.directory.at("resources").as_array().size();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      BERTH_CHECK(nodes.contains(ids[i]), "what is used is of a node that the reader has");
      std::string& row = use[ids[i]] = std::to_string(pod_counts.at(i));
      for (std::size_t j = 0; j < width; ++j) row += " " + std::to_string(requested.at(i * width + j));
    }
  }
  bool operator==(const FrameModel&) const = default;
};

// Waits for the answer, which comes from another thread.
class AnswerPromise final : public net::ResponseWriter {
 public:
  void Send(net::Response response) override { answer_.set_value(std::move(response)); }
  void StartStream(net::Response response) override { answer_.set_value(std::move(response)); }
  bool Write(std::string_view) override { return true; }
  void End() override {}
  void OnClosed(std::function<void()>) override {}
  net::Response Get() { return answer_.get_future().get(); }

 private:
  std::promise<net::Response> answer_;
};

// A reader that keeps what is written to it, and takes nothing from its connection while it is told not to.
class FakeReader final : public net::ResponseWriter {
 public:
  void Send(net::Response response) override { sent = std::move(response); }
  void StartStream(net::Response response) override {
    sent = std::move(response);
    text = sent.body;
  }
  bool Write(std::string_view bytes) override {
    text += bytes;
    return !is_gone;
  }
  std::size_t BufferedBytes() const override { return buffered; }
  void End() override { has_ended = true; }
  void Abort() override { is_aborted = true; }
  void OnClosed(std::function<void()> closed) override { on_closed = std::move(closed); }

  // What has come since the last call.
  std::string Take() { return std::exchange(text, {}); }

  net::Response sent;
  std::string text;
  std::size_t buffered = 0;
  bool is_gone = false;
  bool has_ended = false;
  bool is_aborted = false;
  std::function<void()> on_closed;
};

}  // namespace berth::page
