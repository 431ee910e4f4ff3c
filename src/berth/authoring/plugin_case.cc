// SPDX-License-Identifier: Apache-2.0
#include "berth/authoring/plugin_case.h"

#include <algorithm>
#include <set>

#include "berth/codec/yaml.h"
#include "berth/core/config/load.h"
#include "berth/core/config/reader.h"
#include "berth/core/config/validate.h"

namespace berth::authoring {
namespace {

namespace json = codec::json;
using config::FieldErrors;
using config::ObjectReader;

// A value and its path.
struct Field {
  const json::value* value = nullptr;  // null: the field is absent
  std::string path;
};

Field Take(ObjectReader& reader, std::string_view key) { return {reader.Find(key), reader.PathOf(key)}; }

// The settings that a case may have, and the file for all its cases.
struct Scene {
  Field args;
  Field nodes;
  Field pods;
  Field objects;

  static Scene Of(ObjectReader& reader) {
    return {Take(reader, "args"), Take(reader, "nodes"), Take(reader, "pods"), Take(reader, "objects")};
  }
  Scene Or(const Scene& other) const {
    const auto first = [](const Field& a, const Field& b) { return a.value != nullptr ? a : b; };
    return {first(args, other.args), first(nodes, other.nodes), first(pods, other.pods), first(objects, other.objects)};
  }
};

// The plugins of a file: `plugin` with `args` and `weight`, or `config`.
struct PluginsOf {
  std::string plugin;
  std::int64_t weight = 1;
  Field config;

  static PluginsOf Read(ObjectReader& reader) {
    PluginsOf out;
    reader.Read("plugin", out.plugin);
    reader.Read("weight", out.weight);
    out.config = Take(reader, "config");
    if (!out.plugin.empty() && out.config.value != nullptr)
      reader.errors().Forbidden(out.config.path, "may not be beside plugin: one of the two says what is tested");
    if (out.plugin.empty() && out.config.value == nullptr)
      reader.errors().Required(reader.PathOf("plugin"), "the plugin to be tested, or a config with it");
    return out;
  }
};

template <typename Visit>
void ForEach(const Field& list, FieldErrors& errors, Visit visit) {
  if (list.value == nullptr) return;
  const json::array* items = list.value->if_array();
  if (items == nullptr) {
    errors.Add(list.path, "must be a list, not " + std::string(config::Describe(*list.value)));
    return;
  }
  for (std::size_t i = 0; i < items->size(); ++i) visit((*items)[i], list.path + '[' + std::to_string(i) + ']');
}

template <typename Visit>
void ForEachMember(const Field& map, FieldErrors& errors, Visit visit) {
  if (map.value == nullptr) return;
  const json::object* members = map.value->if_object();
  if (members == nullptr) {
    errors.Add(map.path, "must be an object, not " + std::string(config::Describe(*map.value)));
    return;
  }
  for (const auto& member : *members) {
    std::string key(member.key());
    std::string path = map.path + '.' + key;
    visit(std::move(key), member.value(), path);
  }
}

// A string, or a number that stands for a name.
std::optional<std::string> TextOf(const json::value& value) {
  if (const json::string* text = value.if_string()) return std::string(*text);
  return std::nullopt;
}

json::object ConfigurationOf(json::object profile) {
  return json::object{
      {"apiVersion", config::kApiVersion}, {"kind", config::kKind}, {"profiles", json::array{std::move(profile)}}};
}

// A profile with only this plugin. QueueSort and Bind plugins are added once it is known if the plugin has these
// points. `args` is null when there are none.
json::object LoneProfile(const std::string& plugin, std::int64_t weight, const json::value* args) {
  json::object multi_point{{"disabled", json::array{json::object{{"name", "*"}}}},
                           {"enabled", json::array{json::object{{"name", plugin}, {"weight", weight}}}}};
  json::object profile{{"plugins", json::object{{"multiPoint", std::move(multi_point)}}}};
  if (args != nullptr) profile["pluginConfig"] = json::array{json::object{{"name", plugin}, {"args", *args}}};
  return ConfigurationOf(std::move(profile));
}

// Accepts a whole configuration or one profile.
std::string DocumentOf(const json::object& configuration) {
  return codec::WriteJson(configuration.contains("kind") ? configuration : ConfigurationOf(configuration));
}

// Null for an empty text.
Expected<json::value> ParseNamed(std::string_view name, std::string_view yaml) {
  if (yaml.empty()) return json::value();
  auto parsed = codec::ParseYaml(yaml, {.bytes_max = kCaseFileBytesMax});
  if (!parsed.ok()) return parsed.error().Wrap(name);
  return parsed;
}

Expected<config::KubeSchedulerConfiguration> LoadValid(std::string_view document) {
  BERTH_ASSIGN_OR_RETURN(auto loaded, config::LoadConfiguration(document));
  BERTH_RETURN_IF_ERROR(config::ValidateConfiguration(loaded));
  return loaded;
}

class CaseReader {
 public:
  CaseReader(const std::string& folder, const ReadCaseConfig& read_config, FieldErrors& errors)
      : folder_(folder), read_config_(read_config), errors_(errors) {}

