// SPDX-License-Identifier: Apache-2.0
#include "berth/app/leader_election_flags.h"

#include <CLI/CLI.hpp>

namespace berth::app {
namespace {

// As Go's strconv.ParseBool.
std::optional<bool> ParseBool(const std::string& text) {
  for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return true;
  for (const char* no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return false;
  return std::nullopt;
}

void AddDuration(CLI::App& command, const std::string& name, std::optional<Duration>& to, const std::string& help) {
  command
      .add_option_function<std::string>(
          name,
          [name, &to](const std::string& text) {
            to = ParseGoDuration(text);
            if (!to) throw CLI::ValidationError(name, '"' + text + "\" is no duration such as 15s");
          },
          help)
      ->type_name("DURATION");
}

}  // namespace

void AddLeaderElection(CLI::App& command, LeaderElectionFlags& flags) {
  command
      .add_option_function<std::string>(
          "--leader-elect",
          [&flags](const std::string& text) {
            flags.leader_elect = ParseBool(text);
            if (!flags.leader_elect)
              throw CLI::ValidationError("--leader-elect", '"' + text + "\" is not true or false");
          },
          "of all that share a Lease, one schedules and the others stand by; default: the file's, else true, but false "
          "with --once")
      ->expected(0, 1)
      ->default_str("true")
      ->type_name("BOOL");
  AddDuration(command, "--leader-elect-lease-duration", flags.lease_duration,
              "how long others wait after they saw the last renewal; default: 15s");
  AddDuration(command, "--leader-elect-renew-deadline", flags.renew_deadline,
              "how long renewals may fail before the leader ends; default: 10s");
  AddDuration(command, "--leader-elect-retry-period", flags.retry_period, "between two tries; default: 2s");
  command.add_option("--leader-elect-resource-lock", flags.resource_lock, "leases, which is the only one");
  command.add_option("--leader-elect-resource-name", flags.resource_name,
                     "of the Lease; default: kube-scheduler, or what --scheduler-name says");
  command.add_option("--leader-elect-resource-namespace", flags.resource_namespace,
                     "of the Lease; default: kube-system");
}

void ApplyTo(config::LeaderElection& settings, const LeaderElectionFlags& flags) {
  settings.leader_elect = flags.leader_elect.value_or(settings.leader_elect);
  settings.lease_duration = flags.lease_duration.value_or(settings.lease_duration);
  settings.renew_deadline = flags.renew_deadline.value_or(settings.renew_deadline);
  settings.retry_period = flags.retry_period.value_or(settings.retry_period);
  settings.resource_lock = flags.resource_lock.value_or(settings.resource_lock);
  settings.resource_name = flags.resource_name.value_or(settings.resource_name);
  settings.resource_namespace = flags.resource_namespace.value_or(settings.resource_namespace);
}

}  // namespace berth::app
