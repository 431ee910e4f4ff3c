// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <numeric>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include "berth/shell/cli/ansi_screen.h"
#include "berth/shell/cli/table.h"
#include "berth/shell/cli/terminal.h"
#include "berth/shell/cli/text.h"

namespace berth::cli {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

TEST(Text, Width) {
  struct Case {
    const char* text;
    std::size_t width;
  };
  for (const Case& c : {Case{"", 0}, Case{"nginx", 5}, Case{"größe", 5}, Case{"日本", 4}, Case{"e\xcc\x81", 1},
                        Case{"🚢", 2}, Case{"\x1b[31mred\x1b[0m", 3}, Case{"\xff\xc3", 2}, Case{"…", 1}}) {
    EXPECT_EQ(DisplayWidth(c.text), c.width) << c.text;
  }
}

TEST(Text, Cut) {
  struct Case {
    const char* text;
    std::size_t width;
    const char* expected;
  };
  for (const Case& c :
       {Case{"nginx", 5, "nginx"}, Case{"nginx", 4, "ngi…"}, Case{"nginx", 1, "…"}, Case{"nginx", 0, ""},
        Case{"日本語", 4, "日…"}, Case{"größe", 3, "gr…"}, Case{"\x1b[31mred!\x1b[0m", 3, "\x1b[31mre…\x1b[0m"},
        Case{"\x1b[31mred\x1b[0m", 3, "\x1b[31mred\x1b[0m"}}) {
    EXPECT_EQ(CutToWidth(c.text, c.width), c.expected) << c.text << " " << c.width;
  }
}

TEST(Text, PrintableTakesTheTeethOutOfWhatComesFromOutside) {
  struct Case {
    std::string text;
    const char* expected;
  };
  for (const Case& c : {Case{"web-1", "web-1"}, Case{"größe 日本", "größe 日本"}, Case{"a\nb\tc", "a?b?c"},
                        Case{"\x1b[2Jgone", "?[2Jgone"}, Case{std::string("a\0b", 3), "a?b"}, Case{"\xff\xfe", "??"},
                        Case{"\xc0\xaf", "??"}, Case{"\xed\xa0\x80", "???"}, Case{"cut\xe2\x80", "cut??"},
                        Case{"\xc2\x9b"
                             "31m",
                             "?31m"},
                        Case{"a\xe2\x80\xae"
                             "b",
                             "a?b"}}) {
    EXPECT_EQ(Printable(c.text), c.expected);
  }
}

TEST(Text, Paint) {
  EXPECT_EQ(Paint("x", Color::kRed, true), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(Paint("x", Color::kRed, false), "x");
  EXPECT_EQ(Paint("x", Color::kNone, true), "x");
  EXPECT_EQ(Paint("", Color::kRed, true), "");
}

Table Pods() {
  Table table({{"NAME"}, {"RESTARTS", true}, {"STATUS"}});
  table.AddRow({"nginx-1", "0", {"Running", Color::kGreen}});
  table.AddRow({"a-much-longer-name", "12", "Pending"});
  table.AddRow({"short"});
  return table;
}

TEST(Table, AlignsItsColumns) {
  EXPECT_EQ(Pods().Lines({}), (Lines{
                                  "NAME                 RESTARTS   STATUS",
                                  "nginx-1                     0   Running",
                                  "a-much-longer-name         12   Pending",
                                  "short",
                              }));
}

TEST(Table, ColoursDoNotCountAsWidth) {
  const Lines lines = Pods().Lines({.has_color = true});
  EXPECT_EQ(lines[1], "nginx-1                     0   \x1b[32mRunning\x1b[0m");
  EXPECT_EQ(lines[0], "\x1b[1mNAME\x1b[0m                 \x1b[1mRESTARTS\x1b[0m   \x1b[1mSTATUS\x1b[0m");
}

TEST(Table, ShrinksItsWidestColumnsToFit) {
  for (const std::size_t width : {30U, 33U, 36U, 39U}) {
    for (const std::string& line : Pods().Lines({.width = width})) EXPECT_LE(DisplayWidth(line), width) << line;
  }
  EXPECT_EQ(Pods().Lines({.width = 30})[2], "a-much-l…         12   Pending");
}

TEST(Table, AColumnMayBeBounded) {
  Table table({{"A", false, 4}, {"B"}});
  table.AddRow({"123456", "x\ny"});
  EXPECT_EQ(table.Lines({}), (Lines{"A      B", "123…   x?y"}));
}

TEST(Table, Empty) {
  EXPECT_EQ(Table({{"A"}, {"B"}}).Lines({.width = 3}), Lines{"A   B"});
  EXPECT_EQ(Table({}).Lines({}), Lines{""});
}

class FakeTerminal final : public Terminal {
 public:
  explicit FakeTerminal(bool is_tty) : is_tty_(is_tty) {}
  bool IsTty() const override { return is_tty_; }
  bool HasColor() const override { return is_tty_; }
  TerminalSize Size() const override { return size; }
  void Write(std::string_view text) override {
    if (text.empty()) return;
    ++writes;
    written += text;
    if (is_tty_) Interpret(text);
  }
  std::string TakeWritten() { return std::exchange(written, ""); }

  // What a person would see: the screen's lines, as far as AnsiScreen's own codes go.
  Lines seen{""};
  std::string written;
  int writes = 0;
  TerminalSize size{20, 6};

 private:
  void Interpret(std::string_view text) {
    while (!text.empty()) {
      if (text.starts_with("\x1b[")) {
        const std::size_t end = text.find_first_of("AJm");
        if (text[end] == 'A') row_ -= static_cast<std::size_t>(std::stoi(std::string(text.substr(2, end - 2))));
        if (text[end] == 'J') {
          seen.resize(row_ + 1);
          seen[row_].clear();
        }
        text.remove_prefix(end + 1);
        continue;
      }
      if (text.front() == '\n') {
        if (++row_ == seen.size()) seen.emplace_back();
      } else if (text.front() != '\r') {
        seen[row_] += text.front();
      }
      text.remove_prefix(1);
    }
  }

  bool is_tty_;
  std::size_t row_ = 0;
};

constexpr Time kNow{1'000'000s};

TEST(AnsiScreen, RedrawsInPlace) {
  FakeTerminal terminal(true);
  AnsiScreen screen(terminal);
  screen.Show({"one", "two"}, kNow);
  EXPECT_EQ(terminal.seen, (Lines{"one", "two", ""}));
  screen.Show({"three"}, kNow + 1s);
  EXPECT_EQ(terminal.seen, (Lines{"three", ""}));
  screen.Print("said once");
  EXPECT_EQ(terminal.seen, (Lines{"said once", "three", ""}));
  screen.Show({"three", "four"}, kNow + 2s);
  EXPECT_EQ(terminal.seen, (Lines{"said once", "three", "four", ""}));
  screen.Finish();
  screen.Show({"below"}, kNow + 3s);
  EXPECT_EQ(terminal.seen, (Lines{"said once", "three", "four", "below", ""}));
}

TEST(AnsiScreen, DrawsAtMostTenTimesASecond) {
  FakeTerminal terminal(true);
  {
    AnsiScreen screen(terminal);
    for (int i = 0; i < 1000; ++i) screen.Show({std::to_string(i)}, kNow + 1ms * i);
    EXPECT_EQ(terminal.writes, 10);
    EXPECT_EQ(terminal.seen[0], "900");
    EXPECT_EQ(screen.NextRedraw(), kNow + 1000ms);
    screen.Refresh(kNow + 999ms);
    EXPECT_EQ(terminal.writes, 10);
    screen.Refresh(kNow + 1000ms);
    EXPECT_EQ(terminal.seen[0], "999");
    EXPECT_EQ(screen.NextRedraw(), std::nullopt);
    screen.Show({"999"}, kNow + 5s);  // nothing new, nothing drawn
    EXPECT_EQ(terminal.writes, 11);
    screen.Show({"a clock set back"}, kNow - 1h);
    EXPECT_EQ(terminal.writes, 12);
    screen.Show({"last"}, kNow - 1h + 1ms);
  }
  EXPECT_EQ(terminal.seen, (Lines{"last", ""}));
}

TEST(AnsiScreen, NeverOutgrowsTheTerminal) {
  FakeTerminal terminal(true);
  AnsiScreen screen(terminal);
  Lines many(40, "a line that is wider than the terminal");
  screen.Show(many, kNow);
  ASSERT_EQ(terminal.seen.size(), terminal.size.rows);
  for (const std::string& line : terminal.seen) EXPECT_LT(DisplayWidth(line), terminal.size.columns);
  EXPECT_EQ(terminal.seen[4], "… and 36 more lines");
  screen.Show({"short"}, kNow + 1s);
  EXPECT_EQ(terminal.seen, (Lines{"short", ""}));
}

TEST(AnsiScreen, PlainOutputGetsWhatIsNew) {
  FakeTerminal terminal(false);
  AnsiScreen screen(terminal);
  screen.Show({"web-1 Pending", "web-2 Pending"}, kNow);
  screen.Show({"web-1 Running", "web-2 Pending"}, kNow + 1ms);
  screen.Print("done");
  screen.Show({"web-1 Running", "web-2 Running"}, kNow + 2ms);
  screen.Finish();
  EXPECT_EQ(terminal.TakeWritten(), "web-1 Pending\nweb-2 Pending\nweb-1 Running\ndone\nweb-2 Running\n");
}

TEST(FileTerminal, AFileIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  FileTerminal terminal(ends[1]);
  EXPECT_FALSE(terminal.IsTty());
  EXPECT_FALSE(terminal.HasColor());
  EXPECT_EQ(terminal.Size().columns, 80U);
  terminal.Write("hello");
  char buffer[8] = {};
  EXPECT_EQ(::read(ends[0], buffer, sizeof buffer), 5);
  EXPECT_STREQ(buffer, "hello");
  ::close(ends[0]);
  ::close(ends[1]);
  terminal.Write("into nothing");
  EXPECT_TRUE(terminal.is_broken());
}

TEST(FileTerminal, ColoursNeedATerminalThatCanAndAUserWhoWants) {
  const int primary = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (primary < 0 || ::grantpt(primary) != 0 || ::unlockpt(primary) != 0) GTEST_SKIP() << "no pseudo-terminals here";
  const int fd = ::open(::ptsname(primary), O_RDWR | O_NOCTTY);
  ASSERT_GE(fd, 0);
  struct Case {
    const char *term, *no_color;
    bool is_tty, has_color;
  };
  for (const Case& c :
       {Case{"xterm", "", true, true}, Case{"xterm", "1", true, false}, Case{"dumb", "", false, false}}) {
    ::setenv("TERM", c.term, 1);
    ::setenv("NO_COLOR", c.no_color, 1);
    const FileTerminal terminal(fd);
    EXPECT_EQ(terminal.IsTty(), c.is_tty) << c.term;
    EXPECT_EQ(terminal.HasColor(), c.has_color) << c.term;
  }
  ::close(fd);
  ::close(primary);
}

}  // namespace
}  // namespace berth::cli
