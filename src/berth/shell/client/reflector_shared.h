// SPDX-License-Identifier: Apache-2.0
// ReflectorShared: what lists and watches of one reflector have in common: settings, phases, the store, and what is
// known of the API server. On the loop's thread, with the lock of `phases` held.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "berth/base/random.h"
#include "berth/codec/json_reader.h"
#include "berth/shell/client/reflector.h"
#include "berth/shell/client/reflector_phases.h"
#include "berth/shell/client/reflector_store.h"
#include "berth/shell/client/reminder.h"

namespace berth::client {

struct ReflectorShared {
  ReflectorShared(RestClient& rest_client, ReflectorOptions reflector_options, Reflector::Decoders object_decoders,
                  Reflector::Handler change_handler);
  static constexpr int kStaleListsMax = 5;  // which takes half a minute, with the back-off
  // When a missing right is logged again: each try meets it.
  static constexpr Duration kForbiddenReminder = std::chrono::minutes(10);
  static constexpr Duration kForbiddenReminderMax = std::chrono::hours(1);

  ReflectorShared(const ReflectorShared&) = delete;
  ReflectorShared& operator=(const ReflectorShared&) = delete;

  // The wait after this many failures in a row. It is not shorter than the server asks for.
  Duration Backoff(int failures, const Error& error);
  // Counts a failure, logs it and calls the handler. The next try begins after `delay`.
  void Report(const Error& error, Duration delay);
  void ReportForbidden(const Error& error);
  void ReportRefusedCredential(const Error& error);
  // To be called when a list is complete or a watch was opened.
  void RecordSuccess();
  // To be called with the head of each streamed answer.
  void OnHead(const net::Response& head);
  // Remembers the newest resourceVersion that was seen.
  void RecordVersion(std::string_view version);
  // An error if the list is older than a state that was seen. It then comes from a replica that lags behind, and would
  // make deleted objects come back and bound pods pending. After kStaleListsMax such lists in a row the next one is
  // accepted: the cluster may have been restored from a backup.
  Expected<void> CheckListVersion(std::string_view version);
  // Whether the next list is accepted even if it is older.
  bool BelievesOlderStates() const { return stale_lists >= kStaleListsMax; }
  void RecordStaleList() { ++stale_lists; }
  // The resourceVersion that the next list must not be older than, for the request; empty: any.
  std::string VersionToAskFor() const;
  // The metadata of an object in JSON that cannot be parsed as a whole, as far as it can be read. The views are valid
  // until `reader` reads again.
  api::ProtobufMeta ReadUnreadable(std::string_view object);
  // Whether the server does not have the content type that was asked for.
  bool IsTypeRefused() const { return status == 406 || status == 415; }

  RestClient& rest;
  EventLoop& loop;
  const ReflectorOptions options;
  const Reflector::Decoders decoders;
  const Reflector::Handler handler;
  ReflectorPhases phases;
  ReflectorStore store;
  ReflectorStats stats;
  Random random;
  codec::JsonReader reader;
  bool takes_protobuf;               // until the server shows that it has none
  int status = 0;                    // of the answer that is being streamed; 0 before it
  bool is_protobuf = false;          // the bytes of that answer
  std::uint64_t newest_version = 0;  // the newest that was seen; 0: none that is a number
  int stale_lists = 0;               // in a row
  Reminder forbidden{kForbiddenReminder, kForbiddenReminderMax};
};

// The metadata of an object in JSON, which is read before decoding. The views are into `object`.
api::ProtobufMeta ReadJsonMeta(const simdjson::dom::element& object);

// The beginning of a text, in one line, for messages.
std::string Shown(std::string_view text);

}  // namespace berth::client
