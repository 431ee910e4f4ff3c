// SPDX-License-Identifier: Apache-2.0
#include "berth/prices/node_prices.h"

#include <mutex>
#include <optional>
#include <utility>

#include "berth/codec/json_reader.h"

namespace berth::prices {
namespace {

using simdjson::dom::element;

constexpr std::string_view kTypeLabel = "node.kubernetes.io/instance-type";
constexpr std::string_view kOldTypeLabel = "beta.kubernetes.io/instance-type";
constexpr Duration kPageTimeout = std::chrono::seconds(60);

PricedNode ReadNode(element object, const std::vector<std::string>& keys) {
  PricedNode node;
  const auto metadata = codec::FindMember(object, "metadata");
  if (!metadata) return node;
  node.name = codec::StringOrEmpty(*metadata, "name");
  if (const auto annotations = codec::FindMember(*metadata, "annotations")) {
    for (const std::string& key : keys) {
      if (const auto text = codec::FindString(*annotations, key)) node.annotations.Set(key, *text);
    }
  }
  if (const auto labels = codec::FindMember(*metadata, "labels")) {
    node.instance_type = codec::StringOrEmpty(*labels, kTypeLabel);
    if (node.instance_type.empty()) node.instance_type = codec::StringOrEmpty(*labels, kOldTypeLabel);
  }
  return node;
}

struct Page {
  std::vector<PricedNode> nodes;
  std::string continue_token;
};

Expected<Page> ReadPage(std::string_view body, const std::vector<std::string>& keys) {
  codec::JsonReader reader;
  BERTH_ASSIGN_OR_RETURN(const element list, reader.Parse(body));
  const auto items = codec::FindArray(list, "items");
  if (!items) return Error{ErrorCode::kInternal, "the server's answer is no list of nodes"};
  Page page;
  for (const element item : *items) {
    PricedNode node = ReadNode(item, keys);
    if (!node.name.empty()) page.nodes.push_back(std::move(node));
  }
  if (const auto metadata = codec::FindMember(list, "metadata"))
    page.continue_token = codec::StringOrEmpty(*metadata, "continue");
  return page;
}

class Lister : public std::enable_shared_from_this<Lister> {
 public:
  Lister(client::RestClient& rest, NodeListOptions options, std::shared_ptr<std::atomic<std::size_t>> count,
         NodesDone done)
      : rest_(rest), options_(std::move(options)), count_(std::move(count)), done_(std::move(done)) {}

  void Ask() {
    net::Request request;
    request.target = client::WithQuery("/api/v1/nodes", {{"labelSelector", options_.label_selector},
                                                         {"limit", std::to_string(options_.page_size)},
                                                         {"continue", continue_}});
    client::RestOptions how;
    how.timeout = kPageTimeout;
    rest_.Do(std::move(request), how,
             [self = shared_from_this()](Expected<net::Response> answer) { self->On(std::move(answer)); });
  }

 private:
  void On(Expected<net::Response> answer) {
    if (!answer.ok()) {
      if (answer.error().code != ErrorCode::kGone || continue_.empty() || restarts_ == options_.restarts_max)
        return done_(answer.error().Wrap("listing nodes"));
      ++restarts_;
      nodes_.clear();
      continue_.clear();
      return Ask();
    }
    auto page = ReadPage(answer->body, options_.annotations);
    if (!page.ok()) return done_(page.error().Wrap("listing nodes"));
    std::move(page->nodes.begin(), page->nodes.end(), std::back_inserter(nodes_));
    if (count_) count_->store(nodes_.size());
    continue_ = std::move(page->continue_token);
    if (continue_.empty()) return done_(std::move(nodes_));
    if (++pages_ == options_.pages_max) return done_(Error{ErrorCode::kTooLarge, "listing nodes: the list has no end"});
    Ask();
  }

