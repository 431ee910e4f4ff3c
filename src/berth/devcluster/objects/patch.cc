// SPDX-License-Identifier: Apache-2.0
#include "berth/devcluster/objects/patch.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace berth::objects {
namespace {

StatusError DoesNotApply(std::string message) {
  return {.code = 422,
          .reason = "Invalid",
          .message = "the server rejected our request due to an error in our request",
          .causes = {{"UnexpectedServerResponse", std::move(message), ""}}};
}

// ---- JSON patch -----------------------------------------------------------------------------------------------------

using Pointer = std::vector<std::string>;

std::optional<Pointer> ParsePointer(std::string_view text) {
  Pointer tokens;
  if (text.empty()) return tokens;
  if (text[0] != '/') return std::nullopt;
  std::string token;
  for (std::size_t i = 1; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == '/') {
      tokens.push_back(std::move(token));
      token.clear();
    } else if (text[i] == '~') {
      if (i + 1 >= text.size() || (text[i + 1] != '0' && text[i + 1] != '1')) return std::nullopt;
      token += text[++i] == '0' ? '~' : '/';
    } else {
      token += text[i];
    }
  }
  return tokens;
}

std::optional<std::size_t> ParseIndex(std::string_view token) {
  std::size_t index = 0;
  if (token.empty() || (token.size() > 1 && token[0] == '0')) return std::nullopt;
  const auto [end, failure] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (failure != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return index;
}

json::value* Step(json::value& value, std::string_view token) {
  if (json::object* object = value.if_object()) return object->if_contains(token);
  if (json::array* array = value.if_array()) {
    const auto index = ParseIndex(token);
    return index && *index < array->size() ? &(*array)[*index] : nullptr;
  }
  return nullptr;
}

json::value* Find(json::value& root, const Pointer& path, std::size_t steps) {
  json::value* at = &root;
  for (std::size_t i = 0; i < steps && at != nullptr; ++i) at = Step(*at, path[i]);
  return at;
}

int Depth(const json::value& value) {
  int inner = 0;
  if (const json::object* object = value.if_object()) {
    for (const auto& entry : *object) inner = std::max(inner, Depth(entry.value()));
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& entry : *array) inner = std::max(inner, Depth(entry));
  } else {
    return 0;
  }
  return inner + 1;
}

// About what the value takes as text: enough to bound copies with.
std::size_t Weight(const json::value& value) {
  std::size_t weight = 8;
  if (const json::object* object = value.if_object()) {
    for (const auto& entry : *object) weight += entry.key().size() + Weight(entry.value());
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& entry : *array) weight += Weight(entry);
  } else if (const json::string* text = value.if_string()) {
    weight += text->size();
  }
  return weight;
}

class JsonPatcher {
 public:
  explicit JsonPatcher(json::value document) : document_(std::move(document)) {}

  Outcome<Done> Apply(const json::object& operation) {
    const json::string* op = StringMember(operation, "op");
    const json::string* path_text = StringMember(operation, "path");
    if (op == nullptr || path_text == nullptr)
      return BadRequest("a JSON patch operation needs the strings op and path");
    const auto path = ParsePointer(*path_text);
    if (!path) return BadRequest("not a JSON pointer: " + json::serialize(*path_text));
    if (*op == "remove") return Remove(*path, *path_text);
    if (*op == "move" || *op == "copy") return Transfer(operation, *op == "move", *path, *path_text);
    const json::value* value = operation.if_contains("value");
    if (*op != "add" && *op != "replace" && *op != "test") {
      return BadRequest("unknown JSON patch operation " + json::serialize(*op) +
                        ": want add, remove, replace, move, copy or test");
    }
    if (value == nullptr && *op != "test")
      return BadRequest("JSON patch operation " + json::serialize(*op) + " needs a value");
    if (*op == "add") return Add(*path, *path_text, *value);
    json::value* target = Find(document_, *path, path->size());
    if (*op == "test") {
      static const json::value kNull;
      const json::value& want = value == nullptr ? kNull : *value;
      const json::value& got = target == nullptr ? kNull : *target;
      if (!(want == got)) return DoesNotApply("testing value " + std::string(*path_text) + " failed: test failed");
      return Done();
    }
    if (target == nullptr) return MissingPath("replace", *path_text);
    BERTH_RETURN_IF_ERROR(CheckDepth(*path, *value));
    *target = *value;
    return Done();
  }

  json::value Take() { return std::move(document_); }

 private:
  static const json::string* StringMember(const json::object& operation, std::string_view name) {
    const json::value* member = operation.if_contains(name);
    return member == nullptr ? nullptr : member->if_string();
  }

