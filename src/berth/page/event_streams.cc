// SPDX-License-Identifier: Apache-2.0
#include "berth/page/event_streams.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "berth/base/base64.h"
#include "berth/base/text.h"
#include "berth/codec/json.h"

namespace berth::page {

using codec::json::object;

namespace {

struct LastSeen {
  std::uint32_t epoch = 0;
  std::uint32_t revision = 0;
  std::uint64_t sequence = 0;
};

template <typename Number>
bool Parse(std::string_view text, Number& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size();
}

// "EPOCH-REVISION-SEQUENCE"; nullopt: it is none.
std::optional<LastSeen> ParseId(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '-');
  LastSeen last;
  if (parts.size() != 3 || !Parse(parts[0], last.epoch) || !Parse(parts[1], last.revision) ||
      !Parse(parts[2], last.sequence))
    return std::nullopt;
  return last;
}

// Of a piece beside its delta: the newest decisions, and what waits.
constexpr std::size_t kOtherBytesUsual = std::size_t{32} << 10;

std::string ReloadData(std::uint32_t revision) {
  return codec::WriteJson(object{{"revision", revision}, {"reload", true}});
}

}  // namespace

bool EventStreams::Add(const std::shared_ptr<net::ResponseWriter>& writer, std::string_view last,
                       serving::ContentCoding coding, Time now, Time time_of_day) {
  const FleetCounts counts = fleet_.counts();
  const std::uint64_t newest = decisions_ == nullptr ? 0 : decisions_->last();
  Reader reader;
  reader.writer = writer;
  reader.is_gone = std::make_shared<std::atomic<bool>>(false);
  reader.coding = coding;
  const std::optional<LastSeen> seen = ParseId(last);
  const bool is_known = seen && seen->epoch == fleet_.epoch() && seen->revision <= counts.revision;
  reader.position.revision = is_known ? seen->revision : counts.revision;
  reader.position.sequence = is_known && seen->sequence <= newest ? seen->sequence : newest;
  reader.needs_reload = !is_known;
  reader.written_at = now;
  const std::lock_guard lock(mutex_);
  std::erase_if(readers_, [](const Reader& other) { return other.is_gone->load(); });
  if (readers_.size() >= kReadersMax) return false;
  net::Response head{200, {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}}, ""};
  head.headers.push_back({"X-Content-Type-Options", "nosniff"});
  std::string hello;
  AppendEvent(
      "hello",
      codec::WriteJson(
          object{{"epoch", fleet_.epoch()}, {"revision", counts.revision}, {"clock", FormatRfc3339Micro(time_of_day)}}),
      reader.position, hello);
  serving::SetEncodedBody(coding, std::string(serving::PieceEncoder::Head(coding)) + encoder_.Encode(coding, hello),
                          head);
  writer->OnClosed([gone = reader.is_gone] { *gone = true; });
  readers_.push_back(std::move(reader));
  reader_count_ = readers_.size();
  writer->StartStream(std::move(head));
  return true;
}

void EventStreams::Announce(Announcement announcement) {
  const std::lock_guard lock(mutex_);
  announcements_[announcement.event] = {++announced_, std::move(announcement.data)};
}

bool EventStreams::IsDue(Time now) const {
  const std::lock_guard lock(mutex_);
  return IsDueNow(now);
}

bool EventStreams::IsDueNow(Time now) const {
  const auto count = static_cast<Duration::rep>(readers_.size());
  return count > 0 && now - pumped_at_ >= count * Duration(std::chrono::seconds(1)) / kWritesPerSecondMax;
}

void EventStreams::Pump(Time now) {
  const std::lock_guard lock(mutex_);
  if (!IsDueNow(now)) return;
  pumped_at_ = now;
  std::size_t unread = 0;
  for (Reader& reader : readers_) unread += CheckBehind(reader, now);
  Made made = BeginPieces();
  for (Reader& reader : readers_) {
    if (*reader.is_gone || reader.behind_since) continue;
    const FleetPart part = FleetPartFor(reader, made, now);
    Piece& piece = PieceFor(part, reader.position, made);
    if (piece.text.empty()) {
      if (now - reader.written_at < kSilenceMax) continue;
      piece.text = ": alive\n\n";  // others that lack nothing get it as well
    }
    const auto [encoded, is_first] = piece.encoded.try_emplace(reader.coding);
    if (is_first) encoded->second = encoder_.Encode(reader.coding, piece.text);
    if (unread + encoded->second.size() > kUnreadBytesOfAllMax) {
      reader.needs_reload |= part == FleetPart::kReload;
      continue;
    }
    unread += encoded->second.size();
    reader.position = piece.next;
    reader.written_at = now;
    if (!reader.writer->Write(encoded->second)) *reader.is_gone = true;
  }
  std::erase_if(readers_, [](const Reader& reader) { return reader.is_gone->load(); });
  reader_count_ = readers_.size();
}

