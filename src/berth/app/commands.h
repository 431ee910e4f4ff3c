// The subcommands of berth, and the options that their flags set. Each returns the process's exit status and says in
// one line on standard error why it failed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "berth/plugins/registry.h"

namespace berth::app {

// All that profiles may name: those that come with berth, and those of one's own.
using KnownPlugins = std::span<const plugins::PluginRegistration>;

// How long `berth run` waits for bindings under way when it is told to end, in seconds; as long again for events.
inline constexpr int kShutdownGraceSeconds = 5;

struct ConnectionOptions {
  std::string kubeconfig;
  std::string context;
  std::string master;
  std::optional<double> qps;
  std::optional<int> burst;
  // As in KubeSchedulerConfiguration's clientConnection; empty: JSON.
  std::string content_type;
  std::string accept_content_types;
};

struct RunOptions {
  ConnectionOptions connection;
  std::string config;          // a KubeSchedulerConfiguration file
  std::string scheduler_name;  // renames the default profile; not with config
  std::optional<std::uint64_t> seed;
  std::string metrics_bind_address;       // plain HTTP; empty: not served
  bool pods_by_annotation = false;        // see scheduler::PodChoice
  std::optional<std::string> namespaces;  // separated by commas; default: every one
  bool once = false;
  // With `once`, how long a pod is waited for that met an error or waits for its victims, while none is placed.
  int once_patience_s = 30;
};

struct ApiServerCommandOptions {
  std::string listen = "127.0.0.1:8001";
  int nodes = 0;
};

struct KubeletsOptions {
  ConnectionOptions connection;
  int nodes = 5;
};

struct DemoOptions {
  bool serve = false;
  std::string listen = "127.0.0.1:8001";
  int nodes = 5;
  int replicas = 3;
  std::uint64_t seed = 1;
  std::string config;  // a KubeSchedulerConfiguration file, whose first profile schedules; empty: the default one
  std::string policy;  // the policy to show, on a cluster of its own; empty: the plain demo
};

enum class PriceAction : std::uint8_t { kList, kSet, kRandom, kImport, kClear };

struct PriceOptions {
  ConnectionOptions connection;
  PriceAction action = PriceAction::kList;
  std::string annotation;             // its key; empty: the usual ones
  std::string selector;               // of nodes by labels; not with kSet
  std::string node;                   // kSet
  std::string price;                  // kSet
  std::optional<std::uint64_t> seed;  // kRandom
  std::string file;                   // kImport
  bool dry_run = false;               // not with kList
};

int RunOnCluster(const RunOptions& options, KnownPlugins plugins);
int RunApiServer(const ApiServerCommandOptions& options);
int RunKubelets(const KubeletsOptions& options);
int RunDemo(const DemoOptions& options, KnownPlugins plugins);
int RunPrice(const PriceOptions& options);

}  // namespace berth::app
