// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/request_lanes.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "berth/base/backoff.h"
#include "berth/base/text_hash.h"

namespace berth::client {
namespace {

// The time between two calls of JudgeLateOnes(), which answers in other lanes may bring about.
constexpr Duration kJudgedEvery = std::chrono::milliseconds(100);

std::string InMilliseconds(Duration duration) {
  return FormatGoDuration(std::chrono::ceil<std::chrono::milliseconds>(duration));
}

}  // namespace

RequestLanes::RequestLanes(EventLoop& loop, RequestLanesOptions options)
    : loop_(loop), options_(std::move(options)), random_(options_.seed) {
  if (options_.pace == nullptr) options_.pace = std::make_shared<ServerPace>(loop);
}

RequestLanes::~RequestLanes() {
  for (const auto& [id, flight] : flights_) options_.pace->Ended(flight.number, false);
  if (cancel_timer_) cancel_timer_();
}

void RequestLanes::Add(std::string_view lane, Request request, bool is_first) {
  auto it = lanes_.find(lane);
  if (it == lanes_.end()) it = lanes_.emplace(std::string(lane), Lane()).first;
  const bool is_blamed = !it->second.blamed_for.empty();
  if (is_blamed && request.refuse && (it->second.is_held || !HasRoom(it->second))) {
    refused_.emplace_back(std::move(request.refuse), it->second.blamed_for);
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

bool RequestLanes::IsBlamed(std::string_view lane) const {
  const auto it = lanes_.find(lane);
  return it != lanes_.end() && !it->second.blamed_for.empty();
}

bool RequestLanes::HasRoom(const Lane& lane) const {
  return lane.window == 0 || lane.in_flight - std::min(lane.late, options_.late_beside_max) < lane.window;
}

// Queues the lane for its turn if it has a request that it may send.
void RequestLanes::List(const std::string& name, Lane& lane) {
  if (lane.is_listed || lane.is_held || lane.waiting.empty() || !HasRoom(lane)) return;
  (lane.window > 0 ? slow_turns_ : turns_).push_back(name);
  lane.is_listed = true;
}

// Starts requests while there is room. An answer may come, and requests be added, before a start returns.
void RequestLanes::Pump() {
  if (std::exchange(is_pumping_, true)) return;
  const auto self = shared_from_this();  // an answer that comes at once may destroy its owner
  for (bool has_started = true; has_started;) {
    has_started = !refused_.empty();
    for (const auto& [refuse, why] : std::exchange(refused_, {})) refuse(why);
    if (options_.in_flight_max <= 0 || all_in_flight() >= options_.all_in_flight_max) break;
    if (in_flight_ < options_.in_flight_max) has_started = StartOne(turns_);
    if (slow_in_flight_ < std::min(options_.slow_in_flight_max, options_.in_flight_max))
      has_started |= StartOne(slow_turns_);
  }
  is_pumping_ = false;
  ArmTimer();
}

// Gives the first lane its turn. False when there is none.
bool RequestLanes::StartOne(std::deque<std::string>& turns) {
  if (turns.empty()) return false;
  const std::string name = std::move(turns.front());
  turns.pop_front();
  Lane& lane = lanes_.find(name)->second;
  lane.is_listed = false;
  // While the lane waited for its turn it may have become slow or quick, or its requests may have gone.
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
  flights_.emplace(id, Flight{name, loop_.Now(), options_.pace->Sent(CauseOf(name)), is_slow});
  by_age_.emplace_back(loop_.Now(), id);
  List(name, lane);
  const bool was_sent = start([weak = weak_from_this(), id](RequestEnd end) {
    if (const auto self = weak.lock()) self->OnEnd(id, end);
  });
  if (!was_sent) OnEnd(id, std::nullopt);
}

void RequestLanes::OnEnd(std::uint64_t id, std::optional<RequestEnd> end) {
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
  if (flight.is_late) {
    --lane.late;
    --late_in_flight_;
  }
  options_.pace->Ended(flight.number, end == RequestEnd::kAnswered);
  if (end == RequestEnd::kAnswered) lane.answered_at = loop_.Now();
  if (end == RequestEnd::kNoAnswer) {
    Hold(flight.lane, lane);
  } else if (end && flight.is_late && flight.is_slow && lane.window > 0 && !FarSoonerOthers(flight)) {
    lane.window = std::min(lane.window + 1, options_.slow_in_flight_max);
  } else if (end && !flight.is_late) {
    lane.failures = 0;
    if (lane.window > 0) {
      ++lane.window;
      if (++lane.quick_in_row >= options_.quick_answers_wanted) {
        lane.window = lane.quick_in_row = 0;
        lane.blamed_for.clear();
      }
    }
    if (late_in_flight_ > 0 && judged_at_ + kJudgedEvery <= loop_.Now()) JudgeLateOnes();
  }
  List(flight.lane, lane);
  DropIdle(flight.lane);
  Pump();
}

// Lanes of the same name in other RequestLanes have other causes.
std::uint64_t RequestLanes::CauseOf(const std::string& lane) const {
  return HashText(lane) ^ reinterpret_cast<std::uintptr_t>(this);
}

std::optional<Duration> RequestLanes::FarSoonerOthers(const Flight& flight) const {
  return options_.pace->FarSoonerSince(CauseOf(flight.lane), flight.sent_at);
}

void RequestLanes::BecomeSlow(Lane& lane) {
  lane.window = 1;
  lane.quick_in_row = 0;
}

void RequestLanes::Blame(Lane& lane, std::string why) {
  BecomeSlow(lane);
  lane.blamed_for = std::move(why);
  std::erase_if(lane.waiting, [this, &lane](Request& request) {
    if (!request.refuse) return false;
    refused_.emplace_back(std::move(request.refuse), lane.blamed_for);
    --waiting_;
    return true;
  });
}

// Blames lanes with late requests if the server is far sooner for others. It is repeated as long as there are late
// requests in lanes that are not blamed.
void RequestLanes::JudgeLateOnes() {
  judged_at_ = loop_.Now();
  std::map<std::string_view, const Flight*> oldest;  // by lane, in a defined order
  for (const auto& [id, flight] : flights_) {
    if (!flight.is_late || IsBlamed(flight.lane)) continue;
    const Flight*& of_lane = oldest[flight.lane];
    if (of_lane == nullptr || flight.sent_at < of_lane->sent_at) of_lane = &flight;
  }
  for (const auto& [name, flight] : oldest) {
    Lane& lane = lanes_.find(name)->second;
    const bool are_many_late =
        lane.late >= options_.blamed_late_min && loop_.Now() - flight->sent_at >= options_.blamed_late_for;
    if (lane.answered_at >= flight->sent_at && !are_many_late) continue;
    if (const std::optional<Duration> others = FarSoonerOthers(*flight)) {
      Blame(lane, "have had no answer for " + InMilliseconds(loop_.Now() - flight->sent_at) +
                      ", while the API server answers others within " + InMilliseconds(*others));
    }
  }
}

// Makes the lane wait for its back-off. Of requests that were under way together only the first one counts as a
// failure.
void RequestLanes::Hold(const std::string& name, Lane& lane) {
  BecomeSlow(lane);
  if (std::exchange(lane.is_held, true)) return;
  const Duration delay = WithJitter(Doubled(options_.backoff_min, options_.backoff_max, lane.failures++), random_);
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

// The timer is for the oldest request that is neither late nor answered, or for judging the late ones again.
void RequestLanes::ArmTimer() {
  while (!by_age_.empty() && !flights_.contains(by_age_.front().second)) by_age_.pop_front();
  if (by_age_.empty() && late_in_flight_ == 0) {
    if (cancel_timer_) std::exchange(cancel_timer_, nullptr)();
    return;
  }
  if (cancel_timer_) return;            // if it was set for an older request it is set again when it fires
  Duration left = options_.late_after;  // until late ones are judged again
  if (!by_age_.empty()) left = by_age_.front().first + options_.late_after - loop_.Now();
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
    ++late_in_flight_;
    if (!it->second.is_slow) --in_flight_;
    const auto lane = lanes_.find(it->second.lane);
    ++lane->second.late;
    if (!it->second.is_slow || FarSoonerOthers(it->second)) BecomeSlow(lane->second);
    List(lane->first, lane->second);
  }
  JudgeLateOnes();
  Pump();
}

// Forgets a lane that has nothing to do. Slow lanes are remembered, so that they do not start again as quick ones.
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
