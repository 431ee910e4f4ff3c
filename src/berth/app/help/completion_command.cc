// SPDX-License-Identifier: Apache-2.0
#include "berth/app/help/completion_command.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/app/commands.h"
#include "berth/app/common_flags.h"
#include "berth/app/help/completion.h"
#include "berth/app/process.h"
#include "berth/app/questions/question_flags.h"
#include "berth/base/time.h"
#include "berth/codec/json_reader.h"
#include "berth/shell/cli/exit_codes.h"

namespace berth::app {
namespace {

// Somebody waits at a prompt.
constexpr Duration kNamesTimeout = std::chrono::seconds(1);
constexpr int kNamesMax = 500;

constexpr std::size_t kBytesMax = std::size_t{8} << 20;
// Of pods and nodes only what names them.
constexpr const char* kNamesOnly = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

QuestionOptions OptionsOf(const TypedFlags& typed) {
  const auto value = [&](const char* flag) {
    const auto found = typed.find(flag);
    return found == typed.end() ? std::string() : found->second;
  };
  QuestionOptions options;
  options.connection.kubeconfig = value("kubeconfig");
  if (const char* const file = std::getenv("KUBECONFIG"); options.connection.kubeconfig.empty() && file != nullptr)
    options.connection.kubeconfig = file;
  options.connection.context = value("context");
  options.connection.master = value("master");
  options.namespace_name = value("namespace");
  return options;
}

std::vector<std::string> NamesOfList(std::string_view body) {
  std::vector<std::string> names;
  codec::JsonReader reader;
  const auto list = reader.Parse(body);
  if (!list.ok()) return names;
  const auto items = codec::FindMember(*list, "items");
  if (!items || !items->is_array()) return names;
  const simdjson::dom::array objects = items->get_array().value();
  for (const simdjson::dom::element item : objects) {
    if (const auto metadata = codec::FindMember(item, "metadata"))
      names.emplace_back(codec::StringOrEmpty(*metadata, "name"));
  }
  return names;
}

// Of the cluster and namespace that the typed flags mean; none where it cannot be read in time, or a snapshot is meant.
// `hint`: see NamesOf.
std::vector<std::string> NamesInCluster(std::string_view hint, const TypedFlags& typed) {
  if (typed.contains("snapshot")) return {};
  const QuestionOptions options = OptionsOf(typed);
  std::string namespace_name;
  if (hint == kPodHint) {
    auto meant = NamespaceOf(options);
    if (!meant.ok()) return {};
    namespace_name = std::move(*meant);
  }
  const std::string_view resource = hint == kPodHint ? "pods" : hint == kNodeHint ? "nodes" : "namespaces";
  const SystemClock clock;
  const auto to = Connection::Make(WithHomeKubeconfig(options.connection), clock, RandomSeed());
  if (!to.ok()) return {};
  net::Request request;
  request.target = client::WithQuery(client::ObjectPath("/api/v1", namespace_name, resource),
                                     {{"limit", std::to_string(kNamesMax)}});
  request.headers.push_back({"Accept", kNamesOnly});
  client::RestOptions how;
  how.timeout = kNamesTimeout;
  how.tries = 1;
  how.body_bytes_max = kBytesMax;
  const auto response = (*to)->rest().DoSync(std::move(request), how);
  (*to)->Stop();
  return response.ok() ? NamesOfList(response->body) : std::vector<std::string>();
}

// bash cuts words at = and : where COMP_WORDBREAKS has them, and replaces only what follows.
constexpr std::string_view kBash = R"SCRIPT(# Completion of berth for bash: source <(berth completion bash)
_berth() {
  local rest=${COMP_LINE:0:COMP_POINT} words=() lead part i
  for ((i = 0; i < COMP_CWORD; i++)); do
    part=${COMP_WORDS[i]}
    lead=${rest%%"$part"*}
    rest=${rest#"$lead$part"}
    if [[ $i -gt 0 && -z $lead ]]; then words[-1]+=$part; else words+=("$part"); fi
  done
  part=${rest#"${rest%%[![:space:]]*}"}
  if [[ $i -gt 0 && $part == "$rest" ]]; then words[-1]+=$part; else words+=("$part"); fi
  words=("${words[@]//[\"\'\\]/}")
  words=("${words[@]/#\~\//$HOME/}")

  local out last=${words[-1]} cut=""
  mapfile -t out < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  [[ ${#out[@]} -gt 0 ]] || return
  if [[ $last == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]]; then cut=${last%"${last##*[=:]}"}; fi
  COMPREPLY=()
  for part in "${out[@]:0:${#out[@]}-1}"; do
    part=${part%%$'\t'*}
    COMPREPLY+=("${part#"$cut"}")
  done
  case ${out[-1]} in
    :0) compopt -o default ;;
    :16) compopt -o dirnames ;;
  esac
}
complete -F _berth berth
)SCRIPT";

constexpr std::string_view kZsh = R"SCRIPT(#compdef berth
# Completion of berth for zsh: source <(berth completion zsh), after compinit; or a file _berth in a folder of $fpath.
_berth() {
  local -a typed out found
  local line text about
  typed=("${(@Q)words[2,CURRENT-1]}")
  typed=("${(@)typed/#\~\//$HOME/}")
  out=("${(@f)$("${(Q)words[1]/#\~\//$HOME/}" __complete "${typed[@]}" "${(Q)PREFIX}" 2>/dev/null)}")
  for line in "${(@)out[1,-2]}"; do
    text=${line%%$'\t'*}
    about=
    [[ $line == *$'\t'* ]] && about=${line#*$'\t'}
    found+=("${text//:/\\:}${about:+:$about}")
  done
  if (( ${#found} )); then
    _describe -t berth berth found
    return
  fi
  [[ $PREFIX == -*=* ]] && compset -P '*='
  case ${out[-1]} in
    :0) _files ;;
    :16) _files -/ ;;
  esac
}
compdef _berth berth
if [[ ${funcstack[1]} == _berth ]]; then _berth "$@"; fi
)SCRIPT";

constexpr std::string_view kFish = R"SCRIPT(# Completion of berth for fish: berth completion fish | source
function __berth_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l out ($words[1] __complete $words[2..-1] "$last" 2>/dev/null)
    test (count $out) -gt 0; or return
    set -l files $out[-1]
    set -e out[-1]
    if test (count $out) -gt 0
        printf '%s\n' $out
        return
    end
    set -l flag (string match -r -- '^--[^=]*=' "$last")
    set -l path (string replace -r -- '^--[^=]*=' '' "$last")
    switch $files
        case :0
            printf "$flag%s\n" (__fish_complete_path "$path")
        case :16
            printf "$flag%s\n" (__fish_complete_directories "$path")
    end
end
complete -c berth -e
complete -c berth -f -a '(__berth_complete)'
)SCRIPT";

int RunCompletion(const std::string& shell) {
  const std::string_view script = shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
  std::fwrite(script.data(), 1, script.size(), stdout);
  return cli::kExitOk;
}

}  // namespace

void AddCompletionCommand(Commands& commands) {
  const auto shell = std::make_shared<std::string>();
  cli::Command& command = commands.Add("completion", "a script that makes a shell complete berth's command lines",
                                       {[shell](config::KnownPlugins) { return RunCompletion(*shell); }});
  command.Argument("SHELL", *shell, "the shell").Required().OneOf({"bash", "zsh", "fish"});
  command.SetFooter(
      "  bash: source <(berth completion bash)      in ~/.bashrc\n"
      "  zsh:  source <(berth completion zsh)       in ~/.zshrc, after compinit\n"
      "  fish: berth completion fish | source       in ~/.config/fish/config.fish\n"
      "kubectl completes kubectl berth by itself, where a link to berth named kubectl_complete-berth is on the PATH.");
}

int RunComplete(const cli::Command& program, std::span<const std::string> words) {
  const std::string text = CompletionText(Complete(program, words, NamesInCluster));
  std::fwrite(text.data(), 1, text.size(), stdout);
  return cli::kExitOk;
}

}  // namespace berth::app
