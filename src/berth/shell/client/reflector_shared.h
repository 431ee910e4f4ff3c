// SPDX-License-Identifier: Apache-2.0
// ReflectorShared: what the lists and the watches of one reflector have in common: its settings, its phases, its store,
// and what the API server has shown of itself. On the loop's thread, with the lock of `phases` held.
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
  static constexpr int kStaleListsMax = 5;  // with the back-off half a minute
  // A missing right is said again so long after it was said first, then ever later; each try meets it.
  static constexpr Duration kForbiddenReminder = std::chrono::minutes(10);
  static constexpr Duration kForbiddenReminderMax = std::chrono::hours(1);

  ReflectorShared(const ReflectorShared&) = delete;
  ReflectorShared& operator=(const ReflectorShared&) = delete;

  // How long to wait after so many failures in a row; not shorter than the server asks for.
  Duration Backoff(int failures, const Error& error);
  // Counts, logs and tells a failure after which the next try begins in `delay`.
  void Report(const Error& error, Duration delay);
  void ReportForbidden(const Error& error);
  void ReportRefusedCredential(const Error& error);
  // A list was whole, or a watch was opened.
  void RecordSuccess();
  // The head of any streamed answer.
  void OnHead(const net::Response& head);
  // A state of this resourceVersion has been seen.
  void RecordVersion(std::string_view version);
  // An error when a list is of an older state than has been seen: a replica that lags behind, which would make deleted
  // objects come back and bound pods pending. After kStaleListsMax in a row it is believed: the cluster may have been
  // restored from a backup.
  Expected<void> CheckListVersion(std::string_view version);
  // After so many lists in a row that are of an older state, the next one is believed whatever it says.
  bool BelievesOlderStates() const { return stale_lists >= kStaleListsMax; }
  void RecordStaleList() { ++stale_lists; }
  // The state that a list must not be older than, for servers that can be asked for it; empty: any.
  std::string VersionToAskFor() const;
  // What can be known of an object in JSON that cannot be read as a whole: its metadata, if that can. The views are
  // valid until `reader` reads again.
  api::ProtobufMeta ReadUnreadable(std::string_view object);
  // The server has not the type of answer that was asked for.
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
  std::uint64_t newest_version = 0;  // that has been seen; 0: none that is a number
  int stale_lists = 0;               // in a row
  Reminder forbidden{kForbiddenReminder, kForbiddenReminderMax};
};

// What is read of an object in JSON before it is decoded. The views are into `object`.
api::ProtobufMeta ReadJsonMeta(const simdjson::dom::element& object);

// The beginning of a text, in one line, for messages.
std::string Shown(std::string_view text);

}  // namespace berth::client
