// SPDX-License-Identifier: Apache-2.0
// OpenAPI documents of the served types, generated from the schema tables: enough for kubectl's explain, apply, create
// and its check that the server validates fields. Each document is made when first asked for and kept. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace berth::apiserver {

// Swagger 2.0 of everything, as JSON.
const std::string& OpenApiV2();
// The same as kubectl asks for it, which takes nothing else.
const std::string& OpenApiV2Protobuf();

// OpenAPI 3.0 of one group and version ("" and "v1" for core); empty when it is not served.
const std::string& OpenApiV3(std::string_view group, std::string_view version);

// The list of OpenAPI 3.0 documents with their addresses.
const std::string& OpenApiV3Index();

// Differs between builds whose documents differ; clients cache by it.
const std::string& OpenApiHash();

}  // namespace berth::apiserver
