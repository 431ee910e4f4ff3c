// SPDX-License-Identifier: Apache-2.0
// What a request says beside its path: media types, body, query parameters. Pure functions, any thread; what does not
// parse is a Status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/devcluster/apiserver/registry.h"
#include "berth/devcluster/apiserver/rendering.h"
#include "berth/devcluster/apiserver/selectors.h"
#include "berth/shell/net/transport.h"
#include "berth/shell/net/url.h"

namespace berth::apiserver {

namespace json = codec::json;

inline constexpr std::size_t kBodyBytesMax = std::size_t{3} << 20;  // as kube-apiserver
inline constexpr std::string_view kBodyMediaTypes =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

// A media type without its parameters, in lower case.
std::string MediaType(std::string_view header);

// The body as an object, from JSON, YAML or protobuf by its media type (JSON when there is none). 413, 415, 400.
objects::Outcome<json::object> DecodeObject(std::string_view body, std::string_view media_type,
                                            const json::storage_ptr& storage = {});

// Parses JSON of a given media type that has its own Content-Type (patches).
objects::Outcome<json::value> DecodeJson(std::string_view text, const json::storage_ptr& storage = {});

// A parameter that is true or false, or not there.
objects::Outcome<std::optional<bool>> BoolParameter(const net::Target& target, std::string_view name);

// How the answer is rendered, from the Accept header and includeObject; 406.
objects::Outcome<Rendering> NegotiateRendering(const net::Request& request, const net::Target& target,
                                               const objects::ServedType& served, Time now);

struct ListParameters {
  Selector selector;
  std::size_t limit = 0;  // 0: all
  std::optional<std::int64_t> resource_version;
  std::string match;  // resourceVersionMatch
  std::string continue_token;
  bool is_watch = false;
  bool has_bookmarks = false;
  std::optional<bool> sends_initial_events;
  std::optional<Duration> timeout;
};
objects::Outcome<ListParameters> ParseListParameters(const net::Target& target, const objects::ServedType& served,
                                                     std::string_view namespace_name);

// dryRun, fieldValidation and fieldManager; without the last, the writer is called as its User-Agent begins.
objects::Outcome<objects::WriteOptions> ParseWriteOptions(const net::Request& request, const net::Target& target,
                                                          std::string_view kind);

// Bytes of a field manager's name, as upstream.
inline constexpr std::size_t kFieldManagerBytesMax = 128;

// The options of a deletion, from the body (DeleteOptions) and the query; the body wins.
objects::Outcome<DeleteOptions> ParseDeleteOptions(std::string_view body, std::string_view media_type,
                                                   const net::Target& target);
objects::Outcome<DeleteOptions> ReadDeleteOptions(const json::object& body);

// Where the next page of a list begins.
struct ContinueToken {
  std::int64_t resource_version = 0;  // -1: whatever is now
  std::string after_key;
};
std::string EncodeContinueToken(const ContinueToken& token);
objects::Outcome<ContinueToken> DecodeContinueToken(std::string_view text);

}  // namespace berth::apiserver
