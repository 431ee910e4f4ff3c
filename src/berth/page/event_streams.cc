// SPDX-License-Identifier: Apache-2.0
#include "berth/page/event_streams.h"

#include <algorithm>
#include <charconv>
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

std::string ReloadData(std::uint32_t revision) {
  return codec::WriteJson(object{{"revision", revision}, {"reload", true}});
}

}  // namespace

bool EventStreams::Add(const std::shared_ptr<net::ResponseWriter>& writer, std::string_view last, Time now,
                       Time time_of_day) {
  const FleetCounts counts = fleet_.counts();
  const std::uint64_t newest = decisions_ == nullptr ? 0 : decisions_->last();
  Reader reader;
  reader.writer = writer;
  reader.is_gone = std::make_shared<std::atomic<bool>>(false);
  const std::optional<LastSeen> seen = ParseId(last);
  const bool is_known = seen && seen->epoch == fleet_.epoch() && seen->revision <= counts.revision;
  reader.revision = is_known ? seen->revision : counts.revision;
  reader.sequence = is_known && seen->sequence <= newest ? seen->sequence : newest;
  reader.needs_reload = !is_known;
  reader.written_at = now;
  const std::lock_guard lock(mutex_);
  std::erase_if(readers_, [](const Reader& other) { return other.is_gone->load(); });
  if (readers_.size() >= kReadersMax) return false;
  net::Response head{200, {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}}, ""};
  head.headers.push_back({"X-Content-Type-Options", "nosniff"});
  AppendEvent(
      "hello",
      codec::WriteJson(
          object{{"epoch", fleet_.epoch()}, {"revision", counts.revision}, {"clock", FormatRfc3339Micro(time_of_day)}}),
      reader, head.body);
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

void EventStreams::Pump(Time now) {
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<Duration::rep>(readers_.size());
  if (now - pumped_at_ < count * Duration(std::chrono::seconds(1)) / kWritesPerSecondMax) return;
  pumped_at_ = now;
  Made made;
  for (Reader& reader : readers_) {
    if (*reader.is_gone) continue;
    if (reader.writer->BufferedBytes() > kUnreadBytesMax) {
      if (!reader.behind_since) reader.behind_since = now;
      if (now - *reader.behind_since < kBehindMax) continue;
      reader.writer->Abort();
      *reader.is_gone = true;
      continue;
    }
    reader.behind_since.reset();
    std::string text = Lacking(reader, made, now);
    if (text.empty() && now - reader.written_at >= kSilenceMax) text = ": alive\n\n";
    if (text.empty()) continue;
    reader.written_at = now;
    if (!reader.writer->Write(text)) *reader.is_gone = true;
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

std::string EventStreams::Id(const Reader& reader) const {
  return std::to_string(fleet_.epoch()) + "-" + std::to_string(reader.revision) + "-" + std::to_string(reader.sequence);
}

void EventStreams::AppendEvent(std::string_view event, std::string_view data, const Reader& reader,
                               std::string& to) const {
  to.append("event: ").append(event).append("\nid: ").append(Id(reader)).append("\ndata: ").append(data).append("\n\n");
}

std::string EventStreams::Lacking(Reader& reader, Made& made, Time now) {
  std::string text;
  AppendFleet(reader, made, now, text);
  AppendDecisions(reader, made, text);
  for (const auto& [event, newest] : announcements_) {
    std::uint64_t& had = reader.had[event];
    if (std::exchange(had, newest.number) != newest.number) AppendEvent(event, newest.data, reader, text);
  }
  return text;
}

const EventStreams::EncodedDelta& EventStreams::DeltaSince(std::uint32_t base, Made& made) {
  const auto [at, is_new] = made.deltas.try_emplace(base);
  if (!is_new) return at->second;
  const auto delta = fleet_.Delta(base);
  if (delta && delta->bytes.size() <= kDeltaBytesMax) {
    at->second.revision = delta->revision;
    at->second.data =
        codec::WriteJson(object{{"revision", delta->revision}, {"base", base}, {"frame", EncodeBase64(delta->bytes)}});
  }
  return at->second;
}

void EventStreams::AppendFleet(Reader& reader, Made& made, Time now, std::string& to) {
  const std::uint32_t revision = fleet_.counts().revision;
  if (!reader.needs_reload) {
    if (reader.revision == revision) return;
    const EncodedDelta& delta = DeltaSince(reader.revision, made);
    if (!delta.data.empty()) {
      reader.revision = delta.revision;
      return AppendEvent("fleet", delta.data, reader, to);
    }
    reader.needs_reload = true;
  }
  if (reader.reloaded_at && now - *reader.reloaded_at < kReloadPause) return;
  reader.needs_reload = false;
  reader.reloaded_at = now;
  reader.revision = revision;
  reload_revision_ = revision;
  AppendEvent("fleet", ReloadData(revision), reader, to);
}

void EventStreams::AppendDecisions(Reader& reader, Made& made, std::string& to) const {
  if (decisions_ == nullptr || decisions_->last() == reader.sequence) return;
  const auto [at, is_new] = made.decisions.try_emplace(reader.sequence);
  EncodedDecisions& encoded = at->second;
  if (is_new) {
    const object list = decisions_->Json(fleet_.epoch(), reader.sequence, kDecisionsMax);
    encoded = {list.at("last").to_number<std::uint64_t>(), codec::WriteJson(list)};
  }
  reader.sequence = encoded.last;
  AppendEvent("decisions", encoded.data, reader, to);
}

}  // namespace berth::page
