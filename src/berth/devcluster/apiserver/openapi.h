// SPDX-License-Identifier: Apache-2.0
// OpenAPI documents of the served types, generated from the schema tables: enough for kubectl's explain, apply, create
// and its check that the server validates fields. Each document is made when first asked for and kept. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "berth/devcluster/apiserver/custom_resources.h"

namespace berth::apiserver {

// Swagger 2.0 of everything, as JSON.
std::shared_ptr<const std::string> OpenApiV2(const CustomCatalog& custom = {});
// The document of version 2.0 in protobuf, which is the only form that kubectl takes.
std::shared_ptr<const std::string> OpenApiV2Protobuf(const CustomCatalog& custom = {});

// OpenAPI 3.0 of one group and version ("" and "v1" for core); empty when it is not served.
std::string OpenApiV3(const CustomCatalog& custom, std::string_view group, std::string_view version);

// The list of OpenAPI 3.0 documents with their addresses.
std::string OpenApiV3Index(const CustomCatalog& custom = {});

// Differs between builds whose documents differ; clients cache by it.
const std::string& OpenApiHash();

}  // namespace berth::apiserver