  // `expects` has the expectations of the case about its pods.
  std::optional<PluginCase> Read(ObjectReader& expects, const PluginsOf& plugins, const Scene& scene,
                                 std::string name) {
    const std::size_t before = errors_.count();
    PluginCase out;
    out.name = std::move(name);
    ReadConfiguration(plugins, scene.args, out);
    ReadCluster(scene, out);
    ReadPending(expects, out);
    ReadExpectations(expects, out);
    if (errors_.count() > before) return std::nullopt;
    return out;
  }

 private:
  void ReadConfiguration(const PluginsOf& plugins, const Field& args, PluginCase& out) {
    auto document = Document(plugins, args, out);
    if (!document.ok()) {
      errors_.Add(plugins.config.path.empty() ? "config" : plugins.config.path, document.error().message);
      return;
    }
    out.lone_plugin = plugins.plugin;
    auto loaded = LoadValid(*document);
    if (!loaded.ok()) {
      errors_.Add(plugins.plugin.empty() ? plugins.config.path : "args", loaded.error().message);
      return;
    }
    out.configuration = std::move(*loaded);
    scheduler_name_ = out.configuration.profiles.front().scheduler_name;
  }

  Expected<std::string> Document(const PluginsOf& plugins, const Field& args, PluginCase& out) {
    out.files_from = folder_ + "/.";
    if (!plugins.plugin.empty()) return codec::WriteJson(LoneProfile(plugins.plugin, plugins.weight, args.value));
    if (args.value != nullptr) return InvalidError("args are the arguments of plugin, which is not there");
    const json::value& config = *plugins.config.value;
    if (const auto path = TextOf(config)) {
      out.files_from = path->starts_with('/') || folder_.empty() ? *path : folder_ + '/' + *path;
      return read_config_(out.files_from);
    }
    const json::object* object = config.if_object();
    if (object == nullptr)
      return InvalidError("must be the path of a file, a KubeSchedulerConfiguration or one profile of it");
    return DocumentOf(*object);
  }

  void ReadCluster(const Scene& scene, PluginCase& out) {
    node_names_.clear();
    has_bad_node_ = false;
    std::set<std::string> pod_keys;
    ForEach(scene.nodes, errors_, [&](const json::value& item, const std::string& path) {
      const NodePtr node = ReadCaseNode(item, path, errors_);
      if (node == nullptr) {
        has_bad_node_ = true;
        return;
      }
      if (!node_names_.insert(node->metadata.name).second) errors_.Duplicate(path + ".name", node->metadata.name);
      out.nodes.push_back(node);
    });
    ForEach(scene.pods, errors_, [&](const json::value& item, const std::string& path) {
      const PodPtr pod = ReadCasePod(item, path, scheduler_name_, errors_);
      if (pod == nullptr) return;
      if (pod->spec.node_name.empty()) {
        errors_.Required(path + ".node", "pods without a node are pending");
      } else {
        CheckNode(pod->spec.node_name, path + ".node");
      }
      if (!pod_keys.insert(KeyOf(*pod)).second) errors_.Duplicate(path + ".name", KeyOf(*pod));
      out.pods.push_back(pod);
    });
    ForEach(scene.objects, errors_, [&](const json::value& item, const std::string& path) {
      ReadCaseObject(item, path, out.objects, errors_);
    });
  }

