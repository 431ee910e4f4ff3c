// SPDX-License-Identifier: Apache-2.0
// What all questions about a cluster share (`berth explain`, `berth simulate`, ...): their flags, and the reading of
// the cluster. Main thread, after cli::BlockSignals().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/app/connection.h"
#include "berth/app/questions/question_release.h"
#include "berth/base/expected.h"
#include "berth/shell/cli/command.h"
#include "berth/whatif/cluster_reader.h"
#include "berth/whatif/cluster_state.h"

namespace berth::whatif {
struct SnapshotContents;
}

namespace berth::app {

enum class QuestionOutput : std::uint8_t { kTable, kWide, kJson, kYaml };

// A berth that is asked in place of the cluster: a `berth serve`, or a scheduler's secure port.
struct ServerPort {
  std::string url;                        // "https://host:port"; empty: nobody is asked
  std::string ca_file;                    // empty: the kubeconfig's authority
  bool insecure_skip_tls_verify = false;  // anybody may be there
};

struct QuestionOptions {
  ConnectionOptions connection;
  ServerPort server;           // where the command has --server (question_server.h)
  std::string snapshot;        // a file of `berth snapshot`, in place of a cluster
  std::string namespace_name;  // --namespace; empty: see NamespaceOf()
  QuestionOutput output = QuestionOutput::kTable;
  std::string config;       // KubeSchedulerConfiguration's file; empty: the defaults
  QuestionRelease release;  // where the command has these flags (AddQuestionRelease)
  // No flags: whether the question needs ClusterState::pod_details, and ResourceQuotas.
  bool reads_pod_details = false;
  bool reads_quotas = false;
};

// Parsing fills the second argument of each, which must outlive it.
void AddQuestionFlags(cli::Command& command, QuestionOptions& options);

// With ~/.kube/config where nothing else says where the cluster is, as kubectl has it.
ConnectionOptions WithHomeKubeconfig(ConnectionOptions connection);

// --kubeconfig, --context and the others of AddConnection(), with ~/.kube/config where nothing else says where the
// cluster is.
void AddQuestionConnection(cli::Command& command, ConnectionOptions& options);

// -o alone.
void AddQuestionOutput(cli::Command& command, QuestionOutput& output);

// The API server that is meant: that of the flags, of ~/.kube/config or of the pod's service account; nullopt: none.
Expected<std::optional<client::ClientConfig>> QuestionServer(const ConnectionOptions& connection, const Clock& clock);

// The namespace that is meant: the flag's, that of the kubeconfig's context, or "default".
Expected<std::string> NamespaceOf(const QuestionOptions& options);

// The namespace of "NAMESPACE/NAME", which is taken away from the name; of "NAME" the one that is meant.
Expected<std::string> NamespaceIn(const QuestionOptions& options, std::string& name);

// Reads the cluster or the snapshot, with a progress line on a terminal; says on standard error what was left out.
// `contents` is what is in the snapshot's file; null: nobody asks.
Expected<whatif::ClusterState> ReadClusterFor(const QuestionOptions& options,
                                              whatif::SnapshotContents* contents = nullptr);

struct ServerReading {
  whatif::ObjectSink* sink = nullptr;  // objects go there and are not kept
  bool keeps_pod_details = false;      // see ClusterState::pod_details
  // See whatif::ClusterReadOptions.
  bool reads_pod_groups = false;
  bool reads_composite_pod_groups = false;
  bool reads_quotas = false;
};

// The same of an API server, whatever the other options.
Expected<whatif::ClusterState> ReadServer(const ConnectionOptions& connection, const ServerReading& how);

}  // namespace berth::app
