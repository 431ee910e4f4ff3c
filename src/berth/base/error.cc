// SPDX-License-Identifier: Apache-2.0
#include "berth/base/error.h"

namespace berth {

std::string_view ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return "Invalid";
    case ErrorCode::kUnauthorized: return "Unauthorized";
    case ErrorCode::kForbidden: return "Forbidden";
    case ErrorCode::kNotFound: return "NotFound";
    case ErrorCode::kAlreadyExists: return "AlreadyExists";
    case ErrorCode::kConflict: return "Conflict";
    case ErrorCode::kGone: return "Gone";
    case ErrorCode::kTooLarge: return "RequestEntityTooLarge";
    case ErrorCode::kTooManyRequests: return "TooManyRequests";
    case ErrorCode::kUnavailable: return "Unavailable";
    case ErrorCode::kTimeout: return "Timeout";
    case ErrorCode::kCancelled: return "Cancelled";
    case ErrorCode::kInternal: return "InternalError";
    case ErrorCode::kDeniedByAdmission: return "DeniedByAdmission";
  }
  return "InternalError";
}

Error Error::Wrap(std::string_view doing) const& {
  Error wrapped = *this;
  wrapped.message = std::string(doing) + ": " + message;
  return wrapped;
}

}  // namespace berth
