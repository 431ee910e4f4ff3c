// SPDX-License-Identifier: Apache-2.0
#include "berth/app/run/release_watch.h"

#include <algorithm>
#include <utility>

#include "berth/app/kubernetes_release.h"
#include "berth/base/log.h"

namespace berth::app {
namespace {

std::string Shown(int release) { return "1." + std::to_string(release); }

}  // namespace

ServerReleases::ServerReleases(int followed, Duration settled, Time now)
    : followed_(followed), settled_(settled), last_seen_{{followed, now}}, oldest_(followed) {}

std::optional<int> ServerReleases::Note(std::string_view version, Time now) {
  const Expected<int> release = ReleaseFor(version);
  if (!release.ok()) return std::nullopt;
  last_seen_[*release] = now;
  std::erase_if(last_seen_, [&](const auto& seen) { return now - seen.second >= settled_; });
  const int before = std::exchange(oldest_, last_seen_.begin()->first);
  is_mixed_ = last_seen_.size() > 1;
  if (oldest_ == followed_) {
    differs_since_.reset();
    return std::nullopt;
  }
  // A newer one has been the only one, or the oldest of several, since the followed one was seen last, which is
  // `settled_` ago. An older one has to stay.
  if (oldest_ > followed_) return oldest_;
  if (!differs_since_ || before != oldest_) differs_since_ = now;
  return now - *differs_since_ >= settled_ ? std::optional(oldest_) : std::nullopt;
}

ReleaseWatch::ReleaseWatch(client::EventLoop& loop, Options options, Ports ports)
    : loop_(loop),
      options_(options),
      ports_(std::move(ports)),
      ask_every_(std::clamp<Duration>(options.settled / kAnswers, kAskMin, kAskMax)),
      releases_(options.followed, options.settled, loop.Now()),
      said_release_(options.followed) {}

void ReleaseWatch::Start() {
  loop_.Post([self = shared_from_this()] { self->Ask(); });
}

void ReleaseWatch::Ask() {
  ports_.ask_version([weak = weak_from_this()](const std::string& body) {
    const auto self = weak.lock();
    if (!self) return;
    self->TakeAnswer(VersionIn(body));
    if (self->has_ended_) return;
    // The handle only cancels.
    (void)self->loop_.PostAfter(self->ask_every_, [weak] {
      if (const auto again = weak.lock()) again->Ask();
    });
  });
}

void ReleaseWatch::TakeAnswer(const std::string& version) {
  const Time now = loop_.Now();
  const std::optional<int> due = releases_.Note(version, now);
  const Expected<int> of_answer = ReleaseFor(version);
  if (of_answer.ok()) ports_.on_server(releases_.oldest());
  if (releases_.oldest() == options_.followed && !releases_.is_mixed()) said_release_ = options_.followed;
  if (of_answer.ok() && *of_answer != said_release_ && *of_answer != options_.followed) {
    said_release_ = *of_answer;
    log::Info(
        "app", "An API server has another version than the one that is followed",
        {{"server", version}, {"followed", Shown(options_.followed)}, {"waits", FormatGoDuration(options_.settled)}});
  }
  if (!due) {
    due_since_.reset();
    return;
  }
  if (!due_since_) due_since_ = now;
  if (ports_.is_leading() && now - *due_since_ < options_.settled / 2) return;
  if (refused_ == due) return;
  if (const Expected<void> right = ports_.check(*due); !right.ok()) {
    refused_ = due;
    log::Warning("app", "The API server's version cannot be followed, as flags or configuration are not right for it",
                 {{"server", version}, {"followed", Shown(options_.followed)}, {"err", right.error().message}});
    return;
  }
  has_ended_ = true;
  log::Info("app", "Beginning again, as the API server's version needs it",
            {{"server", version}, {"from", Shown(options_.followed)}, {"to", Shown(*due)}});
  ports_.begin_again(*due, version);
}

}  // namespace berth::app
