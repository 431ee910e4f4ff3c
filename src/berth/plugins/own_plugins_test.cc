// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/own_plugins.h"

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/plugin.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugins {
namespace {

struct Rule {
  std::string label;
  std::int64_t bonus = 1;
};

// Reads one field of each type.
class Reads final : public Plugin {
 public:
  std::string_view Name() const override { return "Reads"; }
  static std::unique_ptr<Reads> Create(PluginArgs& args, Handle&) {
    auto plugin = std::make_unique<Reads>();
    args.Require("label", plugin->label);
    args.ReadInRange("weight", plugin->weight, 0, 10);
    args.Read("share", plugin->share);
    args.Read("strict", plugin->is_strict);
    args.Read("every", plugin->every);
    args.Read("zones", plugin->zones);
    args.Read("aliases", plugin->aliases);
    args.Object("rule", [&](PluginArgs& rule) { rule.Read("bonus", plugin->rule.bonus); });
    args.Objects("rules", [&](PluginArgs& rule) {
      Rule& slot = plugin->rules.emplace_back();
      rule.Require("label", slot.label);
      rule.Read("bonus", slot.bonus);
      if (slot.label == "bad") rule.Invalid("label", "must be good");
    });
    return plugin;
  }

  std::string label;
  std::int64_t weight = 3;
  double share = 0.5;
  bool is_strict = false;
  Duration every{};
  std::vector<std::string> zones{"a"};
  PluginArgs::StringsByKey aliases;
  Rule rule;
  std::vector<Rule> rules;
};

// The error of making it with these arguments, or "".
std::string Problem(const config::KnownPlugin& registration, const config::PluginArgs& args) {
  testing::FakeHandle handle;
  const auto created = registration.create(args, handle);
  return created.ok() ? "" : created.error().message;
}

TEST(OwnPlugins, ReadTheirArguments) {
  testing::FakeHandle handle;
  const config::KnownPlugin registration = KnownPluginOf(WithPlugin("Reads", Reads::Create));
  const auto created = registration.create(
      config::RawArgs{R"({"apiVersion": "v1", "kind": "ReadsArgs", "label": "rack", "weight": 10, "share": 2, "strict":
          true, "every": "1m30s", "zones": ["b", "c"], "aliases": {"x": "y"}, "rule": {"bonus": -7},
          "rules": [{"label": "l"}, {"label": "m", "bonus": 2.0}]})"},
      handle);
  ASSERT_TRUE(created.ok()) << created.error().message;
  const auto& plugin = dynamic_cast<const Reads&>(**created);
  EXPECT_EQ(plugin.label, "rack");
  EXPECT_EQ(plugin.weight, 10);
  EXPECT_EQ(plugin.share, 2);
  EXPECT_TRUE(plugin.is_strict);
  EXPECT_EQ(plugin.every, std::chrono::seconds(90));
  EXPECT_EQ(plugin.zones, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(plugin.aliases, (PluginArgs::StringsByKey{{"x", "y"}}));
  EXPECT_EQ(plugin.rule.bonus, -7);
  ASSERT_EQ(plugin.rules.size(), 2U);
  EXPECT_EQ(plugin.rules[0].bonus, 1);
  EXPECT_EQ(plugin.rules[1].bonus, 2);
}

TEST(OwnPlugins, KeepTheirDefaults) {
  testing::FakeHandle handle;
  const auto created = KnownPluginOf(WithPlugin("Reads", Reads::Create))
                           .create(config::RawArgs{R"({"label": "rack", "weight": null})"}, handle);
  ASSERT_TRUE(created.ok()) << created.error().message;
  const auto& plugin = dynamic_cast<const Reads&>(**created);
  EXPECT_EQ(plugin.weight, 3);
  EXPECT_EQ(plugin.share, 0.5);
  EXPECT_EQ(plugin.zones, std::vector<std::string>{"a"});
}

TEST(OwnPlugins, BadArgumentsNameTheirField) {
  const config::KnownPlugin registration = KnownPluginOf(WithPlugin("Reads", Reads::Create));
  struct Case {
    const char* json;
    const char* want;
  };
  for (const Case& test : std::vector<Case>{
           {R"({})", "args.label: Required value"},
           {R"({"label": ""})", "args.label: Required value"},
           {R"({"label": 7})", "args.label: must be a string, not a number"},
           {R"({"label": "l", "weight": 11})", "args.weight: Invalid value: 11: not in valid range [0, 10]"},
           {R"({"label": "l", "weight": "1"})", "args.weight: must be a whole number of 64 bits, not a string"},
           {R"({"label": "l", "weight": 1.5})", "args.weight: must be a whole number of 64 bits, not 1.5E0"},
           {R"({"label": "l", "share": "x"})", "args.share: must be a number, not a string"},
           {R"({"label": "l", "strict": 1})", "args.strict: must be a boolean, not a number"},
           {R"({"label": "l", "every": "soon"})",
            "args.every: must be a duration such as \"15s\" or \"1m30s\", not \"soon\""},
           {R"({"label": "l", "zones": "a"})", "args.zones: must be a list, not a string"},
           {R"({"label": "l", "zones": ["a", 1]})", "args.zones[1]: must be a string, not a number"},
           {R"({"label": "l", "aliases": []})", "args.aliases: must be a map of strings, not a list"},
           {R"({"label": "l", "aliases": {"x": 1}})", "args.aliases[x]: must be a string, not a number"},
           {R"({"label": "l", "rule": []})", "args.rule: must be an object, not a list"},
           {R"({"label": "l", "rule": {"bonus": true}})",
            "args.rule.bonus: must be a whole number of 64 bits, not a boolean"},
           {R"({"label": "l", "rules": [{"label": "l"}, {}]})", "args.rules[1].label: Required value"},
           {R"({"label": "l", "rules": [{"label": "bad"}]})",
            "args.rules[0].label: Invalid value: \"bad\": must be good"},
           {R"({"label": "l", "rules": [{"label": "l", "bonsu": 1}]})",
            "args.rules[0].bonsu: unknown field; known here: bonus, label"},
           {R"({"label": "l", "rules": [7]})", "args.rules[0]: must be an object, not a number"},
           {R"({"wieght": 1, "label": "l"})",
            "args.wieght: unknown field; known here: aliases, apiVersion, every, kind, label, rule, rules, share, "
            "strict, weight, zones; the nearest is weight"},
           {R"({"weight": -1})",
            "[args.label: Required value, args.weight: Invalid value: -1: not in valid range [0, 10]]"},
           {R"([])", "[args: must be an object, not a list, args.label: Required value]"},
       }) {
    EXPECT_EQ(Problem(registration, config::RawArgs{test.json}), std::string("plugin \"Reads\": ") + test.want)
        << test.json;
  }
  EXPECT_EQ(Problem(registration, config::InterPodAffinityArgs{}), "plugin \"Reads\": arguments of another plugin");
}

TEST(OwnPlugins, FactoriesMayFail) {
  struct Case {
    const char* what;
    framework::PluginRegistration own;
    const char* want;
  };
  const std::vector<Case> cases{
      {"no plugin", WithPlugin("P", [](PluginArgs&, Handle&) { return std::unique_ptr<Plugin>(); }),
       "plugin \"P\": its factory made no plugin"},
      {"an error",
       WithPlugin("P",
                  [](PluginArgs&, Handle&) -> Expected<std::unique_ptr<Plugin>> { return InvalidError("no key"); }),
       "plugin \"P\": no key"},
      {"bad arguments before an error",
       WithPlugin("P",
                  [](PluginArgs& args, Handle&) -> Expected<std::unique_ptr<Plugin>> {
                    args.Required("key");
                    return InvalidError("no key");
                  }),
       "plugin \"P\": args.key: Required value"},
      {"another name",
       WithPlugin("P",
                  [](PluginArgs&, Handle&) -> Expected<std::unique_ptr<Reads>> { return std::make_unique<Reads>(); }),
       "plugin \"P\": calls itself \"Reads\": its Name() should be the name that it is registered under"},
  };
  for (const Case& test : cases) EXPECT_EQ(Problem(KnownPluginOf(test.own), std::monostate()), test.want) << test.what;
}

TEST(OwnPlugins, NamesAreTakenOnce) {
  const auto own = [](std::string name, std::string file) {
    return OwnPlugin{WithPlugin(std::move(name), Reads::Create), std::move(file)};
  };
  struct Case {
    std::vector<OwnPlugin> plugins;
    const char* want;
  };
  const std::string bad = ": a name should have 1 to 128 visible ASCII characters, quotes aside, and not be *";
  for (const Case& test : std::vector<Case>{
           {{own("A", ""), own("B", "d/b.so")}, ""},
           {{own("NodeName", "")}, "plugin \"NodeName\": comes with berth: give yours another name"},
           {{own("NodeName", "d/n.so")}, "d/n.so: plugin \"NodeName\": comes with berth: give yours another name"},
           {{own("A", "d/a.so"), own("A", "d/b.so")},
            "d/b.so: plugin \"A\": the name is taken by a plugin of d/a.so: take one of the two away"},
           {{own("A", ""), own("A", "d/b.so")},
            "d/b.so: plugin \"A\": the name is taken by a plugin of this program: take one of the two away"},
       }) {
    const auto all = AllPlugins(test.plugins);
    EXPECT_EQ(all.ok() ? "" : all.error().message, test.want);
    if (all.ok()) {
      EXPECT_EQ(all->size(), InTreePlugins().size() + test.plugins.size());
    }
  }
  for (const std::string& name : {std::string(), std::string("*"), std::string("a b"), std::string("\n")}) {
    const auto all = AllPlugins(std::vector<OwnPlugin>{own(name, "")});
    ASSERT_FALSE(all.ok());
    EXPECT_EQ(all.error().message, "plugin \"" + name + "\"" + bad);
  }
}

}  // namespace
}  // namespace berth::plugins