  static StatusError MissingPath(std::string_view op, std::string_view path) {
    return DoesNotApply(std::string(op) + " operation does not apply: doc is missing path: \"" + std::string(path) +
                        '"');
  }

  static Outcome<Done> CheckDepth(const Pointer& path, const json::value& value) {
    if (static_cast<int>(path.size()) + Depth(value) > kPatchedDepthMax) {
      return DoesNotApply("the patched document would be nested deeper than " + std::to_string(kPatchedDepthMax) +
                          " levels");
    }
    return Done();
  }

  Outcome<Done> Add(const Pointer& path, std::string_view path_text, const json::value& value) {
    if (path.size() > static_cast<std::size_t>(kPatchedDepthMax)) return MissingPath("add", path_text);
    BERTH_RETURN_IF_ERROR(CheckDepth(path, value));
    return Put(path, path_text, json::value(value, document_.storage()));
  }

  // What stands behind a place of a list is shifted by what comes or goes there: ten thousand times through a list of
  // hundreds of thousands of elements would be seconds.
  Outcome<Done> CheckShift(std::size_t elements) {
    shifted_elements_ += elements;
    if (shifted_elements_ <= kPatchShiftedElementsMax) return Done();
    return TooLarge("the operations of the JSON patch shift more than " + std::to_string(kPatchShiftedElementsMax) +
                    " list elements: use fewer patches of list elements, or replace the whole list");
  }

