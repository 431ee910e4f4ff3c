// SPDX-License-Identifier: Apache-2.0
// Fields of a question's JSON, read one by one. Errors are one line that names the field and says what it should be.
// Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/expected.h"
#include "berth/codec/json.h"
#include "berth/whatif/manifests.h"

namespace berth::ask {

// Files of manifests in one question.
inline constexpr std::size_t kFilesMax = 1'000;

// What every question may bring along beside its fields: the text of a KubeSchedulerConfiguration to decide by.
inline constexpr std::string_view kConfiguration = "configuration";
inline constexpr std::size_t kConfigurationBytesMax = std::size_t{256} << 10;
// Profiles of such a configuration: each is as large as a scheduler's.
inline constexpr std::size_t kOwnProfilesMax = 100;

Error WrongField(std::string_view field, std::string_view want);
// A node that the question names and that is not there is a fault of the question, not of the path.
Error OfQuestion(Error error);
// The body itself.
Expected<const codec::json::object*> ObjectOf(const codec::json::value& body);
// Fields that a question does not have are a mistake of who asks.
Expected<void> CheckFields(const codec::json::object& of, std::initializer_list<std::string_view> known);

// Where the field is missing: empty, `otherwise` or nullopt.
Expected<std::string> TextIn(const codec::json::object& of, std::string_view field);
Expected<bool> FlagIn(const codec::json::object& of, std::string_view field);
Expected<std::size_t> NumberIn(const codec::json::object& of, std::string_view field, std::size_t otherwise,
                               std::size_t max);
Expected<std::optional<std::size_t>> NumberIfIn(const codec::json::object& of, std::string_view field, std::size_t max);
// From 0 to 1.
Expected<double> ShareIn(const codec::json::object& of, std::string_view field, double otherwise);
Expected<std::vector<std::string>> TextsIn(const codec::json::object& of, std::string_view field);

// Takes kConfiguration out of the body; empty: there is none. kTooLarge: it has more bytes than it may.
Expected<std::string> TakeConfiguration(codec::json::object& body);

// "manifests", a text, and "files", an array of {"name", "text"}.
Expected<std::vector<whatif::ManifestFile>> ManifestsIn(const codec::json::object& of);
codec::json::array FilesJson(const std::vector<whatif::ManifestFile>& files);

}  // namespace berth::ask
