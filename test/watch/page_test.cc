// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <locale.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "watch/half_seen.h"
#include "watch/pursuit.h"

namespace e4r::test {
namespace {

using watch::PageLine;
using watch::PageView;
using watch::Report;

class Names final : public watch::Names {
 public:
  explicit Names(std::string path) : path_(std::move(path)) {}
  std::string process(std::uint32_t pid) override { return pid == 0 ? "" : "wri\x1bter"; }
  std::string file(std::uint64_t /*ino*/) override { return path_; }

 private:
  std::string path_;
};

// Returns the lines of the page. `path` is the path of every file.
std::vector<std::string> texts(const Report& report, const PageView& view,
                               const std::string& path = {}) {
  Names names(path);
  std::vector<std::string> out;
  for (const PageLine& line : watch::page_lines(report, view, names)) {
    std::string& text = out.emplace_back();
    for (const watch::Span& span : line) text += span.text;
  }
  return out;
}

std::string all_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

bool has(const std::vector<std::string>& lines, std::string_view what) {
  return std::ranges::any_of(
      lines, [what](const std::string& line) { return line.find(what) != std::string::npos; });
}

class PageTest : public testing::Test {
 protected:
  static Report report() {
    const HalfSeen half("linux-7.3");
    std::vector<trace::Event> events(half.events().begin(), half.events().end());
    for (std::size_t i = 0; i < events.size(); ++i) events[i].time_ns = i * 5'000'000;
    watch::StartPoint start = half.start(true);
    start.shadows = {allocator::find_policy("linux-6.12"), allocator::find_policy("legacy")};
    watch::Backlog backlog;
    backlog.add(events, events.back().time_ns);
    backlog.end();
    const auto follower = watch::Follower::create(start);
    EXPECT_EQ(follower->run(backlog, UINT64_MAX, 1 << 20), watch::Follower::End::over);
    Report out;
    out.time = "2026-01-02T03:04:05Z";
    out.device_name = "sda1";
    out.mount_point = "/da\x1bta";
    out.kernel = "7.3.0";
    out.follows = true;
    out.picture = follower->picture();
    return out;
  }
  static const Report& shared() {
    static const Report kReport = report();
    return kReport;
  }
};

TEST_F(PageTest, FitsIntoEveryTerminal) {
  for (const unsigned columns : {1u, 12u, 39u, 80u, 133u, 300u})
    for (const unsigned rows : {1u, 2u, 7u, 24u, 60u})
      for (const bool help : {false, true}) {
        const auto lines = texts(shared(), {.columns = columns,
                                            .rows = rows,
                                            .help = help,
                                            .choosing = rows % 2 == 0,
                                            .message = "so"});
        EXPECT_EQ(lines.size(), rows) << "the keys are in the last line";
        for (const std::string& line : lines) EXPECT_LE(watch::width_of(line), columns) << line;
      }
}

TEST_F(PageTest, HasEveryPartAtTheUsualSize) {
  const auto lines = texts(shared(), {});
  for (const char* part : {"recorded", "linux-6.12", "legacy", "last second", "last minute",
                           "searches by criterion", "free space", "costliest", "q end"})
    EXPECT_TRUE(has(lines, part)) << part << " is missing:\n" << all_of(lines);
  EXPECT_TRUE(has(lines, "wri\\x1bter")) << all_of(lines);
  EXPECT_EQ(all_of(lines).find('\x1b'), std::string::npos) << "names cannot command the terminal";
  EXPECT_TRUE(has(lines, "█"));
}

TEST_F(PageTest, IsAsciiWhereTheTerminalIs) {
  const auto lines = texts(shared(), {.ascii = true});
  EXPECT_TRUE(std::ranges::all_of(all_of(lines), [](char c) {
    return c == '\n' || (c >= ' ' && c < 0x7f);
  })) << all_of(lines);
}

TEST_F(PageTest, ShowsWhatTheUserHasChosen) {
  EXPECT_TRUE(has(texts(shared(), {.frozen = true}), "FROZEN"));
  EXPECT_TRUE(has(texts(shared(), {.help = true}), "show or hide this help"));
  EXPECT_TRUE(has(texts(shared(), {.message = "wrote it"}), "wrote it"));
  for (const auto& [sort, name] :
       {std::pair(watch::SortBy::groups, "by groups"), std::pair(watch::SortBy::time, "by time")})
    EXPECT_TRUE(has(texts(shared(), {.sort = sort}), name));
  auto sort = watch::SortBy::steps;
  for (int i = 0; i < 4; ++i) sort = watch::next(sort);
  EXPECT_EQ(sort, watch::SortBy::steps);
}

TEST_F(PageTest, ShowsTheChosenFigures) {
  PageView view = {.figures = *watch::ShownFigures::parse("files/count,requests")};
  const auto lines = texts(shared(), view);
  EXPECT_TRUE(has(lines, "last second    files/count    requests")) << all_of(lines);
  EXPECT_FALSE(has(lines, "ext/file"));
  // Columns that do not fit are left out completely. The page shows how many.
  view.columns = 40;
  view.figures =
      *watch::ShownFigures::parse("groups_per_request,extents_per_request,failed,files/count");
  EXPECT_TRUE(has(texts(shared(), view), "last second    groups/req +3"))
      << all_of(texts(shared(), view));
}

TEST_F(PageTest, LetsTheUserChooseFigures) {
  PageView view = {.columns = 100, .choosing = true};
  const auto press = [&view](const std::vector<int>& keys) {
    for (const int key : keys) watch::on_list_key(view, key);
    return texts(shared(), view);
  };
  EXPECT_TRUE(has(press({}), "> [ ] requests ")) << all_of(press({}));
  EXPECT_TRUE(has(press({' '}), "> [x] requests "));
  EXPECT_TRUE(has(press({}), "last second       requests requests/s")) << "above the list";
  EXPECT_TRUE(has(press({watch::kDown}), "> [x] failed "));
  EXPECT_FALSE(has(press({' '}), " failed  groups/req"));
  EXPECT_TRUE(has(press({watch::kUp, watch::kUp}), "> [x] requests ")) << "ends at the first";
  // Another test may have added a row to the table. It is not among the shown figures.
  const results::Row& end = results::rows(results::Reporter::watch).back();
  const std::string last = fmt::format("> [{}] {}", view.figures.has(end) ? 'x' : ' ', end.key);
  for (const int key : {int{watch::kEnd}, int{watch::kPageDown}, int{'j'}})
    EXPECT_TRUE(has(press({key}), last)) << all_of(press({}));
  view.rows = 7;
  EXPECT_TRUE(has(press({}), last)) << "a small terminal shows the part with the mark";
  for (const int key : {int{'q'}, int{'o'}, watch::kEscape}) {
    view.choosing = true;
    press({key});
    EXPECT_FALSE(view.choosing);
  }
}

TEST_F(PageTest, ShowsLazyInitWhileThereIsAny) {
  Report report = shared();
  const auto line = [&report](std::uint64_t left, bool runs, std::optional<double> rate) {
    report.lazy_init = {.groups_left = left, .runs = runs, .groups_per_s = rate};
    for (const std::string& text : texts(report, {}))
      if (text.starts_with("lazy init: ")) return text;
    return std::string();
  };
  EXPECT_EQ(line(0, true, 3.0), "");
  EXPECT_EQ(line(1234, true, {}), "lazy init: 1,234 inode tables are not zeroed");
  EXPECT_EQ(line(12, true, 1.5),
            "lazy init: 12 inode tables are not zeroed, 1.5 a second, 8 s left");
  EXPECT_NE(line(131072, true, 10).find(", 4 h left"), std::string::npos) << line(131072, true, 10);
  EXPECT_EQ(line(12, false, {}),
            "lazy init: 12 inode tables are not zeroed; the mount has noinit_itable");
}

TEST_F(PageTest, SaysWhenThereIsNothingToShow) {
  Report none;
  EXPECT_TRUE(has(texts(none, {}), "no start image"));
  none.follows = true;
  EXPECT_TRUE(has(texts(none, {}), "Waiting for the first figures"));
}

TEST_F(PageTest, NamesTheFiles) {
  const std::string number = fmt::format(" inode {}", shared().picture->costly.front().ino);
  EXPECT_TRUE(has(texts(shared(), {}), number)) << "no name is known";
  const std::string here = shared().mount_point + "/";
  EXPECT_TRUE(has(texts(shared(), {}, here + "log/app"), " log/app"));
  EXPECT_TRUE(has(texts(shared(), {}, "/elsewhere"), " /elsewhere"));
  EXPECT_TRUE(has(texts(shared(), {}, here + "var/lib/mysql/shop/orders.ibd"), " …shop/orders.ibd"))
      << all_of(texts(shared(), {}, here + "var/lib/mysql/shop/orders.ibd"));
  const std::string hostile = here + "a\x1b[2J\xff\xe2\x80\xae\xc3\xa4";
  EXPECT_TRUE(has(texts(shared(), {.columns = 120}, hostile), R"( a\x1b[2J\xff\xe2\x80\xae)"
                                                              "\xc3\xa4"));
  EXPECT_TRUE(has(texts(shared(), {.columns = 120, .ascii = true}, hostile),
                  R"( a\x1b[2J\xff\xe2\x80\xae\xc3\xa4)"));
  for (const unsigned columns : {60u, 63u, 64u, 66u, 100u})
    for (const std::string& line : texts(shared(), {.columns = columns}, hostile + hostile))
      EXPECT_LE(watch::width_of(line), columns) << line;
}

// The costly requests must be in the order of their steps.
TEST_F(PageTest, SortsTheCostlyRequests) {
  const auto& costly = shared().picture->costly;
  ASSERT_GT(costly.size(), 3u);
  for (std::size_t i = 1; i < costly.size(); ++i)
    EXPECT_GE(costly[i - 1].steps(), costly[i].steps());
  std::uint64_t blocks = 0;
  for (const stats::SpaceCell& cell : shared().picture->map) blocks += cell.free_blocks;
  EXPECT_EQ(blocks, shared().picture->columns[0].of(watch::Window::start)->free.extents.blocks);
}

TEST(Sparkline, HasTheLastValues) {
  EXPECT_EQ(watch::sparkline({}, 5, true), "");
  EXPECT_EQ(watch::sparkline({0, 0}, 5, true), "  ");
  EXPECT_EQ(watch::sparkline({9, 0, 4, 8}, 3, true), " -#");
  EXPECT_EQ(watch::sparkline({0, 4, 8}, 3, false), " ▄█");
}

TEST(Columns, AreCodePoints) {
  EXPECT_EQ(watch::width_of("a█ä"), 3u);
  EXPECT_EQ(watch::cut_to("a█ä", 2), "a█");
  EXPECT_EQ(watch::cut_to("ab", 9), "ab");
  EXPECT_EQ(watch::cut_to("ab", 0), "");
  EXPECT_EQ(watch::end_within("abcdef", 6, "..."), "abcdef");
  EXPECT_EQ(watch::end_within("abcdef", 5, "..."), "...ef");
  EXPECT_EQ(watch::end_within("abcdef", 2, "..."), "..");
  EXPECT_EQ(watch::end_within("aäö", 2, "…"), "…ö");
}

TEST(Columns, AreThoseOfTheTerminal) {
  const std::string before = ::setlocale(LC_CTYPE, nullptr);
  if (::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) GTEST_SKIP() << "no C.UTF-8 here";
  EXPECT_EQ(watch::width_of("日a"), 3u);
  EXPECT_EQ(watch::cut_to("日本", 3), "日");
  EXPECT_EQ(watch::end_within("日本", 3, "…"), "…本");
  EXPECT_EQ(watch::width_of("e\xcc\x81"), 1u);
  ::setlocale(LC_CTYPE, before.c_str());
}

}  // namespace
}  // namespace e4r::test
