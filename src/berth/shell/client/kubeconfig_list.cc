// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/kubeconfig_list.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "berth/base/text.h"
#include "berth/codec/yaml.h"
#include "berth/shell/client/file.h"
#include "berth/shell/client/kubeconfig.h"

namespace berth::client {
namespace {

using codec::json::object;
using codec::json::value;

object* ObjectIn(object& fields, std::string_view key) {
  value* const found = fields.if_contains(key);
  return found != nullptr && found->is_object() ? &found->as_object() : nullptr;
}

void MakeWhole(object& fields, std::string_view key, const std::filesystem::path& folder) {
  value* const found = fields.if_contains(key);
  if (found == nullptr || !found->is_string() || found->as_string().empty()) return;
  *found = (folder / std::string(found->as_string())).string();  // this leaves an absolute path unchanged
}

void MakePathsWhole(object& entry, const std::filesystem::path& folder) {
  if (object* const cluster = ObjectIn(entry, "cluster")) MakeWhole(*cluster, "certificate-authority", folder);
  object* const user = ObjectIn(entry, "user");
  if (user == nullptr) return;
  for (const std::string_view key : {"client-certificate", "client-key", "tokenFile"}) MakeWhole(*user, key, folder);
  object* const exec = ObjectIn(*user, "exec");
  const value* const command = exec == nullptr ? nullptr : exec->if_contains("command");
  // A command without a slash is looked up in $PATH.
  if (command != nullptr && command->is_string() && command->as_string().find('/') != std::string_view::npos)
    MakeWhole(*exec, "command", folder);
}

// Appends the entries of a list whose names are new. Invalid entries are kept, so that reading them later reports the
// error.
void TakeEntries(std::string_view key, object& from, object& to) {
  value* const found = from.if_contains(key);
  if (found == nullptr || found->is_null()) return;
  value& list = to[key];
  if (!found->is_array() || !(list.is_array() || list.is_null())) {
    if (list.is_null()) list = std::move(*found);
    return;
  }
  if (list.is_null()) list.emplace_array();
  const auto name_of = [](const value& entry) {
    const object* const fields = entry.if_object();
    const value* const name = fields == nullptr ? nullptr : fields->if_contains("name");
    return name != nullptr && name->is_string() ? std::string(name->as_string()) : std::string();
  };
  std::set<std::string> known;
  for (const value& entry : list.as_array()) known.insert(name_of(entry));
  for (value& entry : found->as_array()) {
    if (const std::string name = name_of(entry); !name.empty() && known.contains(name)) continue;
    list.as_array().push_back(std::move(entry));
  }
}

}  // namespace

Expected<object> ReadKubeconfigFields(std::string_view text, const std::string& path) {
  // An empty file is an empty configuration, as in client-go.
  if (Trim(text, " \t\r\n").empty()) return object();
  auto document = codec::ParseYaml(text, {.bytes_max = kKubeconfigBytesMax});
  if (!document.ok()) return Error{document.error().code, "kubeconfig " + path + ": " + document.error().message};
  if (document->is_null()) return object();
  if (!document->is_object())
    return InvalidError("kubeconfig " + path + ": it should be a map with clusters, users and contexts");
  object fields = std::move(document->as_object());
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const std::string_view key : {"clusters", "users"}) {
    value* const list = fields.if_contains(key);
    if (list == nullptr || !list->is_array()) continue;
    for (value& entry : list->as_array())
      if (entry.is_object()) MakePathsWhole(entry.as_object(), folder);
  }
  return fields;
}

std::vector<std::string> SplitKubeconfigPaths(const std::string& paths) {
  std::error_code ignored;  // on an error the file counts as absent
  if (paths.find(':') == std::string::npos || std::filesystem::exists(paths, ignored)) return {paths};
  std::vector<std::string> split;
  for (const std::string_view path : Split(paths, ':')) {
    if (!path.empty()) split.emplace_back(path);
  }
  return split;
}

Expected<object> MergeKubeconfigs(const std::vector<std::string>& paths) {
  object merged;
  for (const std::string& path : paths) {
    const auto text = ReadSmallFile(path, kKubeconfigBytesMax);
    if (!text.ok() && text.error().code == ErrorCode::kNotFound) continue;
    if (!text.ok()) return Error{text.error().code, "kubeconfig " + text.error().message};
    BERTH_ASSIGN_OR_RETURN(object fields, ReadKubeconfigFields(*text, path));
    for (const std::string_view key : {"clusters", "contexts", "users"}) TakeEntries(key, fields, merged);
    for (const std::string_view key : {"kind", "apiVersion", "current-context"}) {
      const value* const found = fields.if_contains(key);
      if (found == nullptr || found->is_null() || (found->is_string() && found->as_string().empty())) continue;
      if (!merged.contains(key)) merged[key] = *found;
    }
  }
  return merged;
}

}  // namespace berth::client
