// What is behind a Reflector. In four sources: reflector.cc (beginning, end, back-off), reflector_list.cc (lists page
// by page), reflector_watch_list.cc (lists that come as a watch) and reflector_watch.cc (watches). For these only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "berth/api/decode_protobuf_frame.h"
#include "berth/base/random.h"
#include "berth/codec/json_reader.h"
#include "berth/shell/client/reflector.h"
#include "berth/shell/client/reflector_store.h"
#include "berth/shell/client/watch_frames.h"

namespace berth::client {

// What is read of an object in JSON before it is decoded. The views are into `object`.
api::ProtobufMeta ReadJsonMeta(const simdjson::dom::element& object);

// The beginning of a text, in one line, for messages.
std::string Shown(std::string_view text);

// Thread-safe as Reflector says. All that is private runs on the loop's thread, under mutex_.
class Reflector::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(RestClient& rest, ReflectorOptions options, Decoders decoders, Handler handler);

  void Start();
  void Stop();
  bool HasSynced() const;
  ObjectPtr Find(std::string_view key) const;
  void ForEach(const std::function<void(const std::string&, const ObjectPtr&)>& visit) const;
  ReflectorStats Stats() const;

 private:
  using Source = ReflectorStore::Source;

  // ---- phases: a list, a watch, or a wait

  // Wraps a callback of the phase that is beginning: it does nothing once another phase has begun.
  template <typename F>
  auto InPhase(F work) {
    return [weak = weak_from_this(), phase = phase_, work = std::move(work)](auto&&... args) {
      const auto self = weak.lock();
      if (!self) return;
      const std::lock_guard lock(self->mutex_);
      if (self->is_stopped_ || self->phase_ != phase) return;
      work(*self, std::forward<decltype(args)>(args)...);
    };
  }

  std::uint64_t BeginPhase();
  bool IsPhase(std::uint64_t phase) const { return !is_stopped_ && phase_ == phase; }

  // The head of any streamed answer.
  void OnHead(const net::Response& head);
  // The server has not the type of answer that was asked for.
  bool IsTypeRefused() const { return status_ == 406 || status_ == 415; }

  Duration Backoff(int failures, const Error& error);
  void Report(const Error& error, Duration delay);
  void After(Duration delay, void (*work)(Impl&));

  // ---- list

  void StartList();
  void StartPages(bool in_pages);
  void RequestPage();
  void StreamPage(net::Request request);
  Expected<void> TakeItem(std::string_view item, std::uint64_t phase);
  void OnPageBytes(std::string_view bytes);
  void OnPageEnd(Expected<void> result);
  void FailPage(const Error& error);
  void OnPage(Expected<net::Response> page);
  void NextPage(bool is_last, std::uint64_t phase);
  Expected<bool> TakePage(const std::string& body, std::uint64_t phase);
  bool FinishList(const std::string& version, std::uint64_t phase);
  bool TellSynced(std::uint64_t phase);
  void MissList(const Error& error);
  void FailList(const Error& error);

  // ---- watch list

  void StreamList();
  void WaitForSilence();
  void TakeInitialEvent(std::string_view type, const Arrival& object);
  void OnInitialEnd(const Expected<void>& result);
  void ListInstead(const std::string& why, bool for_good);

  // ---- watch

  void StartWatch();
  void OpenWatch(bool is_initial);
  net::Request WatchRequest();
  void OnBytes(std::string_view bytes);
  void TakeFrame(std::string_view frame);
  void TakeLine(std::string_view line);
  void TakeEvent(std::string_view type, const Arrival& object, std::string_view shown);
  void OnErrorEvent(std::int64_t code, std::string_view message);
  void OnWatchEnd(Expected<void> result);
  void FailWatch(const Error& error, bool is_garbled);
  void Relist(const Error& error);

  RestClient& rest_;
  EventLoop& loop_;
  const ReflectorOptions options_;
  const Decoders decoders_;
  const Handler handler_;

  // Held while a handler runs, so that Stop() can wait for it; recursive, so that a handler may call Stop() and Find().
  mutable std::recursive_mutex mutex_;
  bool is_stopped_ = false;
  bool is_synced_ = false;
  std::uint64_t phase_ = 0;  // a list, a watch, or a wait; callbacks of earlier ones do nothing
  Random random_;
  codec::JsonReader reader_;
  bool takes_protobuf_;  // until the server shows that it has none
  bool streams_list_;    // until the server shows that it does not
  ReflectorStore store_;

  bool in_pages_ = true;
  int pages_ = 0;
  int page_failures_ = 0;  // of the page that is being streamed
  std::optional<api::ProtobufListReader> list_reader_;
  std::string page_body_;  // of a page that was asked for as protobuf and came as JSON
  std::string continue_;
  std::string resource_version_listed_;
  int list_failures_ = 0;
  bool is_missing_ = false;  // the last list found that the server does not serve the resource

  std::string resource_version_;  // the watch goes on from here
  std::unique_ptr<net::StreamHandle> stream_;
  int status_ = 0;            // of the stream's answer; 0 before it
  bool is_protobuf_ = false;  // the stream's bytes
  bool is_initial_ = false;   // the watch is telling the list
  std::uint64_t initial_events_ = 0;
  WatchFrames frames_;
  bool is_watch_open_ = false;
  bool is_watch_fruitful_ = false;  // it brought an event or a bookmark
  Time watch_opened_at_{};
  int watch_failures_ = 0;
  int garbled_watches_ = 0;
  std::optional<Time> relisted_at_;
  int relist_failures_ = 0;

  std::function<void()> cancel_timer_;
  ReflectorStats stats_;
};

}  // namespace berth::client
