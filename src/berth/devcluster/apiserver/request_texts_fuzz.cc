// SPDX-License-Identifier: Apache-2.0
// The small texts of requests: field and label selectors, continue tokens, media types. What is understood can be
// written and is understood as the same; errors can be sent.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "berth/base/check.h"
#include "berth/base/utf8.h"
#include "berth/devcluster/apiserver/rest_parameters.h"
#include "berth/devcluster/apiserver/status_response.h"
#include "berth/devcluster/objects/rows/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  using namespace berth::apiserver;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!IsValidUtf8(text)) return 0;  // refused before
  static const std::vector<objects::ResourceType>& types = objects::ResourceTypes();
  const auto check = [](const objects::StatusError& error) {
    BERTH_CHECK(error.code >= 400 && error.code < 500, error.code);
    BERTH_CHECK(codec::ParseJson(apiserver::ToResponse(error).body).ok());
  };

  const objects::ResourceType& type = types[size % types.size()];
  const auto fields = ParseFieldSelector(text, type);
  if (!fields.ok()) check(fields.error());
  const auto labels = ParseLabels(text);
  if (!labels.ok()) check(labels.error());
  if (fields.ok() && labels.ok()) {
    Selector selector;
    selector.fields = *fields;
    selector.labels = *labels;
    objects::StoredObject object;
    object.key = "default/a";
    object.name_begin = 8;
    object.labels = api::StringMap({{"a", "b"}});
    object.fields.resize(type.selectable_fields.size());
    (void)selector.Matches(object);
    (void)selector.SingleName();
  }

  const auto token = DecodeContinueToken(text);
  if (token.ok()) {
    const auto again = DecodeContinueToken(EncodeContinueToken(*token));
    BERTH_CHECK(again.ok());
    BERTH_CHECK(again->resource_version == token->resource_version && again->after_key == token->after_key);
  } else {
    check(token.error());
  }
  (void)objects::NegotiateRepresentation(text);
  return 0;
}
