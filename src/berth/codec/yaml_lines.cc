// SPDX-License-Identifier: Apache-2.0
#include "berth/codec/yaml_lines.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <istream>
#include <utility>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "berth/codec/view_buffer.h"

namespace berth::codec {
namespace {

// Limits for safety; the texts come from parsers with lower limits.
constexpr std::size_t kNodesMax = 10'000'000;
constexpr std::size_t kDepthMax = 1000;
constexpr std::size_t kDocumentsMax = 20'000;  // including empty ones

// Thrown from the library's callbacks.
struct TooLarge : std::exception {};

// A value and its first line.
struct Node {
  std::size_t line = 0;
  bool is_object = false;
  bool is_null = false;
  std::vector<std::pair<std::string, const Node*>> members;  // of an object
  std::vector<const Node*> items;                            // of a list
};

// The values of one document.
class LineTree final : public YAML::EventHandler {
 public:
  // Null: the document has no value.
  const Node* root() const { return root_; }
  int start() const { return start_; }

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = mark.pos; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Add(Make(mark)).is_null = true; }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Add(Make(mark)); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& text) override {
    if (!open_.empty() && open_.back().node->is_object && !open_.back().has_key) {
      open_.back().key = text;
      open_.back().has_key = true;
      return;
    }
    const bool is_word = text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
    Add(Make(mark)).is_null = tag == "?" && is_word;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Open(mark, false);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Open(mark, true);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Frame {
    Node* node = nullptr;
    std::string key;  // of the member whose value comes next
    bool has_key = false;
  };

  Node& Make(const YAML::Mark& mark) {
    if (nodes_.size() == kNodesMax) throw TooLarge();
    Node& node = nodes_.emplace_back();
    const std::size_t around = open_.empty() ? 1 : open_.back().node->line;
    node.line = mark.is_null() ? around : static_cast<std::size_t>(mark.line) + 1;
    return node;
  }
  Node& Add(Node& node) {
    if (open_.empty()) {
      root_ = &node;
      return node;
    }
    Frame& frame = open_.back();
    if (!frame.node->is_object) {
      frame.node->items.push_back(&node);
    } else {
      frame.node->members.emplace_back(std::move(frame.key), &node);
      frame.has_key = false;
    }
    return node;
  }
  void Open(const YAML::Mark& mark, bool is_object) {
    if (open_.size() == kDepthMax) throw TooLarge();
    Node& node = Add(Make(mark));
    node.is_object = is_object;
    open_.push_back({&node, {}, false});
  }

  int start_ = -1;
  std::deque<Node> nodes_;
  std::vector<Frame> open_;
  const Node* root_ = nullptr;
};

// Removes the field `name` from the front of `path`; returns whether it was there.
bool TakeName(std::string_view& path, std::string_view name) {
  std::string_view rest = path;
  if (rest.starts_with('.')) rest.remove_prefix(1);
  const bool is_bracketed = rest.starts_with('[');
  if (is_bracketed) rest.remove_prefix(1);
  if (!rest.starts_with(name)) return false;
  rest.remove_prefix(name.size());
  if (is_bracketed) {
    if (!rest.starts_with(']')) return false;
    rest.remove_prefix(1);
  }
  if (!rest.empty() && rest.front() != '.' && rest.front() != '[') return false;
  path = rest;
  return true;
}

// The child of `node` that `path` continues with; null if there is none.
const Node* Step(const Node& node, std::string_view& path) {
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (path.starts_with('[') && TakeName(path, std::to_string(i))) return node.items[i];
  }
  const Node* found = nullptr;
  std::string_view left;
  // Prefers the longest name, because "a" and "a.b" may both exist.
  for (const auto& [name, member] : node.members) {
    std::string_view rest = path;
    if (name.empty() || !TakeName(rest, name) || (found != nullptr && rest.size() >= left.size())) continue;
    found = member;
    left = rest;
  }
  if (found != nullptr) path = left;
  return found;
}

std::optional<std::size_t> LineIn(const Node& root, std::string_view path) {
  const Node* at = nullptr;
  for (const Node* next = &root; next != nullptr && !path.empty();) {
    next = Step(*next, path);
    if (next != nullptr) at = next;
  }
  return at == nullptr ? std::nullopt : std::optional(at->line);
}

}  // namespace

std::string_view FieldPathOf(std::string_view message) {
  constexpr std::string_view kUnknown = "unknown field \"";
  if (message.starts_with('[')) message.remove_prefix(1);
  if (message.starts_with(kUnknown)) {
    message.remove_prefix(kUnknown.size());
    const std::size_t end = message.find('"');
    return end == std::string_view::npos ? std::string_view() : message.substr(0, end);
  }
  const std::size_t end = message.find(": ");
  return end == std::string_view::npos ? std::string_view() : message.substr(0, end);
}

std::optional<std::size_t> LineOfField(std::string_view text, std::string_view path, std::size_t document) {
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    int last_start = -1;
    for (std::size_t i = 0; i < kDocumentsMax; ++i) {
      LineTree tree;
      // At a token that cannot begin a value the library reports empty documents forever.
      if (!parser.HandleNextDocument(tree) || tree.start() == last_start) return std::nullopt;
      last_start = tree.start();
      if (tree.root() == nullptr || tree.root()->is_null) continue;
      if (document-- == 0) return LineIn(*tree.root(), path);
    }
  } catch (const std::exception&) {
    // A text that is invalid YAML or too large has no lines to report.
  }
  return std::nullopt;
}

Error InFile(std::string_view file, std::string_view text, const Error& error) {
  const std::string_view path = FieldPathOf(error.message);
  const auto line = path.empty() ? std::nullopt : LineOfField(text, path);
  return error.Wrap(std::string(file) + (line ? ':' + std::to_string(*line) : ""));
}

}  // namespace berth::codec
