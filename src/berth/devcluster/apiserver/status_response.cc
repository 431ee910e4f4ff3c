// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/status_response.h"

#include <utility>

namespace berth::apiserver {

net::Response JsonResponse(int code, std::string body) {
  net::Response response;
  response.status = code;
  response.headers.push_back({"Content-Type", "application/json"});
  response.body = std::move(body);
  return response;
}

net::Response ToResponse(const objects::StatusError& error) {
  net::Response response = JsonResponse(error.code, codec::json::serialize(error.ToObject()));
  if (error.retry_after_seconds > 0) {
    response.headers.push_back({"Retry-After", std::to_string(error.retry_after_seconds)});
  }
  return response;
}

}  // namespace berth::apiserver