void EventStreams::EndAll() {
  const std::lock_guard lock(mutex_);
  for (Reader& reader : readers_) {
    if (!reader.is_gone->exchange(true)) reader.writer->End();
  }
  readers_.clear();
  reader_count_ = 0;
}

std::size_t EventStreams::CheckBehind(Reader& reader, Time now) {
  if (*reader.is_gone) return 0;
  const std::size_t unread = reader.writer->BufferedBytes();
  if (unread <= kUnreadBytesMax) {
    reader.behind_since.reset();
    return unread;
  }
  if (!reader.behind_since) reader.behind_since = now;
  if (now - *reader.behind_since < kBehindMax) return unread;
  reader.writer->Abort();
  *reader.is_gone = true;
  return 0;
}

EventStreams::Made EventStreams::BeginPieces() const {
  std::set<std::uint32_t> bases;
  for (const Reader& reader : readers_) {
    if (!*reader.is_gone && !reader.behind_since && !reader.needs_reload) bases.insert(reader.position.revision);
  }
  Fleet::Deltas deltas = fleet_.DeltasSince(bases);
  Made made;
  made.revision = deltas.revision;
  for (auto& [base, delta] : deltas.since) {
    if (delta.size() <= kDeltaBytesMax) made.deltas.emplace(base, std::move(delta));
  }
  return made;
}

std::string EventStreams::Id(const Position& position) const {
  return std::to_string(fleet_.epoch()) + "-" + std::to_string(position.revision) + "-" +
         std::to_string(position.sequence);
}

void EventStreams::BeginEvent(std::string_view event, const Position& position, std::string& to) const {
  to.append("event: ").append(event).append("\nid: ").append(Id(position)).append("\ndata: ");
}

void EventStreams::AppendEvent(std::string_view event, std::string_view data, const Position& position,
                               std::string& to) const {
  BeginEvent(event, position, to);
  to.append(data).append("\n\n");
}

// It is most of a piece, and is written where it belongs at once.
void EventStreams::AppendDelta(std::uint32_t base, std::string_view delta, Piece& piece) const {
  piece.text.reserve(delta.size() / 3 * 4 + kOtherBytesUsual);
  BeginEvent("fleet", piece.next, piece.text);
  piece.text.append(R"({"revision":)").append(std::to_string(piece.next.revision));
  piece.text.append(R"(,"base":)").append(std::to_string(base)).append(R"(,"frame":")");
  AppendBase64(delta, piece.text);
  piece.text.append("\"}\n\n");
}

EventStreams::FleetPart EventStreams::FleetPartFor(Reader& reader, const Made& made, Time now) {
  if (!reader.needs_reload) {
    if (reader.position.revision == made.revision) return FleetPart::kNone;
    if (made.deltas.contains(reader.position.revision)) return FleetPart::kDelta;
    reader.needs_reload = true;
  }
  if (reader.reloaded_at && now - *reader.reloaded_at < kReloadPause) return FleetPart::kNone;
  reader.needs_reload = false;
  reader.reloaded_at = now;
  return FleetPart::kReload;
}

EventStreams::Piece& EventStreams::PieceFor(FleetPart part, const Position& position, Made& made) {
  const auto [at, is_new] = made.pieces.try_emplace({part, position});
  Piece& piece = at->second;
  if (!is_new) return piece;
  piece.next = position;
  if (part != FleetPart::kNone) piece.next.revision = made.revision;
  if (part == FleetPart::kDelta) {
    AppendDelta(position.revision, made.deltas.at(position.revision), piece);
  } else if (part == FleetPart::kReload) {
    reload_revision_ = made.revision;
    AppendEvent("fleet", ReloadData(made.revision), piece.next, piece.text);
  }
  AppendDecisions(piece, made);
  piece.next.announcement = announced_;
  for (const auto& [event, newest] : announcements_) {
    if (newest.number > position.announcement) AppendEvent(event, newest.data, piece.next, piece.text);
  }
  return piece;
}

void EventStreams::AppendDecisions(Piece& piece, Made& made) const {
  if (decisions_ == nullptr || decisions_->last() == piece.next.sequence) return;
  const auto [at, is_new] = made.decisions.try_emplace(piece.next.sequence);
  DecisionFeed::List& encoded = at->second;
  if (is_new) encoded = decisions_->Since(fleet_.epoch(), piece.next.sequence, kDecisionsMax);
  piece.next.sequence = encoded.last;
  AppendEvent("decisions", encoded.json, piece.next, piece.text);
}

}  // namespace berth::page
