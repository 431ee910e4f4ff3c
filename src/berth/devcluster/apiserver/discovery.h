// SPDX-License-Identifier: Apache-2.0
// The documents by which clients find out what a server offers: group and resource discovery (plain and aggregated),
// version, health, OpenAPI. Pure functions of the path and the Accept header; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/devcluster/apiserver/custom_resources.h"

namespace berth::apiserver {

struct DiscoveryAnswer {
  int status = 200;  // or 404 for an unknown group below /apis/<group>, 406 for a format that is not served
  std::string content_type;
  std::string body;
  std::string etag;  // to be sent as ETag unless empty; with If-None-Match equal to it answer 304
};

// The answer to a GET of `path` (without query; a trailing slash is fine); nullopt when the path is none of: /, /api,
// /apis, /api/v1, /apis/<group>, /apis/<group>/<version>, /version, /openapi/v2, /openapi/v3, /openapi/v3/... The REST
// code asks here first, for GET (and HEAD).
// `accept` is the Accept header; `server_address` ("127.0.0.1:8001") goes into /api, `release_minor` into /version.
std::optional<DiscoveryAnswer> ServeDiscovery(std::string_view path, std::string_view accept,
                                              std::string_view server_address, const CustomCatalog& custom = {},
                                              int release_minor = 36);

// The release whose kinds OpenAPI describes.
inline constexpr std::string_view kGitVersion = "v1.36.0+berth";

}  // namespace berth::apiserver