  void ReadPending(ObjectReader& reader, PluginCase& out) {
    const Field one = Take(reader, "pod");
    const Field several = Take(reader, "pending");
    std::set<std::string> keys;
    const auto add = [&](const json::value& item, const std::string& path) {
      const PodPtr pod = ReadCasePod(item, path, scheduler_name_, errors_);
      if (pod == nullptr) return;
      if (!pod->spec.node_name.empty()) errors_.Forbidden(path + ".node", "a pod that is to be scheduled has none");
      if (!keys.insert(KeyOf(*pod)).second) errors_.Duplicate(path + ".name", KeyOf(*pod));
      out.pending.push_back(pod);
    };
    if (one.value != nullptr && several.value != nullptr) {
      errors_.Forbidden(several.path, "may not be beside pod");
    } else if (one.value != nullptr) {
      add(*one.value, one.path);
    } else if (several.value != nullptr) {
      ForEach(several, errors_, add);
    } else {
      errors_.Required(one.path, "the pod to be scheduled, or a list of pending ones");
    }
  }

  void ReadExpectations(ObjectReader& reader, PluginCase& out) {
    const Field filter = Take(reader, "filter");
    const Field score = Take(reader, "score");
    const Field placed = Take(reader, "placed");
    const Field message = Take(reader, "message");
    const bool is_one = reader.Find("pod") != nullptr;
    if (!is_one && reader.Find("pending") == nullptr) return;  // the missing pod was reported already
    for (const Field* field : {&filter, &score, &message}) {
      if (field->value != nullptr && !is_one)
        errors_.Forbidden(field->path, "is about one pod: say pod instead of pending");
    }
    if (filter.value == nullptr && score.value == nullptr && placed.value == nullptr && message.value == nullptr)
      errors_.Required(reader.PathOf("filter"), "filter, score, placed or message: something should be expected");

    ForEachMember(filter, errors_, [&](std::string node, const json::value& value, const std::string& path) {
      CheckNode(node, path);
      if (const auto text = TextOf(value)) {
        out.filter.emplace_back(std::move(node), *text);
      } else {
        errors_.Add(path, "must be pass, refused or the reason, in quotes where it looks like a number");
      }
    });
    ForEachMember(score, errors_, [&](std::string key, const json::value& value, const std::string& path) {
      if (value.is_object()) {
        ForEachMember({&value, path}, errors_,
                      [&](std::string node, const json::value& of_node, const std::string& at) {
                        ReadScore(key, std::move(node), of_node, at, out);
                      });
      } else if (out.lone_plugin.empty()) {
        errors_.Add(path, "must be scores by node, under the plugin's name: config has several plugins");
      } else {
        ReadScore(out.lone_plugin, std::move(key), value, path, out);
      }
    });
    ReadPlacements(placed, is_one, out);
    if (message.value != nullptr) {
      out.message = TextOf(*message.value);
      if (!out.message)
        errors_.Add(message.path, "must be a string, not " + std::string(config::Describe(*message.value)));
    }
  }

  void ReadScore(std::string plugin, std::string node, const json::value& value, const std::string& path,
                 PluginCase& out) {
    CheckNode(node, path);
    if (const auto* number = value.if_int64()) {
      out.scores.push_back({std::move(plugin), std::move(node), *number});
    } else {
      errors_.Add(path, "must be a whole number, not " + std::string(config::Describe(value)));
    }
  }

  void ReadPlacements(const Field& placed, bool is_one, PluginCase& out) {
    if (placed.value == nullptr) return;
    if (is_one) {
      if (!out.pending.empty()) ReadPlacement(KeyOf(*out.pending.front()), *placed.value, placed.path, out);
      return;
    }
    ForEachMember(placed, errors_, [&](const std::string& name, const json::value& value, const std::string& path) {
      const std::string key = name.find('/') == std::string::npos ? "default/" + name : name;
      const bool is_known =
          std::any_of(out.pending.begin(), out.pending.end(), [&](const PodPtr& pod) { return KeyOf(*pod) == key; });
      if (!is_known) errors_.Invalid(path, name, "no pending pod has this name");
      ReadPlacement(key, value, path, out);
    });
  }

