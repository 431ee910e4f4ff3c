// SPDX-License-Identifier: Apache-2.0
// EventStreams: the readers of GET /events. Pump() writes to each what it lacks, as Server-Sent Events. Readers that
// lack the same, which is nearly all of them, get the same bytes: written and compressed once. A reader that does not
// read is passed over, and gets what it has missed in one piece later: nothing is queued for it. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/time.h"
#include "berth/page/decision_feed.h"
#include "berth/page/fleet.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/serving/content_coding.h"

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
  // What all readers together have not read. Whom a piece would bring beyond it is passed over.
  static constexpr std::size_t kUnreadBytesOfAllMax = std::size_t{64} << 20;
  // A larger delta costs more than a frame.
  static constexpr std::size_t kDeltaBytesMax = std::size_t{2} << 20;
  static constexpr Duration kSilenceMax = std::chrono::seconds(15);
  // A reader is told to begin anew no more often.
  static constexpr Duration kReloadPause = std::chrono::seconds(2);
  static constexpr std::size_t kDecisionsMax = 50;
  // What all readers together are written: the more there are, the larger and the fewer are the pieces that each gets.
  // To encrypt and send a piece is what a reader costs, and it is paid by the processor that decides about pods.
  static constexpr int kWritesPerSecondMax = 25;

  // Both must outlive it; `decisions` is null where no scheduler is in this process.
  EventStreams(Fleet& fleet, const DecisionFeed* decisions) : fleet_(fleet), decisions_(decisions) {}
  ~EventStreams() { EndAll(); }

  // Begins to answer, compressed in `coding`. `last` is the id of the last event that the reader has had; empty: none.
  // False: there are too many readers, and nothing has been written.
  bool Add(const std::shared_ptr<net::ResponseWriter>& writer, std::string_view last, serving::ContentCoding coding,
           Time now, Time time_of_day);
  // Keeps the newest of each kind; readers get it with the next Pump().
  void Announce(Announcement announcement);
  // Whether Pump() would write: there are readers, and kWritesPerSecondMax asks for no longer pause.
  bool IsDue(Time now) const;
  // Once in a tenth of a second. Does nothing where it is not due.
  void Pump(Time now);
  // Ends every reader's stream.
  void EndAll();

  bool HasReaders() const { return reader_count_ > 0; }
  // The newest revision of the fleet with which a reader was told to begin anew: a frame for it must not be older.
  std::uint32_t reload_revision() const { return reload_revision_; }

 private:
  // Up to where a reader knows everything.
  struct Position {
    std::uint32_t revision = 0;      // of the fleet
    std::uint64_t sequence = 0;      // of decisions
    std::uint64_t announcement = 0;  // the number of the newest one
    auto operator<=>(const Position&) const = default;
  };
  struct Reader {
    std::shared_ptr<net::ResponseWriter> writer;
    std::shared_ptr<std::atomic<bool>> is_gone;
    serving::ContentCoding coding = serving::ContentCoding::kIdentity;
    Position position;
    bool needs_reload = false;
    std::optional<Time> reloaded_at;
    Time written_at{};
    std::optional<Time> behind_since;
  };
  struct Numbered {
    std::uint64_t number = 0;
    std::string data;
  };
  // How a reader learns what the fleet is now.
  enum class FleetPart : std::uint8_t { kNone, kDelta, kReload };
  // What some readers are written.
  struct Piece {
    Position next;  // where they are with it
    std::string text;
    std::map<serving::ContentCoding, std::string> encoded;
  };
  // What was made in this Pump().
  struct Made {
    std::uint32_t revision = 0;                             // of the fleet, to which all pieces lead
    std::map<std::uint32_t, std::string> deltas;            // by base
    std::map<std::uint64_t, DecisionFeed::List> decisions;  // by the last sequence that a reader has had
    std::map<std::pair<FleetPart, Position>, Piece> pieces;
  };

  bool IsDueNow(Time now) const;
  // Sets whether the reader is passed over, or ends it, because it does not read. Returns what it has not read.
  static std::size_t CheckBehind(Reader& reader, Time now);
  std::string Id(const Position& position) const;
  void BeginEvent(std::string_view event, const Position& position, std::string& to) const;
  void AppendEvent(std::string_view event, std::string_view data, const Position& position, std::string& to) const;
  void AppendDelta(std::uint32_t base, std::string_view delta, Piece& piece) const;
  // With the deltas that readers lack.
  Made BeginPieces() const;
  static FleetPart FleetPartFor(Reader& reader, const Made& made, Time now);
  Piece& PieceFor(FleetPart part, const Position& position, Made& made);
  void AppendDecisions(Piece& piece, Made& made) const;

  Fleet& fleet_;
  const DecisionFeed* const decisions_;
  std::atomic<std::size_t> reader_count_{0};
  std::atomic<std::uint32_t> reload_revision_{0};
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Reader> readers_;
  Time pumped_at_{};
  std::uint64_t announced_ = 0;
  std::map<std::string, Numbered, std::less<>> announcements_;  // the newest of each kind
  serving::PieceEncoder encoder_;
};

}  // namespace berth::page