  client::RestClient& rest_;
  const NodeListOptions options_;
  const std::shared_ptr<std::atomic<std::size_t>> count_;
  const NodesDone done_;
  std::vector<PricedNode> nodes_;
  std::string continue_;
  int pages_ = 0;
  int restarts_ = 0;
};

}  // namespace

void ListNodes(client::RestClient& rest, NodeListOptions options, std::shared_ptr<std::atomic<std::size_t>> count,
               NodesDone done) {
  std::make_shared<Lister>(rest, std::move(options), std::move(count), std::move(done))->Ask();
}

void GetNode(client::RestClient& rest, const std::string& name, std::vector<std::string> annotations, NodesDone done) {
  net::Request request;
  request.target = client::ObjectPath("/api/v1", "", "nodes", name);
  rest.Do(std::move(request), {}, [keys = std::move(annotations), done = std::move(done)](auto answer) {
    if (!answer.ok()) return done(answer.error());
    codec::JsonReader reader;
    const auto object = reader.Parse(answer->body);
    if (!object.ok()) return done(object.error().Wrap("reading the node"));
    PricedNode node = ReadNode(*object, keys);
    if (node.name.empty()) return done(Error{ErrorCode::kInternal, "the server's answer is no node"});
    std::vector<PricedNode> nodes;
    nodes.push_back(std::move(node));
    done(std::move(nodes));
  });
}

class NodePatcher::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(client::RestClient& rest, std::string key, std::vector<PriceChange> changes)
      : rest_(rest), key_(std::move(key)), changes_(std::move(changes)) {
    outcome_.states.assign(changes_.size(), State::kNotTried);
  }

  void Start(std::function<void(Outcome)> done) {
    rest_.loop().Post([self = shared_from_this(), done = std::move(done)]() mutable {
      const std::lock_guard lock(self->mutex_);
      self->done_ = std::move(done);
      self->Advance();
    });
  }
  void Stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    done_ = nullptr;
  }
  std::size_t ended_count() const { return ended_count_.load(); }

 private:
  // Begins the changes that may be begun, and calls `done` when all have ended.
  void Advance() {
    if (is_stopped_) return;
    while (in_flight_ < kInFlightMax && next_ < changes_.size() && outcome_.failures < kFailuresMax) {
      ++in_flight_;
      Send(next_++, 1);
    }
    if (in_flight_ == 0 && done_) std::exchange(done_, nullptr)(std::move(outcome_));
  }

  void Send(std::size_t change, int tries) {
    net::Request request;
    request.method = "PATCH";
    request.target = client::ObjectPath("/api/v1", "", "nodes", changes_[change].node);
    request.headers.push_back({"Content-Type", "application/merge-patch+json"});
    request.body = ChangePatch(changes_[change], key_);
    rest_.Do(std::move(request), {}, [self = shared_from_this(), change, tries](Expected<net::Response> answer) {
      // Elsewhere than in this call: a transport may answer before Do() returns.
      self->rest_.loop().Post([self, change, tries, answer = std::move(answer)] {
        const std::lock_guard lock(self->mutex_);
        self->On(change, tries, answer);
      });
    });
  }

  void On(std::size_t change, int tries, const Expected<net::Response>& answer) {
    if (is_stopped_) return;
    if (!answer.ok() && tries < kTries &&
        (answer.error().outcome_unknown || answer.error().code == ErrorCode::kConflict)) {
      return Send(change, tries + 1);
    }
    if (answer.ok()) {
      outcome_.states[change] = State::kDone;
    } else if (answer.error().code == ErrorCode::kNotFound) {
      outcome_.states[change] = State::kGone;
    } else {
      outcome_.states[change] = State::kFailed;
      if (outcome_.failures++ == 0)
        outcome_.first_error = answer.error().Wrap("patching node " + changes_[change].node);
    }
    --in_flight_;
    ++ended_count_;
    Advance();
  }

  client::RestClient& rest_;
  const std::string key_;
  const std::vector<PriceChange> changes_;
  std::atomic<std::size_t> ended_count_{0};
  std::mutex mutex_;  // guards what follows
  std::function<void(Outcome)> done_;
  Outcome outcome_;
  std::size_t next_ = 0;
  std::size_t in_flight_ = 0;
  bool is_stopped_ = false;
};

NodePatcher::NodePatcher(client::RestClient& rest, std::string key, std::vector<PriceChange> changes)
    : impl_(std::make_shared<Impl>(rest, std::move(key), std::move(changes))) {}

NodePatcher::~NodePatcher() { impl_->Stop(); }

void NodePatcher::Start(std::function<void(Outcome)> done) { impl_->Start(std::move(done)); }

std::size_t NodePatcher::ended_count() const { return impl_->ended_count(); }

}  // namespace berth::prices
