// SPDX-License-Identifier: Apache-2.0
// Checks the syntax of names in the API, with upstream's messages. Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::api {

// One message for each reason why the text is invalid; empty if it is valid.
std::vector<std::string> NotDnsLabel(std::string_view text);       // RFC 1123 label: names of containers, namespaces
std::vector<std::string> NotDnsSubdomain(std::string_view text);   // RFC 1123 subdomain: names of most objects
std::vector<std::string> NotQualifiedName(std::string_view text);  // "example.com/name", "name": label keys
std::vector<std::string> NotLabelValue(std::string_view text);
std::vector<std::string> NotPortName(std::string_view text);   // IANA service name
std::vector<std::string> NotConfigKey(std::string_view text);  // a key of a ConfigMap or Secret
std::vector<std::string> NotEnvVarName(std::string_view text);
std::vector<std::string> NotPercent(std::string_view text);  // "25%"

// Whether it is a resource without a domain that a container may request: cpu, memory, ephemeral-storage,
// hugepages-SIZE (IsStandardContainerResourceName).
bool IsContainerResource(std::string_view name);

}  // namespace berth::api
