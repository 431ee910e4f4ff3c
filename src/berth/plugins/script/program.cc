// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/script/program.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>

#include <lua.hpp>

#include "berth/base/random.h"
#include "berth/base/text.h"
#include "berth/codec/json.h"
#include "berth/framework/pod_requests.h"
#include "berth/languages/script/library.h"
#include "berth/plugins/helper/framework_names.h"
#include "berth/plugins/helper/outside_source.h"
#include "berth/plugins/script/declared_events.h"

namespace berth::plugins {
namespace {

using script::Failure;

constexpr std::size_t kReasonBytesMax = 256;
// What a script with a normalization may return: whole numbers up to it are doubles without loss.
constexpr double kRawMax = 9007199254740992;  // 2^53
// Such scores are kept as whole ten-thousandths, so that fractions count on each machine alike. Above kExactMax these
// would be too many: of those numbers the order is kept, in steps of kCoarseStep.
constexpr double kUnitsPerOne = 10'000;
constexpr double kExactMax = 9e12;
constexpr double kCoarseStep = 8;
static_assert(kExactMax * kUnitsPerOne + (kRawMax - kExactMax) / kCoarseStep <
              static_cast<double>(framework::kRawScoreMax));

std::int64_t RawOf(double score) {
  if (score <= kExactMax) return static_cast<std::int64_t>(std::floor(score * kUnitsPerOne + 0.5));
  return static_cast<std::int64_t>(kExactMax * kUnitsPerOne) +
         static_cast<std::int64_t>((score - kExactMax) / kCoarseStep);
}

double ScoreOf(std::int64_t raw) {
  const auto exact_max = static_cast<std::int64_t>(kExactMax * kUnitsPerOne);
  if (raw <= exact_max) return static_cast<double>(raw) / kUnitsPerOne;
  return kExactMax + static_cast<double>(raw - exact_max) * kCoarseStep;
}
constexpr const char* kNoRandomWhereKept =
    "math.random has no place in answers that are kept: leave out depends_on = \"node\" to draw";

// What the functions are tried with before anybody relies on them.
PodInfoPtr MadeUpPod() {
  auto pod_class = std::make_shared<framework::PodClass>();
  pod_class->namespace_name = "default";
  pod_class->spec.containers.emplace_back();
  pod_class->spec.containers.back().name = "made-up";
  framework::DerivePodClass(*pod_class);
  auto pod = std::make_shared<PodInfo>();
  pod->name = "made-up";
  pod->uid = "made-up";
  pod->pod_class = std::move(pod_class);
  return pod;
}

NodeInfo MadeUpNode() {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = "made-up";
  for (const auto& [resource, amount] :
       {std::pair("cpu", "4"), std::pair("memory", "16Gi"), std::pair("pods", "110")}) {
    node->allocatable.emplace_back(resource, api::Quantity::Parse(amount).value());
  }
  return NodeInfo(std::move(node));
}

// FNV-1a: the same in every process.
std::uint64_t HashName(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// The random numbers of the current call. The cycle and the node seed them, so that it does not matter which nodes were
// asked about before.
std::optional<Random> RandomOfCall(const ScriptContext& context) {
  if (context.pod == nullptr || context.is_kept) return std::nullopt;
  return Random(context.cycle_seed ^ (context.node == nullptr ? 0 : HashName(context.node->name())));
}

std::string WithArticle(lua_State* lua, int type) { return std::string("a ") + lua_typename(lua, type); }

std::string Shown(double value) {
  if (std::isnan(value)) return "nan";  // some have a sign
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%.14g", value);
  return text.data();
}

// As Lua reads a file: without a byte order mark, and a first line that begins with '#'.
std::string_view CodeOf(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  if (text.starts_with('#')) text.remove_prefix(std::min(text.find('\n'), text.size()));
  return text;
}

// What Lua has and a script has not.
constexpr std::string_view kAbsent[] = {
    "collectgarbage", "coroutine",    "debug",   "dofile", "getmetatable", "io",     "load",       "loadfile",
    "next",           "os",           "package", "print",  "rawequal",     "rawget", "rawlen",     "rawset",
    "require",        "setmetatable", "unpack",  "utf8",   "warn",         "xpcall", "loadstring", "_G"};

// The one of them that the message is about; empty: it is about something else.
std::string_view AbsentIn(std::string_view message) {
  constexpr std::string_view kBefore = "(global '";
  const std::size_t at = message.find(kBefore);
  if (at == std::string_view::npos) return {};
  message.remove_prefix(at + kBefore.size());
  const auto* found = std::find(std::begin(kAbsent), std::end(kAbsent), message.substr(0, message.find('\'')));
  return found == std::end(kAbsent) ? std::string_view() : *found;
}

// What an author may have meant, who knows the names from elsewhere; empty: something of his own.
std::string_view MeantBy(std::string_view global) {
  std::string plain;
  for (const char c : global) {
    if (c != '_') plain += LowerCase(c);
  }
  if (const std::size_t at = plain.find("normalis"); at == 0) plain.replace(0, 8, "normaliz");
  if (plain == "normalizescore" || plain == "normalizescores") plain = "normalize";
  for (const std::string_view known :
       {"prefilter", "filter", "score", "normalize", "normalization", "annotations", "events"}) {
    if (plain == known) return known;
  }
  return plain == "dependson" ? "depends_on" : std::string_view();
}

}  // namespace

ScriptProgram::ScriptProgram(const ScriptArgs& args, std::string_view name)
    : name_(name), cycle_instructions_max_(args.cycle_instructions_max), sandbox_(args.limits) {
  views_ = MakeScriptViews(sandbox_, context_);
  sandbox_.random().SetSource([this] { return RandomOfCall(context_); });
}

Expected<std::unique_ptr<ScriptProgram>> ScriptProgram::Load(const ScriptArgs& args, std::string_view name,
                                                             std::string_view text) {
  std::unique_ptr<ScriptProgram> program(new ScriptProgram(args, name));
  BERTH_ASSIGN_OR_RETURN(const codec::json::value own, codec::ParseJson(args.args_json));
  program->sandbox_.SetGlobal("args", own);
  if (!program->sandbox_.Run(CodeOf(text))) {
    program->Fail(program->sandbox_.failure(), nullptr, nullptr);
    return InvalidError(program->error_);
  }
  BERTH_RETURN_IF_ERROR(program->Declare());
  if (!program->sandbox_.Freeze()) {
    program->Fail(program->sandbox_.failure(), nullptr, nullptr);
    return InvalidError(program->error_);
  }
  BERTH_RETURN_IF_ERROR(program->DryRun());
  return program;
}

// ---- what the script says of itself ----

Error ScriptProgram::NotAsDeclared(const std::string& what) const {
  return InvalidError("script \"" + name_ + "\": " + what);
}

// Pins the global of that name; 0 where there is none.
Expected<int> ScriptProgram::TakeFunction(const char* name) {
  lua_State* lua = sandbox_.lua();
  const int type = lua_getglobal(lua, name);
  if (type == LUA_TFUNCTION) return sandbox_.Pin();
  lua_pop(lua, 1);
  if (type == LUA_TNIL) return 0;
  return NotAsDeclared(std::string(name) + " is a " + lua_typename(lua, type) + ": want a function");
}

// Takes the global text of that name; empty when there is none.
Expected<std::string> ScriptProgram::TakeText(const char* name) {
  lua_State* lua = sandbox_.lua();
  const int type = lua_getglobal(lua, name);
  std::string text = type == LUA_TSTRING ? std::string(TextAt(-1)) : std::string();
  lua_pop(lua, 1);
  if (type == LUA_TNIL || type == LUA_TSTRING) return text;
  return NotAsDeclared(std::string(name) + " is a " + lua_typename(lua, type) + ": want a string");
}

Expected<std::vector<std::string>> ScriptProgram::TakeTexts(const char* name, std::size_t count_max) {
  lua_State* lua = sandbox_.lua();
  std::vector<std::string> texts;
  const int type = lua_getglobal(lua, name);
  bool is_good = type == LUA_TNIL || type == LUA_TTABLE;
  const std::size_t count = type == LUA_TTABLE ? lua_rawlen(lua, -1) : 0;
  if (type == LUA_TTABLE && count == 0) {
    lua_pushnil(lua);
    if (lua_next(lua, -2) != 0) {
      is_good = false;
      lua_pop(lua, 2);
    }
  }
  for (std::size_t i = 1; is_good && i <= count && i <= count_max; ++i) {
    is_good = lua_rawgeti(lua, -1, static_cast<lua_Integer>(i)) == LUA_TSTRING;
    if (is_good) texts.emplace_back(TextAt(-1));
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
  if (!is_good) return NotAsDeclared(std::string(name) + ": want a list of strings, {\"one\", \"two\"}");
  if (count > count_max) return NotAsDeclared(std::string(name) + ": more than " + std::to_string(count_max));
  return texts;
}

// What nobody would ever ask about is refused, rather than left unsaid.
Expected<void> ScriptProgram::CheckNames() {
  lua_State* lua = sandbox_.lua();
  std::string wrong;
  lua_pushglobaltable(lua);
  lua_pushnil(lua);
  while (lua_next(lua, -2) != 0) {
    lua_pop(lua, 1);
    if (lua_type(lua, -1) != LUA_TSTRING) continue;
    const std::string_view name = TextAt(-1);
    const std::string_view meant = MeantBy(name);
    // The first of several: tables are in no order.
    if (!meant.empty() && meant != name && (wrong.empty() || name < wrong)) wrong = name;
  }
  lua_pop(lua, 1);
  if (wrong.empty()) return {};
  return NotAsDeclared("has a global \"" + Printable(wrong, 40) + "\": want " + std::string(MeantBy(wrong)));
}

Expected<void> ScriptProgram::Declare() {
  BERTH_RETURN_IF_ERROR(CheckNames());
  BERTH_ASSIGN_OR_RETURN(prefilter_, TakeFunction("prefilter"));
  BERTH_ASSIGN_OR_RETURN(filter_, TakeFunction("filter"));
  BERTH_ASSIGN_OR_RETURN(score_, TakeFunction("score"));
  BERTH_ASSIGN_OR_RETURN(normalize_, TakeFunction("normalize"));
  if (prefilter_ == 0 && filter_ == 0 && score_ == 0)
    return NotAsDeclared(
        "has none of the functions filter(pod, node), score(pod, node) and prefilter(pod): want one, as a global, "
        "without \"local\"");
  if (normalize_ != 0 && score_ == 0) return NotAsDeclared("has a function normalize but no function score");
  declarations_.has_prefilter = prefilter_ != 0;
  declarations_.has_filter = filter_ != 0;
  declarations_.has_score = score_ != 0;
  declarations_.has_normalize = normalize_ != 0;

  BERTH_ASSIGN_OR_RETURN(const std::string depends_on, TakeText("depends_on"));
  if (!depends_on.empty() && depends_on != "node" && depends_on != "cycle")
    return NotAsDeclared("depends_on is \"" + Printable(depends_on, 40) + "\": want \"node\" or \"cycle\"");
  declarations_.is_node_local = context_.is_kept = depends_on == "node";
  if (context_.is_kept) sandbox_.random().SetReason(kNoRandomWhereKept);

  BERTH_ASSIGN_OR_RETURN(const std::string normalization, TakeText("normalization"));
  if (normalization == "max") {
    declarations_.normalization = Normalization::kMax;
  } else if (normalization == "max_reverse") {
    declarations_.normalization = Normalization::kMaxReverse;
  } else if (normalization == "lowest_first") {
    declarations_.normalization = Normalization::kLowestFirst;
  } else if (!normalization.empty() && normalization != "none") {
    return NotAsDeclared("normalization is \"" + Printable(normalization, 40) +
                         "\": want \"none\", \"max\", \"max_reverse\" or \"lowest_first\"");
  }
  if (normalize_ != 0) {
    if (!normalization.empty()) return NotAsDeclared("has both normalization and a function normalize");
    declarations_.normalization = Normalization::kCustom;
  }

  BERTH_ASSIGN_OR_RETURN(declarations_.annotations, TakeTexts("annotations", ScriptDeclarations::kAnnotationsMax));
  context_.annotations = declarations_.annotations;
  if (lua_getglobal(sandbox_.lua(), "events") != LUA_TNIL) declarations_.events.emplace();
  lua_pop(sandbox_.lua(), 1);
  BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> events, TakeTexts("events", ScriptDeclarations::kEventsMax));
  for (const std::string& text : events) {
    const auto event = ParseEvent(text);
    if (!event.ok()) return NotAsDeclared(event.error().message);
    declarations_.events->push_back(*event);
  }
  return {};
}

// ---- trying it ----

// The functions once, with a pod and a node that have as good as nothing. What a script says of them does not matter,
// nor that it trips over something that they do not have and others do.
Expected<void> ScriptProgram::DryRun() {
  const PodInfoPtr pod = MadeUpPod();
  const NodeInfo node = MadeUpNode();
  bool has_failed = false;
  const auto judge = [&](bool is_good) { has_failed |= !is_good && !IsFaultOfMadeUpNode(); };
  if (prefilter_ != 0) judge(PreFilter(*pod, 0).kind != PreFilterAnswer::Kind::kFailed);
  if (!has_failed && filter_ != 0) judge(Filter(*pod, node, 0).verdict != Verdict::kFailed);
  std::optional<std::int64_t> score;
  if (!has_failed && score_ != 0) {
    score = Score(*pod, node, 0);
    judge(score.has_value());
  }
  if (!has_failed && normalize_ != 0) {
    Scores scores{{node.name(), score.value_or(0)}};
    judge(Normalize(*pod, 0, scores));
  }
  if (!has_failed) return {};
  return InvalidError(error_);
}

bool ScriptProgram::IsFaultOfMadeUpNode() const {
  if (failure_kind_ != Failure::Kind::kRuntime) return false;
  if (is_nothing_) return true;
  // Names that nothing defines are nil whatever the pod and the node have.
  return error_.find("(global '") == std::string::npos &&
         error_.find("attempt to call a nil value") == std::string::npos;
}

// ---- calls ----

void ScriptProgram::Begin(const PodInfo& pod, const NodeInfo* node, std::uint64_t seed) {
  context_.pod = &pod;
  context_.node = node;
  ++context_.call;
  context_.cycle_seed = seed;
  is_nothing_ = false;
}

void ScriptProgram::EndRows() {
  context_.nodes = nullptr;
  for (ScriptContext::LabelColumn& column : context_.label_columns) column.values = {};
}

void ScriptProgram::End() {
  context_.pod = nullptr;
  context_.node = nullptr;
}

// Each call ends by itself, but a cycle makes one for every node.
bool ScriptProgram::IsCycleSpent(const PodInfo& pod, const NodeInfo* node, std::uint64_t seed) {
  if (context_.cycle_seed != seed) cycle_instructions_ = 0;
  if (cycle_instructions_ < cycle_instructions_max_) return false;
  Fail({Failure::Kind::kLimit, 0,
        "over " + std::to_string(cycle_instructions_max_) + " instructions in one cycle (cycleInstructionsMax)"},
       &pod, node);
  return true;
}

bool ScriptProgram::Call(int function, const PodInfo& pod, const NodeInfo* node, std::uint64_t seed, int results) {
  if (IsCycleSpent(pod, node, seed)) return false;
  lua_State* lua = sandbox_.lua();
  Begin(pod, node, seed);
  lua_pushvalue(lua, function);
  lua_pushvalue(lua, views_.pod);
  if (node != nullptr) lua_pushvalue(lua, views_.node);
  return MakeCall(node == nullptr ? 1 : 2, results, pod, node);
}

// Makes the call whose function and arguments are on the stack, and charges the cycle.
bool ScriptProgram::MakeCall(int arguments, int results, const PodInfo& pod, const NodeInfo* node) {
  const bool is_done = sandbox_.Call(arguments, results);
  cycle_instructions_ += sandbox_.CostOfCall();
  End();
  if (!is_done) Fail(sandbox_.failure(), &pod, node);
  return is_done;
}

void ScriptProgram::Fail(const Failure& failure, const PodInfo* pod, const NodeInfo* node) {
  failure_kind_ = failure.kind;
  error_ = "script \"" + name_ + "\"";
  if (failure.line > 0) error_ += ", line " + std::to_string(failure.line);
  error_ += ": " + Printable(failure.message, 400);
  if (const std::string_view absent = AbsentIn(failure.message); !absent.empty())
    error_ += ": scripts have no \"" + std::string(absent) + "\"";
  if (pod == nullptr) return;
  error_ += " (pod " + pod->Key();
  if (node != nullptr) error_ += ", node " + node->name();
  error_ += ")";
}

void ScriptProgram::FailWith(std::string message, const PodInfo& pod, const NodeInfo* node) {
  Fail({is_nothing_ ? Failure::Kind::kRuntime : Failure::Kind::kRule, 0, std::move(message)}, &pod, node);
}

// The text of the value at `index`, which is a string.
std::string_view ScriptProgram::TextAt(int index) const {
  std::size_t size = 0;
  const char* text = lua_tolstring(sandbox_.lua(), index, &size);
  return {text, size};
}

// What is wrong with the second and third of three values on the stack, which say why a function refused.
std::string ScriptProgram::ProblemOfRefusal(const char* function) const {
  lua_State* lua = sandbox_.lua();
  const int reason = lua_type(lua, -2);
  if (reason != LUA_TNIL && reason != LUA_TSTRING)
    return std::string("the reason that ") + function + " returned is a " + lua_typename(lua, reason) +
           ": want a string";
  if (lua_type(lua, -1) == LUA_TNIL || IsForGood()) return {};
  return std::string("the third value that ") + function + " returned: want \"unresolvable\" or nothing";
}

bool ScriptProgram::IsForGood() const {
  return lua_type(sandbox_.lua(), -1) == LUA_TSTRING && TextAt(-1) == "unresolvable";
}

// The second of three values on the stack, which is a string or nil.
std::string_view ScriptProgram::TakeReason() {
  if (lua_type(sandbox_.lua(), -2) != LUA_TSTRING) return {};
  // Most often the one that was given for the node before.
  if (const std::string_view reason = TextAt(-2); reason != reason_) reason_ = Printable(reason, kReasonBytesMax);
  return reason_;
}

ScriptProgram::FilterAnswer ScriptProgram::Filter(const PodInfo& pod, const NodeInfo& node, std::uint64_t seed,
                                                  NodeIndex row) {
  lua_State* lua = sandbox_.lua();
  context_.row = row;
  if (!Call(filter_, pod, &node, seed, 3)) return {Verdict::kFailed, {}};
  const int type = lua_type(lua, -3);
  FilterAnswer answer;
  if (type != LUA_TBOOLEAN || lua_toboolean(lua, -3) == 0) {
    is_nothing_ = type == LUA_TNIL && lua_type(lua, -2) == LUA_TNIL;
    std::string problem;
    if ((type != LUA_TBOOLEAN && type != LUA_TNIL) || is_nothing_) {
      problem = std::string("filter returned ") + (is_nothing_ ? std::string("nothing") : WithArticle(lua, type)) +
                ": want true, or false and a reason";
    } else {
      problem = ProblemOfRefusal("filter");
    }
    if (problem.empty()) {
      answer = {IsForGood() ? Verdict::kRefusedForGood : Verdict::kRefused, TakeReason()};
    } else {
      answer.verdict = Verdict::kFailed;
      FailWith(std::move(problem), pod, &node);
    }
  }
  lua_pop(lua, 3);
  return answer;
}

// The number on top of the stack, which stays there. nullopt: `problem` says why not.
std::optional<double> ScriptProgram::TakeScore(const char* function, double max, std::string& problem) {
  lua_State* lua = sandbox_.lua();
  const int type = lua_type(lua, -1);
  is_nothing_ = type == LUA_TNIL;
  if (type != LUA_TNUMBER) {
    problem = std::string(function) + " returned " + (is_nothing_ ? std::string("nothing") : WithArticle(lua, type)) +
              ": want a number";
    return std::nullopt;
  }
  const double value = lua_tonumber(lua, -1);
  if (value >= 0 && std::floor(value) <= max) return value;
  problem = std::string(function) + " returned " + Shown(value) + ": want a number from 0 to " +
            std::to_string(static_cast<std::int64_t>(max));
  return std::nullopt;
}

std::optional<std::int64_t> ScriptProgram::Score(const PodInfo& pod, const NodeInfo& node, std::uint64_t seed,
                                                 NodeIndex row) {
  context_.row = row;
  if (!Call(score_, pod, &node, seed, 1)) return std::nullopt;
  const bool is_raw = declarations_.normalization != Normalization::kNone;
  std::string problem;
  const auto score = TakeScore("score", is_raw ? kRawMax : framework::kNodeScoreMax, problem);
  lua_pop(sandbox_.lua(), 1);
  if (!score) {
    if (!is_raw && problem.find("from 0") != std::string::npos) problem += ", or a declared normalization";
    FailWith(std::move(problem), pod, &node);
    return std::nullopt;
  }
  return is_raw ? RawOf(*score) : static_cast<std::int64_t>(*score);
}

ScriptProgram::PreFilterAnswer ScriptProgram::PreFilter(const PodInfo& pod, std::uint64_t seed) {
  using Kind = PreFilterAnswer::Kind;
  lua_State* lua = sandbox_.lua();
  PreFilterAnswer answer;
  answer.kind = Kind::kFailed;
  if (!Call(prefilter_, pod, nullptr, seed, 3)) return answer;
  const int type = lua_type(lua, -3);
  const bool has_reason = lua_type(lua, -2) != LUA_TNIL;
  std::string problem;
  if ((type == LUA_TBOOLEAN && lua_toboolean(lua, -3) != 0) || (type == LUA_TNIL && !has_reason)) {
    answer.kind = Kind::kAll;
  } else if (type == LUA_TSTRING && TextAt(-3) == "skip") {
    answer.kind = Kind::kSkip;
  } else if (type == LUA_TTABLE) {
    lua_pushvalue(lua, -3);
    if (TakeNodeNames(answer.node_names)) {
      answer.kind = Kind::kNarrowed;
    } else {
      problem = "prefilter returned a table: want a list of node names";
    }
    lua_pop(lua, 1);
  } else if (type == LUA_TBOOLEAN || type == LUA_TNIL) {
    problem = ProblemOfRefusal("prefilter");
    if (problem.empty()) {
      answer.kind = IsForGood() ? Kind::kRefusedForGood : Kind::kRefused;
      answer.reason = TakeReason();
    }
  } else {
    problem = "prefilter returned " + WithArticle(lua, type) +
              ": want true, \"skip\", a list of node names, or false and a reason";
  }
  lua_pop(lua, 3);
  if (answer.kind == Kind::kFailed) FailWith(std::move(problem), pod, nullptr);
  return answer;
}

// From the list on top of the stack, which stays there.
bool ScriptProgram::TakeNodeNames(std::set<std::string>& names) {
  lua_State* lua = sandbox_.lua();
  // A list of the script's top level is frozen, and its entries elsewhere.
  script::PushEntries(lua, lua_gettop(lua));
  const std::size_t count = lua_rawlen(lua, -1);
  bool is_good = true;
  for (std::size_t i = 1; is_good && i <= count; ++i) {
    is_good = lua_rawgeti(lua, -1, static_cast<lua_Integer>(i)) == LUA_TSTRING;
    if (is_good) names.emplace(TextAt(-1));
    lua_pop(lua, 1);
  }
  if (count == 0) {
    lua_pushnil(lua);
    if (lua_next(lua, -2) != 0) {
      is_good = false;
      lua_pop(lua, 2);
    }
  }
  lua_pop(lua, 1);
  return is_good;
}

bool ScriptProgram::Normalize(const PodInfo& pod, std::uint64_t seed, Scores& scores) {
  if (IsCycleSpent(pod, nullptr, seed)) return false;
  lua_State* lua = sandbox_.lua();
  Begin(pod, nullptr, seed);
  lua_pushvalue(lua, normalize_);
  lua_createtable(lua, 0, static_cast<int>(scores.size()));
  for (const auto& [node, score] : scores) {
    lua_pushlstring(lua, node.data(), node.size());
    const double number = ScoreOf(score);
    if (number == std::floor(number)) {
      lua_pushinteger(lua, static_cast<lua_Integer>(number));
    } else {
      lua_pushnumber(lua, number);
    }
    lua_rawset(lua, -3);
  }
  lua_pushvalue(lua, views_.pod);
  if (!MakeCall(2, 1, pod, nullptr)) return false;
  std::string problem;
  if (lua_type(lua, -1) != LUA_TTABLE) {
    is_nothing_ = lua_type(lua, -1) == LUA_TNIL;
    problem = std::string("normalize returned ") +
              (is_nothing_ ? std::string("nothing") : WithArticle(lua, lua_type(lua, -1))) +
              ": want a table with a score for each node";
  } else {
    script::PushEntries(lua, lua_gettop(lua));
    for (auto& [node, score] : scores) {
      lua_pushlstring(lua, node.data(), node.size());
      lua_rawget(lua, -2);
      const auto normalized = TakeScore("normalize", framework::kNodeScoreMax, problem);
      lua_pop(lua, 1);
      if (!normalized) {
        problem += " (node " + std::string(node) + ")";
        break;
      }
      score = static_cast<std::int64_t>(*normalized);
    }
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
  if (problem.empty()) return true;
  FailWith(std::move(problem), pod, nullptr);
  return false;
}

}  // namespace berth::plugins
