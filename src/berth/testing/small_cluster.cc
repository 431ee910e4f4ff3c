// SPDX-License-Identifier: Apache-2.0
#include "berth/testing/small_cluster.h"

#include <map>
#include <utility>

#include "berth/authoring/case_cluster.h"
#include "berth/authoring/case_verdicts.h"
#include "berth/base/check.h"
#include "berth/codec/yaml.h"
#include "berth/framework/node_table.h"
#include "berth/plugins/own_plugins.h"

namespace berth::testing {

class SmallCluster::State {
 public:
  static Expected<std::unique_ptr<State>> Make(std::vector<framework::PluginRegistration> plugins,
                                               const authoring::PluginCase& test) {
    std::vector<plugins::OwnPlugin> own;
    for (framework::PluginRegistration& plugin : plugins) own.push_back({std::move(plugin), {}});
    BERTH_ASSIGN_OR_RETURN(const auto known, plugins::AllPlugins(own));
    BERTH_ASSIGN_OR_RETURN(auto cluster, authoring::MakeCaseCluster(test, known));
    auto state = std::make_unique<State>();
    state->plugin_ = test.lone_plugin;
    state->scheduler_name_ = test.configuration.profiles.front().scheduler_name;
    state->cluster_ = std::move(cluster);
    return state;
  }

  authoring::CaseCluster& cluster() { return *cluster_; }
  const authoring::CaseCluster& cluster() const { return *cluster_; }
  const std::string& plugin() const { return plugin_; }

  void Add(api::Pod pod) {
    if (cluster_->ProfileOf(pod) == nullptr && pod.spec.scheduler_name == api::kDefaultSchedulerName)
      pod.spec.scheduler_name = scheduler_name_;
    pods_.insert_or_assign(pod.metadata.namespace_name + "/" + pod.metadata.name, pod);
    cluster_->SetPod(std::move(pod));
  }

  void RemovePod(std::string_view name) {
    cluster_->RemovePod(Pod(name).metadata.uid);
    pods_.erase(KeyOf(name));
  }

  const api::Pod& Pod(std::string_view name) const {
    const auto at = pods_.find(KeyOf(name));
    BERTH_CHECK(at != pods_.end(), "no pod of the test is called " + KeyOf(name));
    return at->second;
  }

  authoring::Verdicts VerdictsOn(std::string_view pod_name, std::string_view node) const {
    const api::Pod& pod = Pod(pod_name);
    BERTH_CHECK(cluster_->nodes().Find(node) != framework::kNoNode,
                "no node of the test is called " + std::string(node));
    BERTH_CHECK(cluster_->NodeOf(pod).empty(), KeyOf(pod_name) + " does not wait: it is on a node");
    return authoring::VerdictsOn(pod, *cluster_);
  }

 private:
  static std::string KeyOf(std::string_view name) {
    return name.find('/') == std::string_view::npos ? "default/" + std::string(name) : std::string(name);
  }

  std::string plugin_;  // the only plugin; empty: there may be several
  std::string scheduler_name_;
  std::unique_ptr<authoring::CaseCluster> cluster_;
  std::map<std::string, api::Pod> pods_;  // by namespace and name, as last added
};

namespace {

// The ways of calling the plugin that differ from the plain form; empty: none.
std::string Differences(const authoring::Verdicts& said) {
  std::string text;
  for (const authoring::Verdicts::Difference& difference : said.differences)
    text += (text.empty() ? "differs " : "; ") + difference.how + ": " + difference.said;
  return text;
}

}  // namespace

SmallCluster::SmallCluster(std::unique_ptr<State> state) : state_(std::move(state)) {}
SmallCluster::SmallCluster(SmallCluster&& other) noexcept = default;
SmallCluster& SmallCluster::operator=(SmallCluster&& other) noexcept = default;
SmallCluster::~SmallCluster() = default;

Expected<SmallCluster> SmallCluster::With(framework::PluginRegistration plugin, std::string_view args) {
  BERTH_ASSIGN_OR_RETURN(const authoring::PluginCase test, authoring::CaseOfPlugin(plugin.name, args));
  BERTH_ASSIGN_OR_RETURN(auto state, State::Make({std::move(plugin)}, test));
  return SmallCluster(std::move(state));
}

Expected<SmallCluster> SmallCluster::WithConfiguration(std::vector<framework::PluginRegistration> plugins,
                                                       std::string_view configuration) {
  BERTH_ASSIGN_OR_RETURN(const authoring::PluginCase test, authoring::CaseOfConfiguration(configuration));
  BERTH_ASSIGN_OR_RETURN(auto state, State::Make(std::move(plugins), test));
  return SmallCluster(std::move(state));
}

SmallCluster& SmallCluster::Add(const NodeBuilder& node) {
  state_->cluster().SetNode(node.Build());
  return *this;
}

SmallCluster& SmallCluster::Add(const PodBuilder& pod) {
  state_->Add(pod.Build());
  return *this;
}

SmallCluster& SmallCluster::AddObject(std::string_view manifest) {
  const auto document = codec::ParseYaml(manifest);
  BERTH_CHECK(document.ok(), document.error().message);
  config::FieldErrors errors;
  std::vector<framework::AnyObject> objects;
  authoring::ReadCaseObject(*document, "", objects, errors);
  const auto result = errors.Result();
  BERTH_CHECK(result.ok(), result.error().message);
  for (framework::AnyObject& object : objects) state_->cluster().SetObject(std::move(object));
  return *this;
}

SmallCluster& SmallCluster::RemoveNode(std::string_view node) {
  state_->cluster().RemoveNode(std::string(node));
  return *this;
}

SmallCluster& SmallCluster::RemovePod(std::string_view pod) {
  state_->RemovePod(pod);
  return *this;
}

std::string SmallCluster::Filter(std::string_view pod, std::string_view node) const {
  const authoring::Verdicts said = state_->VerdictsOn(pod, node);
  if (!said.error.empty()) return said.error;
  const std::string differences = Differences(said);
  return differences.empty() ? said.filter.find(std::string(node))->second : differences;
}

std::optional<std::int64_t> SmallCluster::Score(std::string_view pod, std::string_view node,
                                                std::string_view plugin) const {
  const authoring::Verdicts said = state_->VerdictsOn(pod, node);
  BERTH_CHECK(said.error.empty(), said.error);
  BERTH_CHECK(said.differences.empty(), Differences(said));
  const std::string asked = plugin.empty() ? state_->plugin() : std::string(plugin);
  BERTH_CHECK(!asked.empty(), "whose score? Several plugins are enabled: name one");
  const auto at = said.scores.find({asked, std::string(node)});
  return at == said.scores.end() ? std::nullopt : std::optional(at->second);
}

void SmallCluster::Run(Duration time_max) { state_->cluster().Run(time_max); }

std::string SmallCluster::NodeOf(std::string_view pod) const { return state_->cluster().NodeOf(state_->Pod(pod)); }

std::string SmallCluster::Message(std::string_view pod) const {
  const api::Pod& known = state_->Pod(pod);
  return state_->cluster().NodeOf(known).empty() ? state_->cluster().WhyNot(known) : std::string();
}

std::string SmallCluster::Place(const PodBuilder& pod) {
  Add(pod);
  Run();
  return NodeOf(pod.Build().metadata.namespace_name + "/" + pod.Build().metadata.name);
}

}  // namespace berth::testing
