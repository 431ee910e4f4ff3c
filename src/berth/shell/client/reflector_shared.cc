// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/reflector_shared.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "berth/base/backoff.h"
#include "berth/base/log.h"
#include "berth/codec/json_slices.h"

namespace berth::client {
namespace {

constexpr std::size_t kShownLineMax = 80;

// 0 if the version is no number: servers other than kube-apiserver may use anything.
std::uint64_t VersionNumber(std::string_view version) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(version.data(), version.data() + version.size(), number);
  return problem == std::errc() && end == version.data() + version.size() ? number : 0;
}

api::ProtobufMeta ReadJsonMetadata(const simdjson::dom::element& metadata) {
  api::ProtobufMeta meta;
  meta.name = codec::StringOrEmpty(metadata, "name");
  meta.namespace_name = codec::StringOrEmpty(metadata, "namespace");
  meta.uid = codec::StringOrEmpty(metadata, "uid");
  meta.resource_version = codec::StringOrEmpty(metadata, "resourceVersion");
  if (const auto annotations = codec::FindMember(metadata, "annotations")) {
    meta.has_initial_events_end = codec::StringOrEmpty(*annotations, "k8s.io/initial-events-end") == "true";
  }
  return meta;
}

bool IsProtobuf(const net::Response& head) { return head.Get("Content-Type").starts_with(api::kProtobufMediaType); }

}  // namespace

ReflectorShared::ReflectorShared(RestClient& rest_client, ReflectorOptions reflector_options,
                                 Reflector::Decoders object_decoders, Reflector::Handler change_handler)
    : rest(rest_client),
      loop(rest.loop()),
      options(std::move(reflector_options)),
      decoders(std::move(object_decoders)),
      handler(std::move(change_handler)),
      phases(loop),
      store(options, decoders, handler, loop, phases.is_stopped()),
      random(options.seed),
      takes_protobuf(rest.options().takes_protobuf && decoders.protobuf) {}

Duration ReflectorShared::Backoff(int failures, const Error& error) {
  const Duration base = Doubled(options.backoff_min, options.backoff_max, failures);
  const Duration wait = base + Duration(random.Below(static_cast<std::uint64_t>(base.count()) + 1));
  const Duration asked = std::min<Duration>(std::chrono::milliseconds(error.retry_after_ms), kRetryAfterMax);
  return std::max(std::min(wait, options.backoff_max), asked);
}

void ReflectorShared::Report(const Error& error, Duration delay) {
  ++stats.failures;
  stats.failure = error;
  if (error.code == ErrorCode::kForbidden || error.code == ErrorCode::kUnauthorized) {
    if (error.code == ErrorCode::kForbidden) {
      ReportForbidden(error);
    } else {
      ReportRefusedCredential(error);
    }
    if (handler.on_failure) handler.on_failure(error);
    return;
  }
  // An API server without an answer affects all kinds of objects alike, and is logged once.
  const bool is_away = error.code == ErrorCode::kUnavailable && status < 300;
  const std::string lead = is_away ? "The API server is away, all watches go on when it is back: " : "";
  if (!is_away || rest.BeginOutage()) {
    log::Warning("client", lead + error.message, {{"resource", options.name}, {"retry_in", FormatGoDuration(delay)}});
  }
  if (handler.on_failure) handler.on_failure(error);
}

// Every try fails until somebody grants the right, so the log line comes ever more seldom.
void ReflectorShared::ReportForbidden(const Error& error) {
  const auto times = forbidden.Record(loop.Now());
  if (!times) return;
  log::Warning("client", "The API server does not let us list and watch this kind: grant the verbs list and watch",
               {{"resource", options.name},
                {"path", options.path},
                {"err", error.message},
                {"times", *times},
                {"retry_in", "at most " + FormatGoDuration(options.backoff_max)}});
}

// A refused credential affects all kinds of objects alike, and is logged by one of them.
void ReflectorShared::ReportRefusedCredential(const Error& error) {
  const auto times = rest.RecordRefusedCredential();
  if (!times) return;
  log::Warning(
      "client", "The API server does not know us: lists and watches go on when it does",
      {{"err", error.message}, {"times", *times}, {"retry_in", "at most " + FormatGoDuration(options.backoff_max)}});
}

void ReflectorShared::RecordSuccess() {
  stats.failure.reset();
  if (!forbidden.End()) return;
  log::Info("client", "The API server lets us read this kind now", {{"resource", options.name}});
}

void ReflectorShared::OnHead(const net::Response& head) {
  status = head.status;
  is_protobuf = takes_protobuf && IsProtobuf(head);
}

void ReflectorShared::RecordVersion(std::string_view version) {
  newest_version = std::max(newest_version, VersionNumber(version));
}

api::ProtobufMeta ReflectorShared::ReadUnreadable(std::string_view object) {
  const auto metadata = codec::FindSlice(object, "metadata");
  if (!metadata) return {};
  const auto read = reader.Parse(*metadata);
  if (read.ok()) return ReadJsonMetadata(*read);
  // The metadata cannot be parsed either, since managedFields are as deep as the object. The names in it are plain
  // text.
  api::ProtobufMeta meta;
  const auto members = codec::SliceObject(*metadata);
  if (!members) return meta;
  for (const codec::JsonSlice& member : *members) {
    if (member.key == "name") meta.name = codec::PlainText(member.value);
    if (member.key == "namespace") meta.namespace_name = codec::PlainText(member.value);
    if (member.key == "uid") meta.uid = codec::PlainText(member.value);
    if (member.key == "resourceVersion") meta.resource_version = codec::PlainText(member.value);
  }
  return meta;
}

Expected<void> ReflectorShared::CheckListVersion(std::string_view version) {
  const std::uint64_t number = VersionNumber(version);
  if (number == 0 || number >= newest_version) {
    stale_lists = 0;
    return {};
  }
  if (!BelievesOlderStates()) {
    RecordStaleList();
    return Error{ErrorCode::kUnavailable, "the list is of resourceVersion " + std::string(version) + ", but " +
                                              std::to_string(newest_version) +
                                              " has been seen: a replica lags behind, or the cluster was set back"};
  }
  log::Warning("client", "The cluster was set back to an earlier state",
               {{"resource", options.name}, {"seen", newest_version}, {"now", version}});
  newest_version = number;
  stale_lists = 0;
  return {};
}

std::string ReflectorShared::VersionToAskFor() const {
  return newest_version == 0 || BelievesOlderStates() ? std::string() : std::to_string(newest_version);
}

api::ProtobufMeta ReadJsonMeta(const simdjson::dom::element& object) {
  const auto metadata = codec::FindMember(object, "metadata");
  return metadata ? ReadJsonMetadata(*metadata) : api::ProtobufMeta();
}

std::string Shown(std::string_view text) {
  std::string line(text.substr(0, kShownLineMax));
  std::replace_if(line.begin(), line.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
  return line;
}

}  // namespace berth::client
