// SPDX-License-Identifier: Apache-2.0
// Reflector: keeps a copy of one kind of object: lists it, watches for changes, and tells a handler what came, changed
// and went. Type-erased; use Informer<T> (informer.h).
//
//            list            end of list        connection lost, timeout, garbage: back-off, same resourceVersion
//   start -> listing ----------------------> watching <---+
//               ^  \--> back-off, again         |  |       |
//               |                               |  +-------+
//               +------- 410 Gone, ERROR -------+
//
// A kind that the server does not serve (404) is listed again slowly; with may_be_missing it counts as synced
// meanwhile.
//
// The list comes in one of three ways. With `streams_list`, as the beginning of the watch (WatchList:
// sendInitialEvents, up to the bookmark that says it is whole); a server that refuses that, or ends it early, is asked
// for lists from then on. A list in protobuf is decoded while it arrives, object by object, in large pages; one in JSON
// page by page. All are asked for without a resourceVersion: a consistent read. client-go begins its lists with
// resourceVersion=0, any state that the server has cached; a scheduler that starts from an old state may give room away
// twice.
//
// Protobuf is asked for where the client's options and a decoder allow it; the answer's Content-Type says what came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/expected.h"
#include "berth/base/time.h"
#include "berth/shell/client/rest_client.h"

namespace simdjson::dom {
class element;
}

namespace berth::client {

struct ReflectorOptions {
  std::string name;  // for logs: "pods"
  std::string path;  // "/api/v1/pods"
  std::string label_selector;
  std::string field_selector;
  int page_size = 500;
  int streamed_page_size = 5000;  // of lists that are decoded while they arrive; each page needs a connection
  bool streams_list = false;      // try WatchList first
  Duration streamed_list_silence = std::chrono::seconds(30);  // a streamed list is given up after this silence
  // False: the store keeps only versions, to tell changes from repetitions. Find() then returns null, on_update gets no
  // `before`, and on_gone is called in place of on_delete.
  bool keeps_objects = true;
  Duration backoff_min =
      std::chrono::milliseconds(800);               // doubles up to the maximum; each wait is 1 to 2 times as long
  Duration backoff_max = std::chrono::seconds(30);  // jitter included
  // The server ends a watch after a random time between these two.
  Duration watch_min = std::chrono::minutes(5);
  Duration watch_max = std::chrono::minutes(10);
  std::size_t line_bytes_max = std::size_t{16} << 20;  // of a watch event; a longer one makes us list again
  std::size_t list_bytes_max = std::size_t{1} << 30;   // of one page, or of the whole list where pages are refused
  std::uint64_t seed = 1;                              // of the jitter
  // A server that does not serve the resource counts as one that has no such objects, and not as one that fails.
  bool may_be_missing = false;
  Duration missing_retry = std::chrono::minutes(1);  // each wait is 1 to 2 times as long
};

struct ReflectorStats {
  std::uint64_t lists = 0;  // completed
  std::uint64_t pages = 0;
  std::uint64_t streamed_lists = 0;  // of the lists, those that came as a watch
  std::uint64_t watches = 0;         // opened
  std::uint64_t events = 0;          // that changed the store
  std::uint64_t bookmarks = 0;
  std::uint64_t failures = 0;  // lists and watches that failed
  std::uint64_t decode_failures = 0;
  std::size_t objects = 0;
  std::size_t set_aside = 0;  // objects whose newest version does not decode
  // Why the latest list or watch failed; nullopt after a complete list or an opened watch.
  std::optional<Error> failure;
};

class Reflector {
 public:
  using ObjectPtr = std::shared_ptr<const void>;
  struct Decoders {
    std::function<Expected<ObjectPtr>(const simdjson::dom::element& object)> json;
    std::function<Expected<ObjectPtr>(std::string_view message)> protobuf;  // without its envelope; null: JSON only
  };
  // Names an object that was deleted.
  struct Identity {
    std::string_view namespace_name;
    std::string_view name;
    std::string_view uid;
  };

  // Called on the loop's thread, in order.
  struct Handler {
    std::function<void(const ObjectPtr& object)> on_add;
    std::function<void(const ObjectPtr& before, const ObjectPtr& object)> on_update;
    std::function<void(const ObjectPtr& last_known)> on_delete;
    std::function<void(const Identity& gone)> on_gone;  // as on_delete and before it, without the object
    std::function<void()> on_synced;  // once, after the first whole list, or when the kind turns out to be missing
    std::function<void(const Error&)> on_failure;  // a list or watch failed and will be tried again; it was logged
  };

  // `rest` must outlive it.
  Reflector(RestClient& rest, ReflectorOptions options, Decoders decoders, Handler handler);
  ~Reflector();  // Stop()
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Any thread. Start once.
  void Start();
  // Lists again at once, even if a list is under way, and calls `on_fresh` once, on the loop's thread, when the handler
  // has seen all changes before this call. Any thread, after Start(). A second call replaces an `on_fresh` that is
  // still to be called.
  void Refresh(std::function<void()> on_fresh);
  // No handler is called after it returns; it waits for one under way unless called from it.
  void Stop();

  bool HasSynced() const;
  // "namespace/name", or "name" for objects without a namespace. Null when unknown.
  ObjectPtr Find(std::string_view key) const;
  void ForEach(const std::function<void(const std::string& key, const ObjectPtr& object)>& visit) const;
  ReflectorStats Stats() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::client
