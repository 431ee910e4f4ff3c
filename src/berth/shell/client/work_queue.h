// SPDX-License-Identifier: Apache-2.0
// WorkQueue: the work queue of a controller. An event adds the key of an object, and the handler looks at the newest
// state. A key is handled once at a time, a bounded number of keys at once, and a failed key again after a back-off.
// Everything happens on the loop's thread. The caller bounds the set of keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/base/backoff.h"
#include "berth/base/hash_map.h"
#include "berth/base/random.h"
#include "berth/base/time.h"
#include "berth/shell/client/event_loop.h"

namespace berth::client {

struct WorkQueueOptions {
  int in_flight_max = 16;
  Duration backoff_min = std::chrono::milliseconds(200);  // doubles with each failure in a row; half of it is jitter
  Duration backoff_max = std::chrono::seconds(5);
  std::uint64_t seed = 1;
};

class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  // To be called once, on the loop's thread. False: the key is handled again after a back-off.
  using Done = std::function<void(bool succeeded)>;
  using Handler = std::function<void(const std::string& key, Done done)>;

  // Always in a shared_ptr. `loop` must outlive it.
  WorkQueue(EventLoop& loop, WorkQueueOptions options, Handler handler)
      : loop_(loop), options_(options), handler_(std::move(handler)), random_(options.seed) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // The key is handled soon, or once more if it is being handled now. A key that has failed keeps its back-off.
  void Add(std::string_view key) { AddAfter(key, Duration::zero()); }

  // The key is handled after `delay`, unless it is added for an earlier time.
  void AddAfter(std::string_view key, Duration delay) {
    Item& item = Find(key);
    if (item.is_ready) return;
    if (item.failures > 0 && item.timer_due) return;
    if (item.is_running) {
      const Time due = loop_.Now() + delay;
      item.again_at = item.again_at ? std::min(*item.again_at, due) : due;
      return;
    }
    Schedule(std::string(key), item, delay);
  }

  std::size_t size() const { return items_.size(); }

 private:
  struct Item {
    bool is_ready = false;  // in ready_
    bool is_running = false;
    int failures = 0;              // in a row
    std::optional<Time> again_at;  // AddAfter() during the handling
    std::optional<Time> timer_due;
    std::uint64_t timer_id = 0;  // a timer with another id is out of date
    std::function<void()> cancel_timer;
  };

  Item& Find(std::string_view key) {
    const auto found = items_.find(key);
    return found != items_.end() ? found->second : items_[std::string(key)];
  }

  void Schedule(const std::string& key, Item& item, Duration delay) {
    if (delay <= Duration::zero()) {
      DropTimer(item);
      item.is_ready = true;
      ready_.push_back(key);
      return PumpSoon();
    }
    const Time due = loop_.Now() + delay;
    if (item.timer_due && *item.timer_due <= due) return;
    DropTimer(item);
    item.timer_due = due;
    item.timer_id = ++timer_id_last_;
    item.cancel_timer = loop_.PostAfter(delay, [weak = weak_from_this(), key, id = item.timer_id] {
      if (const auto self = weak.lock()) self->OnTimer(key, id);
    });
  }

  static void DropTimer(Item& item) {
    item.timer_due.reset();
    item.timer_id = 0;
    if (item.cancel_timer) std::exchange(item.cancel_timer, nullptr)();
  }

  void OnTimer(const std::string& key, std::uint64_t id) {
    const auto found = items_.find(key);
    if (found == items_.end() || found->second.timer_id != id) return;
    Item& item = found->second;
    item.timer_due.reset();
    item.timer_id = 0;
    item.cancel_timer = nullptr;
    item.is_ready = true;
    ready_.push_back(key);
    PumpSoon();
  }

  // Posted, so that a key that several events add is handled once.
  void PumpSoon() {
    if (is_pump_posted_) return;
    is_pump_posted_ = true;
    loop_.Post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->is_pump_posted_ = false;
      self->Pump();
    });
  }

  void Pump() {
    while (running_ < options_.in_flight_max && !ready_.empty()) {
      const std::string key = std::move(ready_.front());
      ready_.pop_front();
      Item& item = Find(key);
      item.is_ready = false;
      item.is_running = true;
      ++running_;
      handler_(key, [weak = weak_from_this(), key](bool succeeded) {
        if (const auto self = weak.lock()) self->Finish(key, succeeded);
      });
    }
  }

  void Finish(const std::string& key, bool succeeded) {
    const auto found = items_.find(key);
    if (found == items_.end() || !found->second.is_running) return;
    --running_;
    Item& item = found->second;
    item.is_running = false;
    const auto again_at = std::exchange(item.again_at, std::nullopt);
    if (!succeeded) {
      const Duration delay = WithJitter(Doubled(options_.backoff_min, options_.backoff_max, item.failures), random_);
      ++item.failures;
      Schedule(key, item, std::max(delay, Duration(1)));
    } else {
      item.failures = 0;
      if (again_at) {
        Schedule(key, item, *again_at - loop_.Now());
      } else {
        items_.erase(found);
      }
    }
    if (!ready_.empty()) PumpSoon();
  }

  EventLoop& loop_;
  const WorkQueueOptions options_;
  const Handler handler_;
  Random random_;
  StringHashMap<Item> items_;
  std::deque<std::string> ready_;
  int running_ = 0;
  bool is_pump_posted_ = false;
  std::uint64_t timer_id_last_ = 0;
};

}  // namespace berth::client