  Outcome<Done> Put(const Pointer& path, std::string_view path_text, json::value value) {
    if (path.empty()) {
      document_ = std::move(value);
      return Done();
    }
    json::value* parent = Find(document_, path, path.size() - 1);
    if (parent == nullptr) return MissingPath("add", path_text);
    if (json::object* object = parent->if_object()) {
      (*object)[path.back()] = std::move(value);
      return Done();
    }
    json::array* array = parent->if_array();
    if (array == nullptr) return MissingPath("add", path_text);
    std::size_t index = array->size();
    if (path.back() != "-") {
      const auto wanted = ParseIndex(path.back());
      if (!wanted || *wanted > array->size()) {
        return DoesNotApply("add operation does not apply: invalid array index in \"" + std::string(path_text) + '"');
      }
      index = *wanted;
    }
    BERTH_RETURN_IF_ERROR(CheckShift(array->size() - index));
    array->insert(array->begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
    return Done();
  }

  Outcome<Done> Remove(const Pointer& path, std::string_view path_text) {
    json::value* parent = path.empty() ? nullptr : Find(document_, path, path.size() - 1);
    if (parent == nullptr || Step(*parent, path.back()) == nullptr) return MissingPath("remove", path_text);
    if (json::object* object = parent->if_object()) {
      object->erase(path.back());
    } else {
      json::array& array = parent->as_array();
      const std::size_t index = *ParseIndex(path.back());
      BERTH_RETURN_IF_ERROR(CheckShift(array.size() - index));
      array.erase(array.begin() + static_cast<std::ptrdiff_t>(index));
    }
    return Done();
  }

  Outcome<Done> Transfer(const json::object& operation, bool is_move, const Pointer& path, std::string_view path_text) {
    const std::string_view op = is_move ? "move" : "copy";
    const json::string* from_text = StringMember(operation, "from");
    const auto from = from_text == nullptr ? std::nullopt : ParsePointer(*from_text);
    if (!from) return BadRequest("JSON patch operation \"" + std::string(op) + "\" needs the pointer from");
    json::value* source = Find(document_, *from, from->size());
    if (source == nullptr) return MissingPath(op, *from_text);
    if (is_move && path.size() > from->size() && std::equal(from->begin(), from->end(), path.begin())) {
      return DoesNotApply("move operation does not apply: \"" + std::string(path_text) + "\" is inside its own source");
    }
    if (!is_move) {
      copied_bytes_ += Weight(*source);
      if (copied_bytes_ > kPatchCopyBytesMax) {
        return DoesNotApply("the copy operations of the patch exceed " + std::to_string(kPatchCopyBytesMax) + " bytes");
      }
      return Add(path, path_text, *source);
    }
    // Not copied: a patch of nothing but moves of all that there is would cost gigabytes and minutes.
    if (path.size() > from->size()) {
      moved_bytes_ += Weight(*source);
      if (moved_bytes_ > kPatchMoveBytesMax) {
        return DoesNotApply("the moves of the patch to deeper places exceed " + std::to_string(kPatchMoveBytesMax) +
                            " bytes");
      }
      BERTH_RETURN_IF_ERROR(CheckDepth(path, *source));
    }
    json::value moved = std::move(*source);
    if (!from->empty()) BERTH_RETURN_IF_ERROR(Remove(*from, *from_text));
    return Put(path, path_text, std::move(moved));
  }

  json::value document_;
  std::size_t copied_bytes_ = 0;
  std::size_t moved_bytes_ = 0;  // to deeper places, whose depth has to be counted
  std::size_t shifted_elements_ = 0;
};

// ---- Merge patch ----------------------------------------------------------------------------------------------------

// Merges in place: a copy at each level would cost the document times its depth.
void MergeInto(json::value& target, const json::value& patch) {
  const json::object* changes = patch.if_object();
  if (changes == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  json::object& members = target.get_object();
  for (const auto& change : *changes) {
    if (change.value().is_null()) {
      members.erase(change.key());
    } else {
      MergeInto(members[change.key()], change.value());
    }
  }
}

// ---- Strategic merge patch ------------------------------------------------------------------------------------------

constexpr std::string_view kPatchDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kSetElementOrder = "$setElementOrder/";
constexpr std::string_view kDeleteFromPrimitiveList = "$deleteFromPrimitiveList/";
constexpr std::string_view kPrimitiveSet = "*";
// Bytes of the longest path that the schema could know.
constexpr std::size_t kMergePathBytesMax = 512;

class StrategicMerger {
 public:
  StrategicMerger(std::string_view kind, MergeKeyOf merge_key_of) : kind_(kind), merge_key_of_(merge_key_of) {}

  // Merges `patch` into `target`. An empty target makes a clean copy of the patch: without directives and nulls.
  Outcome<Done> MergeObject(json::object& target, const json::object& patch) {
    if (const json::value* directive = patch.if_contains(kPatchDirective)) {
      if (*directive == json::value("replace") || *directive == json::value("delete")) {
        const bool keeps = *directive == json::value("replace");
        target.clear();
        if (!keeps) return Done();
        for (const auto& entry : patch) {
          if (entry.key() != kPatchDirective) target[entry.key()] = entry.value();
        }
        return Done();
      }
      if (*directive != json::value("merge")) {
        return BadRequest("unknown $patch directive " + json::serialize(*directive) + " at " + Where() +
                          ": want merge, replace or delete");
      }
    }
    BERTH_RETURN_IF_ERROR(RetainKeys(target, patch));
    for (const auto& entry : patch) {
      const std::string_view key = entry.key();
      if (key == kPatchDirective || key == kRetainKeys || key.starts_with(kSetElementOrder)) continue;
      if (key.starts_with(kDeleteFromPrimitiveList)) {
        BERTH_RETURN_IF_ERROR(
            DeleteFromPrimitiveList(target, key.substr(kDeleteFromPrimitiveList.size()), entry.value()));
        continue;
      }
      BERTH_RETURN_IF_ERROR(MergeMember(target, patch, key, entry.value()));
    }
    // An order for a list that the patch does not otherwise touch still applies.
    for (const auto& entry : patch) {
      const std::string_view key = entry.key();
      if (!key.starts_with(kSetElementOrder)) continue;
      const std::string_view field = key.substr(kSetElementOrder.size());
      json::value* list = target.if_contains(field);
      if (patch.contains(field) || list == nullptr || !list->is_array()) continue;
      const Step step(path_, field);
      BERTH_RETURN_IF_ERROR(MergeList(list->get_array(), json::array(), &entry.value()));
    }
    return Done();
  }

 private:
  // A member of the object at hand, while it lives. One path grows and shrinks: a path for each member would cost
  // their number times the length.
  class Step {
   public:
    Step(std::string& path, std::string_view key) : path_(path), size_(path.size()) {
      if (!path_.empty()) path_ += '.';
      path_ += key;
    }
    ~Step() { path_.resize(size_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    std::string& path_;
    const std::size_t size_;
  };

  std::string Where() const { return path_.empty() ? "the top" : path_; }

  Outcome<Done> RetainKeys(json::object& target, const json::object& patch) const {
    const json::value* retained = patch.if_contains(kRetainKeys);
    if (retained == nullptr) return Done();
    if (!retained->is_array()) return BadRequest("$retainKeys at " + Where() + " must be a list of strings");
    absl::flat_hash_set<std::string_view> keys;
    for (const json::value& key : retained->get_array()) {
      if (!key.is_string()) return BadRequest("$retainKeys at " + Where() + " must be a list of strings");
      keys.insert(std::string_view(key.get_string()));
    }
    for (const auto& entry : patch) {
      if (!entry.key().starts_with('$') && !entry.value().is_null() && !keys.contains(std::string_view(entry.key()))) {
        return BadRequest("$retainKeys at " + Where() + " must name every key of the patch, and misses " +
                          std::string(entry.key()));
      }
    }
    json::object kept(target.storage());
    for (auto& entry : target) {
      if (keys.contains(std::string_view(entry.key()))) kept.emplace(entry.key(), std::move(entry.value()));
    }
    target = std::move(kept);
    return Done();
  }

  static Outcome<Done> DeleteFromPrimitiveList(json::object& target, std::string_view field, const json::value& gone) {
    if (!gone.is_array()) return BadRequest("$deleteFromPrimitiveList/" + std::string(field) + " must be a list");
    json::value* list = target.if_contains(field);
    if (list == nullptr || !list->is_array()) return Done();
    absl::flat_hash_set<std::string> ids;
    for (const json::value& each : gone.get_array()) ids.insert(json::serialize(each));
    json::array kept(list->storage());
    for (json::value& each : list->get_array()) {
      if (!ids.contains(json::serialize(each))) kept.push_back(std::move(each));
    }
    *list = std::move(kept);
    return Done();
  }

  Outcome<Done> MergeMember(json::object& target, const json::object& patch, std::string_view key,
                            const json::value& change) {
    if (change.is_null()) {
      target.erase(key);
      return Done();
    }
    const Step step(path_, key);
    if (const json::object* object = change.if_object()) {
      json::value& member = target[key];
      if (!member.is_object()) member.emplace_object();
      return MergeObject(member.get_object(), *object);
    }
    if (const json::array* array = change.if_array()) {
      json::value& member = target[key];
      if (!member.is_array()) member.emplace_array();
      const json::value* order = patch.if_contains(std::string(kSetElementOrder) + std::string(key));
      return MergeList(member.get_array(), *array, order);
    }
    target[key] = change;
    return Done();
  }

  // What makes a list's element the same element: the text of its merge key, or of the scalar itself.
  Outcome<std::string> Identity(const json::value& element, std::string_view merge_key) const {
    if (merge_key == kPrimitiveSet) {
      if (element.is_structured()) return BadRequest("the list at " + path_ + " must hold scalars");
      return json::serialize(element);
    }
    const json::object* object = element.if_object();
    if (object == nullptr) return BadRequest("the list at " + path_ + " must hold objects");
    const json::value* key = object->if_contains(merge_key);
    if (key == nullptr) {
      return BadRequest("map: " + json::serialize(element) +
                        " does not contain declared merge key: " + std::string(merge_key));
    }
    return key->is_string() ? std::string(key->get_string()) : json::serialize(*key);
  }

  Outcome<Done> MergeList(json::array& target, const json::array& patch, const json::value* order) {
    // No schema has a path so long; looking each up would cost their number times the length.
    const std::string_view merge_key =
        path_.size() <= kMergePathBytesMax ? merge_key_of_(kind_, path_) : std::string_view();
    if (merge_key.empty()) {
      if (order == nullptr || !patch.empty()) target = patch;
      return Done();
    }
    // A patch may name one element, and with it the lists inside, any number of times.
    merged_elements_ += target.size() + patch.size();
    if (merged_elements_ > kPatchMergedElementsMax) {
      return TooLarge("the lists that the patch merges have more than " + std::to_string(kPatchMergedElementsMax) +
                      " elements: name each element of a list once");
    }
    const bool is_set = merge_key == kPrimitiveSet;
    // Values move without a copy only within one storage.
    const json::storage_ptr storage = target.storage();
    std::vector<const json::value*> changes;
    absl::flat_hash_set<std::string> deleted;
    bool replaces = false;
    for (const json::value& element : patch) {
      const json::object* object = is_set ? nullptr : element.if_object();
      const json::value* directive = object == nullptr ? nullptr : object->if_contains(kPatchDirective);
      if (directive != nullptr && *directive == json::value("replace")) {
        replaces = true;
        if (object->size() > 1) changes.push_back(&element);
      } else if (directive != nullptr && *directive == json::value("delete")) {
        BERTH_ASSIGN_OR_RETURN(std::string id, Identity(element, merge_key));
        deleted.insert(std::move(id));
      } else {
        changes.push_back(&element);
      }
    }

    // The elements as the server has them, by identity. Elements without an identity stay where they are.
    std::vector<Item> items;
    absl::flat_hash_map<std::string, std::size_t> index;
    if (!replaces) {
      for (json::value& element : target) {
        auto id = Identity(element, merge_key);
        if (id.ok() && deleted.contains(*id)) continue;
        const std::size_t position = items.size();
        if (id.ok()) index.try_emplace(*id, position);
        items.push_back({id.ok() ? *id : std::string(), std::move(element), position});
      }
    }
    std::vector<std::string> patch_order;
    for (const json::value* change : changes) {
      BERTH_ASSIGN_OR_RETURN(std::string id, Identity(*change, merge_key));
      const auto [entry, is_new] = index.try_emplace(id, items.size());
      if (is_new)
        items.push_back(
            {id, is_set ? json::value(*change, storage) : json::value(json::object_kind, storage), std::nullopt});
      if (!is_set) {
        BERTH_RETURN_IF_ERROR(MergeObject(items[entry->second].value.get_object(), StripDirective(*change)));
      }
      patch_order.push_back(std::move(id));
    }
    if (order != nullptr) {
      if (!order->is_array()) return BadRequest("$setElementOrder for " + path_ + " must be a list");
      patch_order.clear();
      for (const json::value& element : order->get_array()) {
        BERTH_ASSIGN_OR_RETURN(std::string id, Identity(element, merge_key));
        patch_order.push_back(std::move(id));
      }
    }
    target = Arrange(std::move(items), patch_order, storage);
    return Done();
  }

  // {"$patch":"replace", ...} as an element of a list replaces the list; what else it carries is an ordinary element.
  static json::object StripDirective(const json::value& change) {
    json::object object = change.get_object();
    if (const json::value* directive = object.if_contains(kPatchDirective);
        directive && *directive == json::value("replace")) {
      object.erase(kPatchDirective);
    }
    return object;
  }

  struct Item {
    std::string id;
    json::value value;
    std::optional<std::size_t> server_position;  // nullopt: new
  };

  // Elements named by the patch's order come in that order; the server's others are woven in where the server's own
  // order puts them, and after new ones. That is upstream's rule: patching in one new container makes it the first.
  static json::array Arrange(std::vector<Item> items, const std::vector<std::string>& patch_order,
                             const json::storage_ptr& storage) {
    absl::flat_hash_map<std::string_view, std::size_t> rank;
    for (std::size_t i = 0; i < patch_order.size(); ++i) rank.try_emplace(patch_order[i], i);
    std::vector<Item*> patched;
    std::vector<Item*> server_only;
    for (Item& item : items) (!item.id.empty() && rank.contains(item.id) ? patched : server_only).push_back(&item);
    std::stable_sort(patched.begin(), patched.end(),
                     [&](const Item* a, const Item* b) { return rank.at(a->id) < rank.at(b->id); });
    json::array arranged(storage);
    arranged.reserve(items.size());
    std::size_t left = 0;
    std::size_t right = 0;
    while (left < patched.size() || right < server_only.size()) {
      bool takes_left = right == server_only.size();
      if (!takes_left && left < patched.size()) {
        const auto& mine = patched[left]->server_position;
        const auto& other = server_only[right]->server_position;
        takes_left = !mine || !other || *mine < *other;
      }
      arranged.push_back(std::move((takes_left ? patched[left++] : server_only[right++])->value));
    }
    return arranged;
  }

  const std::string_view kind_;
  const MergeKeyOf merge_key_of_;
  std::string path_;                 // of the object at hand: "spec.containers"
  std::size_t merged_elements_ = 0;  // of all lists so far
};

}  // namespace

Outcome<json::value> ApplyJsonPatch(json::value document, const json::value& patch) {
  const json::array* operations = patch.if_array();
  if (operations == nullptr) return BadRequest("a JSON patch must be a list of operations");
  if (operations->size() > kJsonPatchOperationsMax) {
    return TooLarge("The allowed maximum operations in a JSON patch is " + std::to_string(kJsonPatchOperationsMax) +
                    ", got " + std::to_string(operations->size()));
  }
  JsonPatcher patcher(std::move(document));
  for (const json::value& operation : *operations) {
    if (!operation.is_object()) return BadRequest("a JSON patch must be a list of operations");
    BERTH_RETURN_IF_ERROR(patcher.Apply(operation.get_object()));
  }
  return patcher.Take();
}

Outcome<json::value> ApplyMergePatch(json::value document, const json::value& patch) {
  if (!patch.is_object()) return BadRequest("a merge patch must be an object");
  MergeInto(document, patch);
  return document;
}

Outcome<json::value> ApplyStrategicMergePatch(json::value document, const json::value& patch, std::string_view kind,
                                              MergeKeyOf merge_key_of) {
  if (!patch.is_object()) return BadRequest("a strategic merge patch must be an object");
  if (!document.is_object()) document.emplace_object();
  StrategicMerger merger(kind, merge_key_of);
  BERTH_RETURN_IF_ERROR(merger.MergeObject(document.get_object(), patch.get_object()));
  return document;
}

}  // namespace berth::objects
