#include <string>
#include <string_view>

#include "berth/apiserver/registry.h"

namespace berth::apiserver {
namespace {

constexpr std::size_t kSubdomainBytesMax = 253;
constexpr std::size_t kLabelBytesMax = 63;
constexpr std::size_t kAnnotationBytesMax = std::size_t{256} << 10;

constexpr std::string_view kSubdomainMessage =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelNameMessage =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kQualifiedNameMessage =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueMessage =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool IsLowerAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlnum(char c) { return IsLowerAlnum(c) || (c >= 'A' && c <= 'Z'); }

bool IsDnsLabel(std::string_view text) {
  if (text.empty() || !IsLowerAlnum(text.front()) || !IsLowerAlnum(text.back())) return false;
  for (const char c : text) {
    if (!IsLowerAlnum(c) && c != '-') return false;
  }
  return true;
}

bool IsSubdomain(std::string_view text) {
  if (text.size() > kSubdomainBytesMax) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!IsDnsLabel(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool IsQualifiedPart(std::string_view text) {
  if (text.empty() || text.size() > kLabelBytesMax || !IsAlnum(text.front()) || !IsAlnum(text.back())) return false;
  for (const char c : text) {
    if (!IsAlnum(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

bool IsQualifiedName(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsQualifiedPart(text);
  return IsSubdomain(text.substr(0, slash)) && IsQualifiedPart(text.substr(slash + 1));
}

std::string InvalidValue(std::string_view value, std::string_view why) {
  return "Invalid value: " + json::serialize(json::string(value)) + ": " + std::string(why);
}

// RBAC's names may hold colons and capitals; they only must be one segment of a path.
bool IsPathSegment(std::string_view name) {
  return name != "." && name != ".." && name.find('/') == std::string_view::npos && name.find('%') == std::string_view::npos;
}

void ValidateName(const ResourceType& type, std::string_view name, std::vector<FieldError>& errors) {
  if (name.empty()) {
    errors.push_back({"metadata.name", "FieldValueRequired", "Required value: name or generateName is required"});
  } else if (type.group == "rbac.authorization.k8s.io") {
    if (!IsPathSegment(name)) {
      errors.push_back({"metadata.name", "FieldValueInvalid", InvalidValue(name, "may not be '.' or '..' or contain '/' or '%'")});
    }
  } else if (type.kind == "Namespace" && type.group.empty()) {
    if (!IsDnsLabel(name) || name.size() > kLabelBytesMax) {
      errors.push_back({"metadata.name", "FieldValueInvalid", InvalidValue(name, kLabelNameMessage)});
    }
  } else if (!IsSubdomain(name)) {
    errors.push_back({"metadata.name", "FieldValueInvalid",
                      InvalidValue(name, name.size() > kSubdomainBytesMax ? "must be no more than 253 characters"
                                                                          : kSubdomainMessage)});
  }
}

void ValidateLabels(const json::object& labels, std::vector<FieldError>& errors) {
  for (const auto& entry : labels) {
    if (!IsQualifiedName(entry.key())) {
      errors.push_back({"metadata.labels", "FieldValueInvalid", InvalidValue(entry.key(), kQualifiedNameMessage)});
    }
    const json::string* text = entry.value().if_string();
    if (text == nullptr) {
      errors.push_back({"metadata.labels", "FieldValueInvalid",
                        "Invalid value: " + json::serialize(entry.value()) + ": a label must be a string"});
    } else if (!text->empty() && !IsQualifiedPart(View(*text))) {
      errors.push_back({"metadata.labels", "FieldValueInvalid",
                        InvalidValue(View(*text), text->size() > kLabelBytesMax ? "must be no more than 63 characters"
                                                                                : kLabelValueMessage)});
    }
  }
}

void ValidateAnnotations(const json::object& annotations, std::vector<FieldError>& errors) {
  std::size_t bytes = 0;
  for (const auto& entry : annotations) {
    std::string lower(entry.key());
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!IsQualifiedName(lower)) {
      errors.push_back({"metadata.annotations", "FieldValueInvalid", InvalidValue(entry.key(), kQualifiedNameMessage)});
    }
    const json::string* text = entry.value().if_string();
    if (text == nullptr) {
      errors.push_back({"metadata.annotations", "FieldValueInvalid",
                        "Invalid value: " + json::serialize(entry.value()) + ": an annotation must be a string"});
    } else {
      bytes += entry.key().size() + text->size();
    }
  }
  if (bytes > kAnnotationBytesMax) {
    errors.push_back({"metadata.annotations", "FieldValueTooLong",
                      "Too long: may not be more than " + std::to_string(kAnnotationBytesMax) + " bytes"});
  }
}

}  // namespace

std::vector<FieldError> ValidateMetadata(const ResourceType& type, const json::object& metadata) {
  std::vector<FieldError> errors;
  ValidateName(type, StringMember(metadata, "name"), errors);
  if (const json::object* labels = ObjectMember(metadata, "labels")) ValidateLabels(*labels, errors);
  if (const json::object* annotations = ObjectMember(metadata, "annotations")) ValidateAnnotations(*annotations, errors);
  if (const json::array* finalizers = ArrayMember(metadata, "finalizers")) {
    for (std::size_t i = 0; i < finalizers->size(); ++i) {
      const json::string* text = (*finalizers)[i].if_string();
      if (text == nullptr || !IsQualifiedName(View(*text))) {
        errors.push_back({"metadata.finalizers[" + std::to_string(i) + ']', "FieldValueInvalid",
                          "Invalid value: " + json::serialize((*finalizers)[i]) + ": " + std::string(kQualifiedNameMessage)});
      }
    }
  }
  return errors;
}

}  // namespace berth::apiserver
