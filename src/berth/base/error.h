// SPDX-License-Identifier: Apache-2.0
// Error: failures of the outside world (network, JSON, configuration, API conflicts). A refusal by a plugin is a
// framework::Status; a bug is a BERTH_CHECK.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

// Follows the reasons of the Kubernetes API, so that callers can act on a code instead of parsing a message.
enum class ErrorCode : std::uint8_t {
  kInvalid,          // malformed or rejected input: bytes, configuration, an object (HTTP 400, 422)
  kUnauthorized,     // 401
  kForbidden,        // 403
  kNotFound,         // 404
  kAlreadyExists,    // 409, reason AlreadyExists
  kConflict,         // 409, reason Conflict
  kGone,             // 410: a resourceVersion or continue token has expired
  kTooLarge,         // 413, or a limit of berth's own
  kTooManyRequests,  // 429
  kUnavailable,      // connection refused, closed or reset; 5xx; TLS failure
  kTimeout,          // no response in time, or 504
  kCancelled,        // cancelled by us, as at shutdown
  kInternal,         // unexpected: a bug on either side
  // From the API server, with any status: an admission webhook or policy denied the request, or a webhook could not be
  // called. Nothing was stored.
  kDeniedByAdmission,
};

// The code's name as it appears in logs, for example "NotFound".
std::string_view ToString(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one line: what failed, where, and what would be valid
  // True when a request may have taken effect although there was no response.
  bool outcome_unknown = false;
  // Milliseconds that the server asked to wait (Retry-After); 0: none.
  std::int64_t retry_after_ms = 0;

  // The error with context in front: "while reading config.yaml: line 3: ...".
  [[nodiscard]] Error Wrap(std::string_view doing) const&;
};

inline Error InvalidError(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

}  // namespace berth
