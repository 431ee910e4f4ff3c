// SPDX-License-Identifier: Apache-2.0
#include "berth/ask/question_fields.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "berth/base/text.h"

namespace berth::ask {

using codec::json::array, codec::json::object, codec::json::value;

namespace {

// What the manifests of a question are called in messages.
constexpr std::string_view kManifests = "manifests";

}  // namespace

Error WrongField(std::string_view field, std::string_view want) {
  return InvalidError(std::string(field) + " should be " + std::string(want));
}

Error OfQuestion(Error error) {
  if (error.code == ErrorCode::kNotFound) error.code = ErrorCode::kInvalid;
  return error;
}

Expected<const object*> ObjectOf(const value& body) {
  if (!body.is_object()) return InvalidError("the body should be a JSON object");
  return &body.as_object();
}

Expected<void> CheckFields(const object& of, std::initializer_list<std::string_view> known) {
  for (const auto& member : of) {
    const std::string_view name(member.key().data(), member.key().size());
    if (std::ranges::find(known, name) != known.end()) continue;
    return InvalidError(Quoted(name) + " is no field of this question; it has " +
                        Joined(std::vector<std::string>(known.begin(), known.end())));
  }
  return {};
}

Expected<std::string> TextIn(const object& of, std::string_view field) {
  const value* const found = of.if_contains(field);
  if (found == nullptr) return std::string();
  if (!found->is_string()) return WrongField(field, "a string");
  return std::string(found->as_string());
}

Expected<std::string> TakeConfiguration(object& body) {
  BERTH_ASSIGN_OR_RETURN(std::string text, TextIn(body, kConfiguration));
  if (text.size() > kConfigurationBytesMax)
    return Error{ErrorCode::kTooLarge, std::string(kConfiguration) + " should have at most 256 KiB, and has " +
                                           std::to_string(text.size()) + " bytes"};
  if (body.contains(kConfiguration) && text.find_first_not_of(" \t\r\n") == std::string::npos)
    return WrongField(kConfiguration, "a KubeSchedulerConfiguration");
  body.erase(kConfiguration);
  return text;
}

Expected<bool> FlagIn(const object& of, std::string_view field) {
  const value* const found = of.if_contains(field);
  if (found == nullptr) return false;
  if (!found->is_bool()) return WrongField(field, "true or false");
  return found->as_bool();
}

Expected<std::optional<std::size_t>> NumberIfIn(const object& of, std::string_view field, std::size_t max) {
  const value* const found = of.if_contains(field);
  if (found == nullptr) return std::optional<std::size_t>();
  // Text has the one kind of number, what this program wrote itself may have the other.
  std::optional<std::uint64_t> number;
  if (found->is_int64() && found->as_int64() >= 0) number = static_cast<std::uint64_t>(found->as_int64());
  if (found->is_uint64()) number = found->as_uint64();
  if (!number || *number > max) return WrongField(field, "a number from 0 to " + std::to_string(max));
  return std::optional(static_cast<std::size_t>(*number));
}

Expected<std::size_t> NumberIn(const object& of, std::string_view field, std::size_t otherwise, std::size_t max) {
  BERTH_ASSIGN_OR_RETURN(const std::optional<std::size_t> found, NumberIfIn(of, field, max));
  return found.value_or(otherwise);
}

Expected<double> ShareIn(const object& of, std::string_view field, double otherwise) {
  const value* const found = of.if_contains(field);
  if (found == nullptr) return otherwise;
  const double share = found->is_number() ? found->to_number<double>() : -1;
  if (!(share >= 0 && share <= 1)) return WrongField(field, "a number from 0 to 1");
  return share;
}

Expected<std::vector<std::string>> TextsIn(const object& of, std::string_view field) {
  std::vector<std::string> texts;
  const value* const found = of.if_contains(field);
  if (found == nullptr) return texts;
  if (!found->is_array()) return WrongField(field, "an array of strings");
  for (const value& one : found->as_array()) {
    if (!one.is_string()) return WrongField(field, "an array of strings");
    texts.emplace_back(one.as_string());
  }
  return texts;
}

Expected<std::vector<whatif::ManifestFile>> ManifestsIn(const object& of) {
  std::vector<whatif::ManifestFile> files;
  BERTH_ASSIGN_OR_RETURN(std::string text, TextIn(of, kManifests));
  if (!text.empty()) files.push_back({std::string(kManifests), std::move(text)});
  const value* const found = of.if_contains("files");
  if (found == nullptr) return files;
  if (!found->is_array()) return WrongField("files", "an array of objects");
  if (found->as_array().size() > kFilesMax) return WrongField("files", "at most " + std::to_string(kFilesMax));
  for (const value& one : found->as_array()) {
    if (!one.is_object()) return WrongField("files", "an array of objects");
    whatif::ManifestFile file;
    BERTH_ASSIGN_OR_RETURN(file.name, TextIn(one.as_object(), "name"));
    BERTH_ASSIGN_OR_RETURN(file.text, TextIn(one.as_object(), "text"));
    files.push_back(std::move(file));
  }
  return files;
}

array FilesJson(const std::vector<whatif::ManifestFile>& files) {
  array json;
  for (const whatif::ManifestFile& file : files) json.push_back(object{{"name", file.name}, {"text", file.text}});
  return json;
}

}  // namespace berth::ask
