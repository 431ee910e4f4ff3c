// SPDX-License-Identifier: Apache-2.0
// ReleaseWatch: whether the API servers have come to another release than the one that is followed, by what GET
// /version answers while berth runs. During an upgrade the servers of one cluster differ, and their answers alternate:
// as Kubernetes' version skew policy wants it, the oldest that has answered within a time counts, and it is followed
// when it has been another one for that long. On the loop's thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/shell/client/event_loop.h"

namespace berth::app {

// The rule, without a loop. A value.
class ServerReleases {
 public:
  // `followed`: the release that decides. `settled`: see above.
  ServerReleases(int followed, Duration settled, Time now);

  // A server has answered. The release to follow instead of `followed`; nullopt: it stays, or not for long enough yet.
  // An answer that is no version changes nothing.
  std::optional<int> Note(std::string_view version, Time now);
  // The oldest release that has answered within `settled`; `followed` before anybody has.
  int oldest() const { return oldest_; }
  // Several have.
  bool is_mixed() const { return is_mixed_; }

 private:
  const int followed_;
  const Duration settled_;
  std::map<int, Time> last_seen_;      // by release; those of the last `settled_`
  std::optional<Time> differs_since_;  // nullopt: `oldest_` is the one that is followed
  int oldest_;
  bool is_mixed_ = false;
};

class ReleaseWatch : public std::enable_shared_from_this<ReleaseWatch> {
 public:
  // How often a server is asked: `settled` has this many answers, but no two in less than kAskMin or more than kAskMax.
  static constexpr int kAnswers = 10;
  static constexpr Duration kAskMin = std::chrono::milliseconds(500);
  static constexpr Duration kAskMax = std::chrono::seconds(30);

  struct Options {
    int followed = 0;
    Duration settled{};
  };
  struct Ports {
    // Reads /version; calls `done` with its body, or with "".
    std::function<void(std::function<void(std::string body)> done)> ask_version;
    // A process that leads lets those that stand by go first: it waits half as long again.
    std::function<bool()> is_leading;
    // Whether flags and configuration are right for that release; why not otherwise.
    std::function<Expected<void>(int release)> check;
    // A server has answered: the oldest release of the servers.
    std::function<void(int release)> on_server;
    // The release is to be followed now. Called once.
    std::function<void(int release, const std::string& version)> begin_again;
  };

  // Always in a shared_ptr. `loop` and what the ports use must outlive it.
  ReleaseWatch(client::EventLoop& loop, Options options, Ports ports);

  // Any thread.
  void Start();
  // begin_again() is called, or has been.
  bool has_ended() const { return has_ended_; }

 private:
  void Ask();
  void TakeAnswer(const std::string& version);

  client::EventLoop& loop_;
  const Options options_;
  const Ports ports_;
  const Duration ask_every_;
  ServerReleases releases_;
  std::optional<Time> due_since_;  // another release is due, and this process still lets others go first
  int said_release_;               // of the last line about the servers' release
  std::optional<int> refused_;     // the release that flags or configuration are not right for
  std::atomic<bool> has_ended_{false};
};

}  // namespace berth::app
