// SPDX-License-Identifier: Apache-2.0
// ReflectorWatch: the watch of a reflector, from a version on or from the beginning (WatchList: the existing objects
// come as initial events). Puts what it reads into the store, and watches again after failures that pass. If a list is
// needed first, its owner decides what follows.
//
// On the loop's thread, with the lock of the phases held.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/shell/client/reflector_shared.h"
#include "berth/shell/client/watch_frames.h"

namespace berth::client {

class ReflectorWatch {
 public:
  class Owner {
   public:
    // The initial events are complete, and the watch goes on.
    virtual void OnInitialEventsWhole() = 0;
    // The watch ended before the initial events were complete. With `for_good`, the server has shown that it cannot
    // send them.
    virtual void OnInitialEventsRefused(const std::string& why, bool for_good) = 0;
    virtual void OnInitialEventsFailed(const Error& error) = 0;
    // The watch cannot go on from its version.
    virtual void OnHistoryLost(const Error& error) = 0;

   protected:
    ~Owner() = default;
  };

  // Both must outlive it.
  ReflectorWatch(ReflectorShared& shared, Owner& owner)
      : shared_(shared), owner_(owner), frames_(shared.options.line_bytes_max) {}

  // Watches from this version on.
  void Start(const std::string& version) {
    version_ = version;
    Resume();
  }
  // Watches from the beginning, with the existing objects first: as they are stored now (kLatest), or as a replica has
  // them, but no older than what was seen before.
  enum class Consistency : std::uint8_t { kLatest, kNotOlderThanSeen };
  void StartInitial(Consistency consistency);

 private:
  void Resume() { Open(false); }
  void OpenInitial();
  void Open(bool is_initial);
  net::Request MakeRequest();
  void OnBytes(std::string_view bytes);
  void TakeFrame(std::string_view frame);
  void TakeLine(std::string_view line);
  void TakeUnreadable(std::string_view line, const Error& problem);
  void TakeBlank();
  void TakeEvent(std::string_view type, const Arrival& object, std::string_view shown);
  void OnErrorEvent(std::int64_t code, std::string_view message);
  void OnEnd(const Expected<void>& result);
  void Fail(const Error& error, bool is_garbled);
  void LoseHistory(const Error& error);

  void WaitForSilence();
  void TakeInitialEvent(std::string_view type, const Arrival& object);
  void OnInitialEnd(const Expected<void>& result);

  ReflectorShared& shared_;
  Owner& owner_;
  std::string version_;        // the watch goes on from here
  bool is_initial_ = false;    // while initial events come
  std::string asked_version_;  // initial events must not be older than this; empty: they are the latest state
  std::uint64_t initial_events_ = 0;
  WatchFrames frames_;
  bool is_open_ = false;
  bool is_fruitful_ = false;  // the watch brought an event or a bookmark
  Time opened_at_{};
  Time event_at_{};          // when the watch brought its last event, or was opened
  int failures_ = 0;         // in a row
  int garbled_watches_ = 0;  // in a row
};

}  // namespace berth::client
