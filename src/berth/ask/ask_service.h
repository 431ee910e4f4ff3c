// SPDX-License-Identifier: Apache-2.0
// AskService: the HTTP API of questions, /ask and below (docs/reference/ask-api.yaml). Whoever serves it (the secure
// port) has found out who asks and that he may. Any thread; does not block.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/ask/desk.h"
#include "berth/shell/net/http_server.h"
#include "berth/shell/net/url.h"
#include "berth/shell/serving/user.h"

namespace berth::ask {

struct AskServiceOptions {
  std::string version;  // of berth
  // Why no question can be answered now; nullopt: all is well.
  std::function<std::optional<std::string>()> problem;
};

class AskService {
 public:
  static constexpr std::string_view kApi = "/ask/v1/";
  // Of a request; a snapshot of 32 MiB in base64 is in it.
  static constexpr std::size_t kBodyBytesMax = std::size_t{44} << 20;
  // Headers of an answer, beside its warnings ("Warning: 299 ...", as the API server's).
  static constexpr std::string_view kVerdictHeader = "Berth-Verdict";
  static constexpr std::size_t kWarningsMax = 50;
  static constexpr std::size_t kWarningBytesMax = 500;

  // `desk` must outlive it.
  AskService(AskServiceOptions options, Desk& desk) : options_(std::move(options)), desk_(desk) {}

  // `path` is decoded, and "/ask" or below it.
  void Handle(const serving::User& user, net::Request request, const net::Target& target, const std::string& path,
              const std::shared_ptr<net::ResponseWriter>& writer);

 private:
  net::Response Index() const;

  const AskServiceOptions options_;
  Desk& desk_;
};

}  // namespace berth::ask
