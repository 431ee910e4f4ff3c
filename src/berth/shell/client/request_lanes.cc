// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/request_lanes.h"

#include <algorithm>
#include <utility>

namespace berth::client {

RequestLanes::RequestLanes(EventLoop& loop, RequestLanesOptions options)
    : loop_(loop), options_(options), random_(options.seed) {}

RequestLanes::~RequestLanes() {
  if (cancel_timer_) cancel_timer_();
}

void RequestLanes::Add(std::string_view lane, Request request, bool is_first) {
  auto it = lanes_.find(lane);
  if (it == lanes_.end()) it = lanes_.emplace(std::string(lane), Lane()).first;
  if (it->second.window > 0 && request.refuse && (it->second.is_held || !HasRoom(it->second))) {
    refused_.push_back(std::move(request.refuse));
    return Pump();
  }
  std::deque<Request>& waiting = it->second.waiting;
  waiting.insert(is_first ? waiting.begin() : waiting.end(), std::move(request));
  ++waiting_;
  List(it->first, it->second);
  Pump();
}

void RequestLanes::SetInFlightMax(int in_flight_max) {
  options_.in_flight_max = in_flight_max;
  Pump();
}

bool RequestLanes::IsSlow(std::string_view lane) const {
  const auto it = lanes_.find(lane);
  return it != lanes_.end() && it->second.window > 0;
}

bool RequestLanes::HasRoom(const Lane& lane) const {
  return lane.window == 0 || lane.in_flight - std::min(lane.late, options_.late_beside_max) < lane.window;
}

// Gives the lane its place among those that take turns, if it has a request that it may send.
void RequestLanes::List(const std::string& name, Lane& lane) {
  if (lane.is_listed || lane.is_held || lane.waiting.empty() || !HasRoom(lane)) return;
  (lane.window > 0 ? slow_turns_ : turns_).push_back(name);
  lane.is_listed = true;
}

// A request may be answered, and others added, before it has returned.
void RequestLanes::Pump() {
  if (std::exchange(is_pumping_, true)) return;
  const auto self = shared_from_this();  // what is answered at once may end its owner
  for (bool has_started = true; has_started;) {
    has_started = !refused_.empty();
    for (const Refuse& refuse : std::exchange(refused_, {})) refuse();
    if (options_.in_flight_max <= 0 || all_in_flight() >= options_.all_in_flight_max) break;
    if (in_flight_ < options_.in_flight_max) has_started = StartOne(turns_);
    if (slow_in_flight_ < std::min(options_.slow_in_flight_max, options_.in_flight_max))
      has_started |= StartOne(slow_turns_);
  }
  is_pumping_ = false;
  ArmTimer();
}

// False when nobody is there whose turn it is.
bool RequestLanes::StartOne(std::deque<std::string>& turns) {
  if (turns.empty()) return false;
  const std::string name = std::move(turns.front());
  turns.pop_front();
  Lane& lane = lanes_.find(name)->second;
  lane.is_listed = false;
  // It may have become slow, or quick again, or lost what it had, while it waited here.
  if (lane.waiting.empty()) return true;
  const bool is_in_place = (lane.window > 0) == (&turns == &slow_turns_);
  if (is_in_place && !lane.is_held && HasRoom(lane)) {
    StartNext(name, lane);
  } else {
    List(name, lane);
  }
  return true;
}

void RequestLanes::StartNext(const std::string& name, Lane& lane) {
  const Start start = std::move(lane.waiting.front().start);
  lane.waiting.pop_front();
  --waiting_;
  const std::uint64_t id = next_id_++;
  const bool is_slow = lane.window > 0;
  ++lane.in_flight;
  ++(is_slow ? slow_in_flight_ : in_flight_);
  flights_.emplace(id, Flight{name, loop_.Now(), is_slow});
  by_age_.emplace_back(loop_.Now(), id);
  List(name, lane);
  const bool was_sent = start([weak = weak_from_this(), id](bool was_answered) {
    if (const auto self = weak.lock()) self->OnEnd(id, was_answered ? End::kAnswered : End::kNoAnswer);
  });
  if (!was_sent) OnEnd(id, End::kNotSent);
}

void RequestLanes::OnEnd(std::uint64_t id, End end) {
  auto node = flights_.extract(id);
  if (node.empty()) return;
  const Flight& flight = node.mapped();
  if (flight.is_slow) {
    --slow_in_flight_;
  } else if (!flight.is_late) {
    --in_flight_;
  }
  Lane& lane = lanes_.find(flight.lane)->second;
  --lane.in_flight;
  if (flight.is_late) --lane.late;
  if (end == End::kNoAnswer) {
    Hold(flight.lane, lane);
  } else if (end == End::kAnswered && flight.is_late && flight.is_slow && lane.window > 0 &&
             !IsSlowerThanOthers(flight)) {
    lane.window = std::min(lane.window + 1, options_.slow_in_flight_max);
  } else if (end == End::kAnswered && !flight.is_late) {
    NoteQuickAnswer(flight.lane);
    lane.failures = 0;
    if (lane.window > 0) {
      ++lane.window;
      if (++lane.quick_in_row >= options_.quick_answers_wanted) lane.window = lane.quick_in_row = 0;
    }
  }
  List(flight.lane, lane);
  DropIdle(flight.lane);
  Pump();
}

// Whether another lane was answered quickly since the request was sent.
bool RequestLanes::IsSlowerThanOthers(const Flight& flight) const {
  return (quick_lane_ == flight.lane ? quick_before_ : quick_at_) >= flight.sent_at;
}

void RequestLanes::NoteQuickAnswer(const std::string& name) {
  if (quick_lane_ != name) {
    quick_lane_ = name;
    quick_before_ = quick_at_;
  }
  quick_at_ = loop_.Now();
}

void RequestLanes::BecomeSlow(Lane& lane) {
  lane.window = 1;
  lane.quick_in_row = 0;
  std::erase_if(lane.waiting, [this](Request& request) {
    if (!request.refuse) return false;
    refused_.push_back(std::move(request.refuse));
    --waiting_;
    return true;
  });
}

// Of requests that were under way together only the first says something new.
void RequestLanes::Hold(const std::string& name, Lane& lane) {
  BecomeSlow(lane);
  if (std::exchange(lane.is_held, true)) return;
  Duration delay = std::min(options_.backoff_max, options_.backoff_min * (1 << std::min(lane.failures++, 10)));
  delay = delay / 2 + Duration(random_.Below(static_cast<std::uint64_t>(delay.count() / 2 + 1)));
  (void)loop_.PostAfter(delay, [weak = weak_from_this(), name] {
    const auto self = weak.lock();
    if (!self) return;
    Lane& held = self->lanes_.find(name)->second;
    held.is_held = false;
    self->List(name, held);
    self->DropIdle(name);
    self->Pump();
  });
}

// Set for the oldest request that is neither late nor answered, if there is one.
void RequestLanes::ArmTimer() {
  while (!by_age_.empty() && !flights_.contains(by_age_.front().second)) by_age_.pop_front();
  if (by_age_.empty()) {
    if (cancel_timer_) std::exchange(cancel_timer_, nullptr)();
    return;
  }
  if (cancel_timer_) return;  // It may be an older one's: then it looks again.
  const Duration left = by_age_.front().first + options_.late_after - loop_.Now();
  cancel_timer_ = loop_.PostAfter(left, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->cancel_timer_ = nullptr;
    self->MarkLate();
  });
}

