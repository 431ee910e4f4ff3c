#include "berth/api/decode.h"

#include <array>
#include <charconv>
#include <limits>
#include <string>

#include "berth/api/decode_internal.h"

namespace berth::api {

using simdjson::dom::element;

namespace internal {
namespace {

using simdjson::dom::element_type;

// A text longer than this is no single object: the API server refuses objects of half this size.
constexpr std::size_t kObjectBytesMax = std::size_t{8} << 20;

std::string_view TypeName(element value) {
  switch (value.type()) {
    case element_type::ARRAY: return "an array";
    case element_type::OBJECT: return "an object";
    case element_type::STRING: return "a string";
    case element_type::BOOL: return "a boolean";
    case element_type::NULL_VALUE: return "null";
    default: return "a number";
  }
}

std::string_view TrimSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace

bool Decoder::Fail(const Path& path, std::string_view message) {
  path.Append(failure_);
  if (!failure_.empty()) failure_ += ": ";
  failure_ += message;
  return false;
}

bool Decoder::WrongType(const Path& path, element value, std::string_view wanted) {
  return Fail(path, "must be " + std::string(wanted) + ", not " + std::string(TypeName(value)));
}

Error Decoder::Failure(element object) const {
  const auto text_of = [object](std::string_view key) {
    std::string_view text;
    return object["metadata"][key].get(text) == simdjson::SUCCESS ? text : std::string_view();
  };
  return ObjectError(kind_, text_of("namespace"), text_of("name"), failure_);
}

bool Decoder::Int64(element value, const Path& path, std::int64_t& out) {
  if (value.get(out) == simdjson::SUCCESS) return true;
  if (value.is_null()) return true;
  return value.is_number() ? Fail(path, "must be a whole number of 64 bits") : WrongType(path, value, "a whole number");
}

bool Decoder::Int32(element value, const Path& path, std::int32_t& out) {
  std::int64_t number = 0;
  if (!Int64(value, path, number)) return false;
  if (number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max()) {
    return Fail(path, "must be a whole number of 32 bits, not " + std::to_string(number));
  }
  out = static_cast<std::int32_t>(number);
  return true;
}

bool Decoder::TimeField(element value, const Path& path, std::optional<Time>& out) {
  if (value.is_null()) return true;
  std::string_view text;
  if (!View(value, path, text)) return false;
  out = ParseRfc3339(text);
  if (out) return true;
  return Fail(path, NoTime(text));
}

bool Decoder::Strings(element value, const Path& path, StringMap& out) {
  simdjson::dom::object object;
  std::vector<StringMap::Entry> entries;
  if (value.get(object) == simdjson::SUCCESS) entries.reserve(object.size());
  const bool is_good = Object(value, path, [&](std::string_view key, element item) {
    auto& entry = entries.emplace_back(key, std::string());
    return String(item, path.Entry(key), entry.second);
  });
  if (is_good) out = StringMap(std::move(entries));
  return is_good;
}

bool Decoder::QuantityField(element value, const Path& path, Quantity& out) {
  if (value.is_null()) return true;
  std::string_view text;
  std::array<char, 32> digits;
  if (value.get(text) == simdjson::SUCCESS) {
    text = TrimSpace(text);
  } else if (value.is_number()) {
    std::to_chars_result written{};
    if (std::int64_t whole = 0; value.get(whole) == simdjson::SUCCESS) {
      written = std::to_chars(digits.data(), digits.data() + digits.size(), whole);
    } else if (std::uint64_t unsigned_whole = 0; value.get(unsigned_whole) == simdjson::SUCCESS) {
      written = std::to_chars(digits.data(), digits.data() + digits.size(), unsigned_whole);
    } else {
      double number = 0;
      if (value.get(number) != simdjson::SUCCESS) return WrongType(path, value, "a quantity");
      written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    }
    text = {digits.data(), static_cast<std::size_t>(written.ptr - digits.data())};
  } else {
    return WrongType(path, value, "a quantity");
  }
  auto quantity = Quantity::Parse(text);
  if (!quantity.ok()) return Fail(path, quantity.error().message);
  out = *quantity;
  return true;
}

bool Decoder::Resources(element value, const Path& path, ResourceList& out) {
  return Map(value, path, out,
             [this](element item, const Path& at, Quantity& slot) { return QuantityField(item, at, slot); });
}

bool Decoder::Requests(element value, const Path& path, ResourceList& out) {
  return Object(value, path, [&](std::string_view key, element item) {
    return !Is(key, "requests") || Resources(item, path.Field(key), out);
  });
}

bool Decoder::Kind(element value, const Path& path) {
  std::string_view text;
  if (!View(value, path, text)) return false;
  return text.empty() || text == kind_ || Fail(path, "must be " + kind_ + ", not \"" + std::string(text) + '"');
}

bool Decoder::Metadata(element value, const Path& path, ObjectMeta& out) {
  return Object(value, path, [&](std::string_view key, element item) {
    const Path at = path.Field(key);
    if (Is(key, "name")) return String(item, at, out.name);
    if (Is(key, "namespace")) return String(item, at, out.namespace_name);
    if (Is(key, "uid")) return String(item, at, out.uid);
    if (Is(key, "resourceVersion")) return String(item, at, out.resource_version);
    if (Is(key, "generation")) return Int64(item, at, out.generation);
    if (Is(key, "labels")) return Strings(item, at, out.labels);
    if (Is(key, "annotations")) return Strings(item, at, out.annotations);
    if (Is(key, "creationTimestamp")) return TimeField(item, at, out.creation_time);
    if (Is(key, "deletionTimestamp")) return TimeField(item, at, out.deletion_time);
    if (!Is(key, "ownerReferences")) return true;
    return Array(item, at, [&](element reference, const Path& where) {
      OwnerReference owner;
      bool is_controller = false;
      if (!Owner(reference, where, owner, is_controller)) return false;
      if (is_controller && !out.controller) out.controller = std::move(owner);
      return true;
    });
  });
}

bool Decoder::Owner(element value, const Path& path, OwnerReference& out, bool& is_controller) {
  return Object(value, path, [&](std::string_view key, element field) {
    const Path at = path.Field(key);
    if (Is(key, "apiVersion")) return String(field, at, out.api_version);
    if (Is(key, "kind")) return String(field, at, out.kind);
    if (Is(key, "name")) return String(field, at, out.name);
    if (Is(key, "uid")) return String(field, at, out.uid);
    return !Is(key, "controller") || Boolean(field, at, is_controller);
  });
}

bool Decoder::Effect(element value, const Path& path, TaintEffect& out) {
  std::string_view text;
  if (!View(value, path, text)) return false;
  out = ParseEffect(text);
  return true;
}

bool Decoder::RequirementItem(element value, const Path& path, Requirement& out) {
  out.op = SelectorOperator::kUnknown;
  return Object(value, path, [&](std::string_view key, element item) {
    const Path at = path.Field(key);
    if (Is(key, "key")) return String(item, at, out.key);
    if (Is(key, "values")) return Strings(item, at, out.values);
    if (!Is(key, "operator")) return true;
    std::string_view text;
    if (!View(item, at, text)) return false;
    SetOperator(out, text);
    return true;
  });
}

bool Decoder::Selector(element value, const Path& path, LabelSelector& out) {
  StringMap labels;
  std::vector<Requirement> expressions;
  const bool is_good = Object(value, path, [&](std::string_view key, element item) {
    const Path at = path.Field(key);
    if (Is(key, "matchLabels")) return Strings(item, at, labels);
    return !Is(key, "matchExpressions") ||
           List(item, at, expressions, [this](auto&&... args) { return RequirementItem(args...); });
  });
  SetRequirements(out, labels, std::move(expressions));
  return is_good;
}

bool Decoder::TermItem(element value, const Path& path, NodeSelectorTerm& out) {
  return Object(value, path, [&](std::string_view key, element item) {
    const Path at = path.Field(key);
    const auto decode = [this](auto&&... args) { return RequirementItem(args...); };
    if (Is(key, "matchExpressions")) return List(item, at, out.match_expressions, decode);
    return !Is(key, "matchFields") || List(item, at, out.match_fields, decode);
  });
}

bool Decoder::NodeTerms(element value, const Path& path, std::optional<std::vector<NodeSelectorTerm>>& out) {
  out.reset();
  if (value.is_null()) return true;
  auto& terms = out.emplace();
  return Object(value, path, [&](std::string_view key, element list) {
    return !Is(key, "nodeSelectorTerms") ||
           List(list, path.Field(key), terms, [this](auto&&... args) { return TermItem(args...); });
  });
}

}  // namespace internal

Expected<element> ParseObject(std::string_view kind, std::string_view text) {
  static thread_local simdjson::dom::parser parser(internal::kObjectBytesMax);
  element root;
  const auto failure = parser.parse(text.data(), text.size()).get(root);
  if (failure == simdjson::CAPACITY) {
    return Error{ErrorCode::kTooLarge, std::string(kind) + " of " + std::to_string(text.size()) + " bytes: at most " +
                                           std::to_string(internal::kObjectBytesMax) + " are read"};
  }
  if (failure != simdjson::SUCCESS) {
    return InvalidError(std::string(kind) + ": not valid JSON: " + simdjson::error_message(failure));
  }
  return root;
}

Expected<std::shared_ptr<const Pod>> DecodePod(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const element object, ParseObject("Pod", text));
  return DecodePod(object);
}

Expected<std::shared_ptr<const Node>> DecodeNode(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(const element object, ParseObject("Node", text));
  return DecodeNode(object);
}

}  // namespace berth::api
