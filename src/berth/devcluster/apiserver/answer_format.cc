// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/apiserver/answer_format.h"

#include <string>
#include <string_view>
#include <utility>

#include "berth/codec/json.h"
#include "berth/codec/yaml_writer.h"
#include "berth/devcluster/apiserver/rendering.h"
#include "berth/devcluster/apiserver/rest_parameters.h"
#include "berth/shell/net/pretty.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kYaml = "application/yaml";
// A list of the largest cluster.
constexpr std::size_t kAnswerBytesMax = std::size_t{1} << 30;

bool IsJson(const net::Response& response) {
  return !response.body.empty() && response.Get("Content-Type").starts_with(kJson);
}

}  // namespace

bool WantsYaml(const net::Request& request) {
  std::string_view accept = request.Get("Accept");
  while (!accept.empty()) {
    const std::size_t comma = accept.find(',');
    const std::string media = MediaType(accept.substr(0, comma));
    if (media == kYaml) return true;
    if (media == kJson || media == "application/*" || media == "*/*") return false;
    accept.remove_prefix(comma == std::string_view::npos ? accept.size() : comma + 1);
  }
  return false;
}

void FormatAnswer(const net::Request& request, const net::Target& target, net::Response& response) {
  if (!IsJson(response)) return;
  if (WantsYaml(request)) {
    const auto document = codec::ParseJson(response.body, {.bytes_max = kAnswerBytesMax});
    if (!document.ok()) return;
    response.body = codec::WriteYaml(*document);
    for (net::Header& header : response.headers) {
      if (net::EqualsIgnoreCase(header.name, "Content-Type")) header.value = kYaml;
    }
  } else if (net::WantsPretty(request, target)) {
    response.body = PrettyJson(response.body);
  }
}

}  // namespace berth::apiserver