  void ReadPlacement(const std::string& pod, const json::value& value, const std::string& path, PluginCase& out) {
    PluginCase::Placement placement{pod, {}};
    const auto add = [&](const json::value& item, const std::string& at) {
      const auto node = TextOf(item);
      if (!node) {
        errors_.Add(at, "must be a node's name, a list of them, or none");
        return;
      }
      if (*node != kNowhere) CheckNode(*node, at);
      placement.nodes.push_back(*node);
    };
    if (value.is_array()) {
      ForEach({&value, path}, errors_, add);
    } else {
      add(value, path);
    }
    out.placements.push_back(std::move(placement));
  }

  // After an invalid node, names of nodes are not checked.
  void CheckNode(const std::string& name, const std::string& path) {
    if (!has_bad_node_ && !node_names_.contains(name)) errors_.Invalid(path, name, "no node has this name");
  }

  static std::string KeyOf(const api::Pod& pod) { return pod.metadata.namespace_name + "/" + pod.metadata.name; }

  const std::string& folder_;
  const ReadCaseConfig& read_config_;
  FieldErrors& errors_;
  std::string scheduler_name_;
  std::set<std::string> node_names_;
  bool has_bad_node_ = false;
};

}  // namespace

Expected<PluginCase> CaseOfPlugin(const std::string& plugin, std::string_view args) {
  BERTH_ASSIGN_OR_RETURN(const json::value parsed, ParseNamed("args", args));
  PluginCase out;
  out.lone_plugin = plugin;
  BERTH_ASSIGN_OR_RETURN(out.configuration,
                         LoadValid(codec::WriteJson(LoneProfile(plugin, 1, parsed.is_null() ? nullptr : &parsed))));
  return out;
}

Expected<PluginCase> CaseOfConfiguration(std::string_view configuration) {
  BERTH_ASSIGN_OR_RETURN(json::value parsed, ParseNamed("configuration", configuration));
  if (parsed.is_null()) parsed.emplace_object();
  if (!parsed.is_object())
    return InvalidError("configuration: must be a KubeSchedulerConfiguration or one profile of it");
  PluginCase out;
  BERTH_ASSIGN_OR_RETURN(out.configuration, LoadValid(DocumentOf(parsed.get_object())));
  return out;
}

Expected<std::vector<PluginCase>> ParsePluginCases(std::string_view text, const std::string& folder,
                                                   const std::string& stem, const ReadCaseConfig& read_config) {
  BERTH_ASSIGN_OR_RETURN(const json::value document, codec::ParseYaml(text, {.bytes_max = kCaseFileBytesMax}));
  FieldErrors errors;
  std::vector<PluginCase> cases;
  CaseReader read(folder, read_config, errors);
  {
    ObjectReader file(document, "", errors);
    const PluginsOf plugins = PluginsOf::Read(file);
    if (const auto wrong = errors.Result(); !wrong.ok()) return wrong.error();
    const Scene scene = Scene::Of(file);
    if (file.Find("cases") == nullptr) {
      std::string name = stem;
      file.Read("name", name);
      if (auto one = read.Read(file, plugins, scene, std::move(name))) cases.push_back(std::move(*one));
    } else {
      file.List("cases", [&](const json::value& item, const std::string& path) {
        if (cases.size() >= kCasesMax) return;
        ObjectReader own(item, path, errors);
        std::string name = stem + path.substr(std::string_view("cases").size());
        own.Read("name", name);
        if (auto one = read.Read(own, plugins, Scene::Of(own).Or(scene), std::move(name)))
          cases.push_back(std::move(*one));
      });
    }
  }
  BERTH_RETURN_IF_ERROR(errors.Result());
  return cases;
}

}  // namespace berth::authoring
