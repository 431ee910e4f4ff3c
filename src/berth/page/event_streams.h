// SPDX-License-Identifier: Apache-2.0
// EventStreams: the readers of GET /events. Pump() writes to each what it lacks, as Server-Sent Events. A reader that
// does not read is passed over, and gets what it has missed in one piece later: nothing is queued for it. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/page/decision_feed.h"
#include "berth/page/fleet.h"
#include "berth/shell/net/http_server.h"

namespace berth::page {

// What all readers get, each version once.
struct Announcement {
  std::string event;  // "pending", "numbers", "status"
  std::string data;   // one line of JSON
};

class EventStreams {
 public:
  static constexpr std::size_t kReadersMax = 64;
  // A reader with more than this unread is passed over, and ends after kBehindMax.
  static constexpr std::size_t kUnreadBytesMax = std::size_t{1} << 20;
  static constexpr Duration kBehindMax = std::chrono::minutes(1);
  // A larger delta costs more than a frame.
  static constexpr std::size_t kDeltaBytesMax = std::size_t{2} << 20;
  static constexpr Duration kSilenceMax = std::chrono::seconds(15);
  // A reader is told to begin anew no more often.
  static constexpr Duration kReloadPause = std::chrono::seconds(2);
  static constexpr std::size_t kDecisionsMax = 100;
  // What all readers together are written: of more than ten readers each gets larger pieces less often.
  static constexpr int kWritesPerSecondMax = 100;

  // Both must outlive it; `decisions` is null where no scheduler is in this process.
  EventStreams(Fleet& fleet, const DecisionFeed* decisions) : fleet_(fleet), decisions_(decisions) {}
  ~EventStreams() { EndAll(); }

  // Begins to answer. `last` is the id of the last event that the reader has had; empty: none. False: there are too
  // many readers, and nothing has been written.
  bool Add(const std::shared_ptr<net::ResponseWriter>& writer, std::string_view last, Time now, Time time_of_day);
  // Keeps the newest of each kind; readers get it with the next Pump().
  void Announce(Announcement announcement);
  // Once in a tenth of a second. Does nothing where kWritesPerSecondMax asks for a longer pause.
  void Pump(Time now);
  // Ends every reader's stream.
  void EndAll();

  bool HasReaders() const { return reader_count_ > 0; }
  // The newest revision of the fleet with which a reader was told to begin anew: a frame for it must not be older.
  std::uint32_t reload_revision() const { return reload_revision_; }

 private:
  struct Reader {
    std::shared_ptr<net::ResponseWriter> writer;
    std::shared_ptr<std::atomic<bool>> is_gone;
    std::uint32_t revision = 0;
    std::uint64_t sequence = 0;
    bool needs_reload = false;
    std::optional<Time> reloaded_at;
    std::map<std::string, std::uint64_t, std::less<>> had;  // by kind: the number of the announcement
    Time written_at{};
    std::optional<Time> behind_since;
  };
  struct Numbered {
    std::uint64_t number = 0;
    std::string data;
  };
  struct EncodedDelta {
    std::uint32_t revision = 0;
    std::string data;  // of the event; empty: a whole frame is needed
  };
  struct EncodedDecisions {
    std::uint64_t last = 0;
    std::string data;
  };
  // What was made in this Pump(): readers that lack the same get the same.
  struct Made {
    std::map<std::uint32_t, EncodedDelta> deltas;         // by base
    std::map<std::uint64_t, EncodedDecisions> decisions;  // by the last sequence that a reader has had
  };

  std::string Id(const Reader& reader) const;
  void AppendEvent(std::string_view event, std::string_view data, const Reader& reader, std::string& to) const;
  // What the reader lacks now.
  std::string Lacking(Reader& reader, Made& made, Time now);
  const EncodedDelta& DeltaSince(std::uint32_t base, Made& made);
  void AppendFleet(Reader& reader, Made& made, Time now, std::string& to);
  void AppendDecisions(Reader& reader, Made& made, std::string& to) const;

  Fleet& fleet_;
  const DecisionFeed* const decisions_;
  std::atomic<std::size_t> reader_count_{0};
  std::atomic<std::uint32_t> reload_revision_{0};
  std::mutex mutex_;  // guards what follows
  std::vector<Reader> readers_;
  Time pumped_at_{};
  std::uint64_t announced_ = 0;
  std::map<std::string, Numbered, std::less<>> announcements_;  // the newest of each kind
};

}  // namespace berth::page
