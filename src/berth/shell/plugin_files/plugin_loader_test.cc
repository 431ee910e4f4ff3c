// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/plugin_files/plugin_loader.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "berth/plugin.h"
#include "berth/shell/plugin_files/shared_object.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_handle.h"

namespace berth::plugin_files {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// SAMPLE_PLUGINS has a directory for each.
std::string Sample(const std::string& name) { return std::string(SAMPLE_PLUGINS) + "/" + name; }

// A directory for one test.
class Folder {
 public:
  explicit Folder(const std::string& name = "plugins")
      : path_(fs::path(::testing::TempDir()) / ("berth-" + name + "-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string Problem(const std::string& directory, std::chrono::milliseconds patience = 30s) {
  const auto loaded = LoadPlugins(directory, patience);
  return loaded.ok() ? "" : loaded.error().message;
}

TEST(PluginLoader, LoadsWhatWorks) {
  const auto loaded = LoadPlugins(Sample("good"));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_EQ(loaded->size(), 1U);
  EXPECT_EQ(loaded->front().file, Sample("good") + "/good.so");
  const auto all = plugins::AllPlugins(*loaded);
  ASSERT_TRUE(all.ok()) << all.error().message;

  testing::FakeHandle handle;
  const auto bad = all->back().create(std::monostate(), handle);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "plugin \"Sample\": args.prefix: Required value");

  const auto plugin = all->back().create(config::RawArgs{R"({"prefix": "gpu-"})"}, handle);
  ASSERT_TRUE(plugin.ok()) << plugin.error().message;
  EXPECT_EQ((*plugin)->Name(), "Sample");
  const auto* filter = dynamic_cast<const FilterPlugin*>(plugin->get());
  ASSERT_NE(filter, nullptr);
  EXPECT_EQ(dynamic_cast<const ScorePlugin*>(plugin->get()), nullptr);
}

TEST(PluginLoader, NamesTheFileAndWhatToDo) {
  const std::string look = ": look at what it does in the initialisers of its global variables";
  struct Case {
    const char* sample;
    std::string want;
  };
  for (const Case& test : std::vector<Case>{
           {"newer", "is built for plugin ABI 999, and this berth is for " + std::to_string(BERTH_PLUGIN_ABI_VERSION) +
                         ": build it anew with the headers of this berth"},
           {"aborting", "crashes while it is loaded (signal 6, Aborted)" + look},
           {"exiting", "ends the process while it is loaded (exit status 3)" + look},
           {"throwing", "throws while it names its plugins: not today"},
           {"undefined",
            "cannot be loaded: undefined symbol: _ZN5berth16NowhereToBeFoundEv: build it with the headers of this "
            "berth and with the libraries that it needs"},
           {"unmarked",
            "is a shared object, but no plugin of berth: its source needs a line BERTH_PLUGIN(\"Name\", Factory)"},
           {"nothing", "names no plugin: give BERTH_PLUGINS one at least"},
       }) {
    EXPECT_EQ(Problem(Sample(test.sample)), Sample(test.sample) + "/" + test.sample + ".so: " + test.want);
  }
  EXPECT_EQ(Problem(Sample("hanging"), 200ms), Sample("hanging") + "/hanging.so: was not loaded within 200 ms" + look);
}

TEST(PluginLoader, ReportsBadDirectories) {
  const Folder folder;
  const std::string should = ": it should be a directory with shared objects (*.so)";
  EXPECT_EQ(Problem(folder.path()), "");
  EXPECT_EQ(Problem(folder.path() + "/none"),
            "--plugin-dir " + folder.path() + "/none: cannot be read: No such file or directory" + should);
  const std::string file = folder.Write("a.txt", "a");
  EXPECT_EQ(Problem(file), "--plugin-dir " + file + ": cannot be read: Not a directory" + should);
  EXPECT_EQ(Problem(folder.path()), "");  // it is not a *.so

  const std::string text = folder.Write("text.so", "hello, I am a text");
  EXPECT_EQ(Problem(folder.path()),
            text + ": is no shared object for this machine: build it with berth_add_plugin(), or take it away");
  fs::remove(text);
  fs::create_symlink(folder.path() + "/gone", folder.path() + "/link.so");
  EXPECT_EQ(Problem(folder.path()), folder.path() + "/link.so: cannot be read: No such file or directory");
  fs::remove(folder.path() + "/link.so");
  fs::create_directory(folder.path() + "/folder.so");
  EXPECT_EQ(Problem(folder.path()), folder.path() + "/folder.so: is no file");
}

TEST(PluginLoader, RefusesWhatAnybodyMayWrite) {
  const Folder folder;
  const std::string file = folder.Write("a.so", Bytes(Sample("good") + "/good.so"));
  fs::permissions(folder.path(), fs::perms::all);
  EXPECT_EQ(Problem(folder.path()), "") << "an emptyDir is like that";
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
  const std::string want = "/a.so: may be written by anybody: chmod o-w it, or take it away";
  EXPECT_EQ(Problem(folder.path()), folder.path() + want);
  const Folder other{"links"};
  fs::create_symlink(file, other.path() + "/a.so");
  EXPECT_EQ(Problem(other.path()), other.path() + want);
  fs::permissions(file, fs::perms::others_write, fs::perm_options::remove);
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(Problem(folder.path()),
            folder.path() + "/a.so: may be written by its group: chmod g-w it, or take it away");
}

TEST(PluginLoader, FilesComeByNameAndNamesAreTakenOnce) {
  const Folder folder;
  fs::create_symlink(Sample("good") + "/good.so", folder.path() + "/b.so");
  fs::create_symlink(Sample("good") + "/good.so", folder.path() + "/a.so");
  const auto loaded = LoadPlugins(folder.path());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_EQ(loaded->size(), 2U);
  EXPECT_EQ(loaded->front().file, folder.path() + "/a.so");
  const auto all = plugins::AllPlugins(*loaded);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().message, folder.path() + "/b.so: plugin \"Sample\": the name is taken by a plugin of " +
                                     folder.path() + "/a.so: take one of the two away");
}

TEST(PluginFile, BrokenFilesAreRefused) {
  const Folder folder;
  const std::string good = Bytes(Sample("good") + "/good.so");
  ASSERT_TRUE(ReadPluginAbi(folder.Write("whole", good)).ok());
  for (std::size_t size = 0; size < good.size(); size += 1 + size / 3)
    EXPECT_FALSE(ReadPluginAbi(folder.Write("cut", good.substr(0, size))).ok()) << size;
  const auto half = ReadPluginAbi(folder.Write("cut", good.substr(0, good.size() / 2)));
  ASSERT_FALSE(half.ok());
  EXPECT_EQ(half.error().message, "ends too early: was it copied in part?");
  // Any byte of the header may be anything.
  for (std::size_t at = 0; at < 64; ++at) {
    for (const char byte : {'\0', '\x7f', '\xff'}) {
      std::string broken = good;
      broken[at] = byte;
      (void)ReadPluginAbi(folder.Write("broken", broken)).ok();
    }
  }
}

TEST(PluginFile, EachDifferenceHasItsWords) {
  const framework::PluginAbi ours = framework::kPluginAbi;
  EXPECT_TRUE(CheckPluginAbi(ours, ours).ok());
  const auto problem = [&](auto change) {
    framework::PluginAbi theirs = ours;
    change(theirs);
    const auto checked = CheckPluginAbi(theirs, ours);
    return checked.ok() ? std::string() : checked.error().message;
  };
  EXPECT_TRUE(problem([](auto& abi) { abi.abi_version = 0; }).starts_with("is built for plugin ABI 0, and this berth"));
  EXPECT_TRUE(problem([](auto& abi) {
                abi.compiler_major = 3;
              }).starts_with("is built for the compiler " + std::string(ours.compiler) + " 3, and this"));
  EXPECT_TRUE(
      problem([](auto& abi) { abi.library[3] = 'x'; }).starts_with("is built for the C++ library libxtdc++, and this"));
  EXPECT_TRUE(problem([](auto& abi) { abi.language = 201703; }).starts_with("is built for C++ 201703, and this berth"));
  EXPECT_TRUE(problem([](auto& abi) { ++abi.type_sizes; }).starts_with("is built with types of other sizes"));
}

}  // namespace
}  // namespace berth::plugin_files
