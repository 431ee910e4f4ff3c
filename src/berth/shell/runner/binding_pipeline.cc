// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/runner/binding_pipeline.h"

#include "berth/base/backoff.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace berth::runner {
namespace {

constexpr int kWindowMin = 16;            // answers, so that one slow one does not count as a trend
constexpr double kTolerance = 2.0;        // latency over the best one that is taken for noise
constexpr double kBestForgotten = 1.001;  // a window

// Tries of a binding that certainly had no effect. A longer wait that the server asks for takes precedence over the
// back-off.
constexpr int kTriesMax = 4;
constexpr Duration kBackoffMin = std::chrono::milliseconds(200);

}  // namespace

ConcurrencyLimit::ConcurrencyLimit(int limit_min, int limit_max)
    : limit_min_(std::max(1, limit_min)), limit_max_(std::max(limit_min_, limit_max)), limit_(limit_min_) {}

void ConcurrencyLimit::Answered(Duration latency, int in_flight) {
  latency_sum_ += latency;
  in_flight_most_ = std::max(in_flight_most_, in_flight);
  if (++answers_ >= std::max(kWindowMin, in_flight_most_)) EndWindow();
}

void ConcurrencyLimit::PushedBack() {
  // Once in a window, since requests that are under way together are pushed back together.
  if (std::exchange(is_pushed_back_, true)) return;
  limit_ = std::max(limit_min_, limit_ - limit_ / 4);
}

void ConcurrencyLimit::EndWindow() {
  const double mean_ns = static_cast<double>(latency_sum_.count()) / answers_;
  const bool was_pushed_back = std::exchange(is_pushed_back_, false);
  const int in_flight_most = std::exchange(in_flight_most_, 0);
  latency_sum_ = {};
  answers_ = 0;
  best_ns_ = best_ns_ == 0 ? mean_ns : std::min(best_ns_ * kBestForgotten, mean_ns);
  if (was_pushed_back || mean_ns <= 0) return;
  const double gradient = std::clamp(kTolerance * best_ns_ / mean_ns, 0.5, 1.0);
  const double wanted = limit_ * gradient + std::sqrt(limit_);
  // A limit that was not reached does not show that a higher one would work.
  if (wanted > limit_ && in_flight_most < limit_) return;
  limit_ = std::clamp(static_cast<int>(std::lround(wanted)), limit_min_, limit_max_);
}

BindingPipeline::BindingPipeline(client::ApiWriter& writer, client::EventLoop& loop, Options options,
                                 std::function<void(bool is_busy)> on_busy)
    : writer_(writer),
      loop_(loop),
      on_busy_(std::move(on_busy)),
      refused_(options.refused),
      limit_(options.in_flight_min, options.in_flight_max),
      limit_shown_(limit_.limit()),
      lanes_(std::make_shared<client::RequestLanes>(
          loop, client::RequestLanesOptions{.in_flight_max = limit_.limit(), .pace = options.pace})) {}

BindingPipeline::~BindingPipeline() { *alive_ = false; }

void BindingPipeline::Bind(client::PodTarget pod, std::string node_name, client::ApiWriter::Done done) {
  Enqueue(std::make_shared<Binding>(std::move(pod), std::move(node_name), std::move(done)));
}

void BindingPipeline::Enqueue(const std::shared_ptr<Binding>& binding) {
  const auto start = [this, alive = alive_, binding](client::RequestLanes::Ended ended) {
    if (!*alive) return false;
    Send(binding, std::move(ended));
    return true;
  };
  // A binding that was never sent can be refused, which frees the pod's room until it is tried again. One that was sent
  // needs an answer.
  client::RequestLanes::Refuse refuse;
  if (binding->tries == 0) {
    refuse = [binding, refused = refused_](const std::string& why) {
      if (refused != nullptr) refused->Add();
      binding->done(Error{ErrorCode::kCancelled, "bindings of namespace \"" + binding->pod.namespace_name + "\" " +
                                                     why + " (an admission webhook of pods/binding?): not sent"});
    };
  }
  lanes_->Add(binding->pod.namespace_name, start, refuse);
}

void BindingPipeline::Send(const std::shared_ptr<Binding>& binding, client::RequestLanes::Ended ended) {
  if (!std::exchange(is_busy_, true) && on_busy_) on_busy_(true);
  writer_.Bind(binding->pod, binding->node_name,
               [this, alive = alive_, binding, ended = std::move(ended), sent_at = loop_.Now(),
                in_flight = lanes_->in_flight()](const Expected<void>& result) {
                 if (*alive) {
                   OnAnswer(binding->pod.namespace_name, sent_at, in_flight, result);
                   // A proxy may report a time-out at once. The core then reads the pod and tries again later.
                   const client::RequestEnd end = client::EndOf(result);
                   const bool is_quick = loop_.Now() - sent_at < client::kRequestLateAfter;
                   ended(end == client::RequestEnd::kNoAnswer && is_quick ? client::RequestEnd::kNotReached : end);
                 }
                 if (*alive && lanes_->in_flight() == 0 && std::exchange(is_busy_, false) && on_busy_) on_busy_(false);
                 if (*alive && TryLater(binding, result)) return;
                 binding->done(result);
               });
}

// Whether the binding is sent again later, since it had no effect and the server is overloaded or away. It is out of
// its lane while it waits, so that it does not count as a request without an answer.
bool BindingPipeline::TryLater(const std::shared_ptr<Binding>& binding, const Expected<void>& result) {
  if (result.ok() || result.error().outcome_unknown) return false;
  const Error& error = result.error();
  if (error.code != ErrorCode::kTooManyRequests && error.code != ErrorCode::kUnavailable) return false;
  if (++binding->tries >= kTriesMax) return false;
  const Duration least = Doubled(kBackoffMin, client::kRetryAfterMax, binding->tries - 1);
  const Duration asked = std::chrono::milliseconds(error.retry_after_ms);
  const Duration delay = WithJitterAbove(std::clamp(asked, least, Duration(client::kRetryAfterMax)), random_);
  (void)loop_.PostAfter(delay, [this, alive = alive_, binding] {
    if (*alive) Enqueue(binding);
  });
  return true;
}

void BindingPipeline::OnAnswer(const std::string& namespace_name, Time sent_at, int in_flight,
                               const Expected<void>& result) {
  // The webhooks of one namespace say nothing about the speed of the server.
  if (lanes_->IsBlamed(namespace_name)) return;
  const ErrorCode code = result.ok() ? ErrorCode::kConflict : result.error().code;
  if (code == ErrorCode::kTooManyRequests || code == ErrorCode::kTimeout) {
    limit_.PushedBack();
  } else if (code == ErrorCode::kConflict || code == ErrorCode::kNotFound) {
    // Only real answers count: a refused connection is quick and says nothing.
    limit_.Answered(std::max(Duration::zero(), loop_.Now() - sent_at), in_flight);
  }
  limit_shown_.store(limit_.limit(), std::memory_order_relaxed);
  lanes_->SetInFlightMax(limit_.limit());
}

}  // namespace berth::runner