void RequestLanes::MarkLate() {
  const Time sent_by = loop_.Now() - options_.late_after;
  for (; !by_age_.empty() && by_age_.front().first <= sent_by; by_age_.pop_front()) {
    const auto it = flights_.find(by_age_.front().second);
    if (it == flights_.end()) continue;
    it->second.is_late = true;
    if (!it->second.is_slow) --in_flight_;
    const auto lane = lanes_.find(it->second.lane);
    ++lane->second.late;
    if (!it->second.is_slow || IsSlowerThanOthers(it->second)) BecomeSlow(lane->second);
    List(lane->first, lane->second);
  }
  Pump();
}

// A slow lane is remembered, so that it does not begin anew with as many as all others.
void RequestLanes::DropIdle(const std::string& name) {
  const auto is_idle = [](const Lane& lane) { return lane.in_flight == 0 && lane.waiting.empty() && !lane.is_held; };
  const auto it = lanes_.find(name);
  if (!is_idle(it->second)) return;
  if (it->second.window == 0 && !it->second.is_kept_idle) {
    lanes_.erase(it);
    return;
  }
  if (!std::exchange(it->second.is_kept_idle, true)) idle_slow_.push_back(name);
  if (idle_slow_.size() <= options_.idle_slow_max) return;
  const auto oldest = lanes_.find(idle_slow_.front());
  oldest->second.is_kept_idle = false;
  if (is_idle(oldest->second)) lanes_.erase(oldest);
  idle_slow_.pop_front();
}

}  // namespace berth::client
