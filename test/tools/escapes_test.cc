// SPDX-License-Identifier: GPL-2.0-or-later
// Tests that no terminal control sequence in a name reaches the terminal. Names come from command
// lines, images, traces and captures.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "capture/capture.h"
#include "capture/image_parts.h"
#include "support/ext2_images.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "trace/trace.h"
#include "trace/writer.h"
#include "util/file.h"
#include "util/output.h"
#include "util/text.h"

namespace e4r::test {
namespace {

using Words = std::vector<std::string>;

// This text clears the screen in two ways, ends the line, changes the text direction, and is
// invalid UTF-8.
const std::string kHostile =
    "\x1b[2J\xc2\x9b"
    "31m\n\xe2\x80\xae\xff";

constexpr const char* kRequests =
    "# tracer: nop\n"
    "  x-57 [000] ..... 1.0: ext4_request_blocks: dev 98,0 ino 13 flags HINT_DATA len 4 lblk 7 "
    "goal 100 lleft 6 lright 90 pleft 99 pright 200 \n"
    "  x-57 [000] ..... 1.1: ext4_mballoc_alloc: dev 98,0 inode 13 orig 0/100/4@7 goal 0/4096/4@7 "
    "result 0/4096/4@7 blks 1 grps 1 cr 0 flags HINT_DATA tail 0 broken 0\n"
    "  x-57 [000] ..... 1.2: ext4_allocate_blocks: dev 98,0 ino 13 flags HINT_DATA len 4 block "
    "4097 lblk 7 goal 100 lleft 6 lright 90 pleft 99 pright 200\n";
constexpr const char* kLookups =
    "  x-57 [000] ..... 1.0: ext4_es_lookup_extent_enter: dev 98,0 ino 13 lblk 0\n"
    "  x-57 [000] ..... 1.1: ext4_es_lookup_extent_exit: dev 98,0 ino 13 found 1 [0/4) 100 W\n";

// Returns the parts of `text` that a terminal would obey instead of displaying them.
std::string obeyed_in(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.bytes == 0)
      out += " no UTF-8";
    else if (is_obeyed(c.code) && c.code != '\n')
      out += fmt::format(" {:#x}", c.code);
    text.remove_prefix(std::max<std::size_t>(c.bytes, 1));
  }
  return out;
}

// The files of the fixture. All of their names contain `mark`.
struct Names {
  Names(const TempDir& dir, const std::string& mark)
      : image(dir.file(mark + "image")),
        requests(dir.file(mark + "run.txt")),
        lookups(dir.file(mark + "es.txt")),
        capture(dir.file(mark + "run.e4c")),
        slots(dir.file(mark + "slots")),
        stats(dir.file(mark + "stats")),
        out(dir.file(mark + "out")) {}
  std::string image, requests, lookups, capture, slots, stats, out;
};

class Escapes : public testing::Test {
 protected:
  // Makes the files named by `names`. The label and mount options of the image, and the texts in
  // the capture, are also hostile.
  void make(const Names& names) {
    make_image(names.image, 16u << 20, {"-t", "ext4", "-b", "1024"});
    const Outcome tuned = run(
        {"tune2fs", "-L", "\x1b[2J\n\xff", "-E", "mount_opts=init_itable=\x1b[2J\n", names.image});
    ASSERT_EQ(tuned.status, 0) << tuned.err;
    std::ofstream(names.requests) << kRequests;
    std::ofstream(names.lookups) << kLookups;
    std::ofstream(names.slots) << "13\n" << kHostile << "\n";
    std::ofstream(names.stats) << mb_stats();
    ASSERT_NO_FATAL_FAILURE(make_capture(names));
  }

  // Returns an mb_stats text that has a counter with a hostile name. No kernel has such a counter.
  static std::string mb_stats() {
    std::string name = kHostile;
    std::ranges::replace(name, '\n', '\r');
    return "mballoc:\n\treqs: 1\n\t" + name + ": 3\n\t" + name + ":\n\t\thits: 4\n";
  }

  // Writes a trace whose texts are all hostile.
  static void write_events(capture::CaptureWriter& writer) {
    auto trace = trace::open_trace_bytes(kRequests, "t");
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    auto batch = (*trace)->next();
    ASSERT_TRUE(batch.ok()) << batch.error().message;
    ASSERT_TRUE(writer.events(*batch, trace::Generation::v6_1).ok());
    trace::TraceSummary facts;
    facts.kernel = facts.clock = kHostile;
    facts.unknown_events = {{kHostile, 3}};
    facts.warnings = {kHostile};
    ASSERT_TRUE(writer.end_events(facts).ok());
  }

  static void make_capture(const Names& names) {
    capture::StartFacts start;
    start.recorder = start.time = start.kernel = start.kernel_version = start.machine = kHostile;
    start.device = start.device_name = start.mount_point = start.mount_options = kHostile;
    start.command = start.clock = start.events = start.snapshot = kHostile;
    start.mounted = true;
    capture::EndFacts end;
    end.time = end.reason = kHostile;
    end.quiet = true;  // so that verify reads mb_stats
    auto file = trace::OutputFile::create_growing({names.capture});
    ASSERT_TRUE(file.ok()) << file.error().message;
    auto writer = capture::CaptureWriter::create(*std::move(file));
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE((*writer)->start(start).ok());
    ASSERT_TRUE((*writer)->text(capture::text_name::kTunables, "mb_max_to_scan:200\n").ok());
    ASSERT_TRUE((*writer)->text(kHostile, kHostile).ok());
    auto image = capture::StartImage::read(names.image);
    ASSERT_TRUE(image.ok()) << image.error().message;
    ASSERT_TRUE(image->pack([&](std::string_view part) { return (*writer)->image(part); }).ok());
    ASSERT_NO_FATAL_FAILURE(write_events(**writer));
    ASSERT_TRUE((*writer)->text(capture::text_name::kEndStats, mb_stats()).ok());
    ASSERT_TRUE((*writer)->finish(end).ok());
  }

  static std::vector<Words> commands(const Names& n) {
    const std::string e4replay = E4REPLAY, tune2fs_lazy = TUNE2FS_LAZY, mke2fs_lazy = MKE2FS_LAZY;
    return {
        {e4replay, n.out},
        {e4replay, "freefrag", n.image},
        {e4replay, "freefrag", n.image, "--json", "-"},
        {e4replay, "info", n.capture},
        {e4replay, "info", n.capture, "--json", "-"},
        {e4replay, "trace", "info", n.requests},
        {e4replay, "trace", "info", n.capture, "--json", "-"},
        {e4replay, "trace", "cut", n.requests, n.out + ".txt", "--first", "1"},
        {e4replay, "trace", "convert", n.requests, n.out + ".e4t"},
        {e4replay, "trace", "convert", n.requests, n.out + ".e4c", "--image", n.image},
        {e4replay, "trace", "convert", n.requests, n.out + ".none"},
        {e4replay, "shrinker", n.lookups},
        {e4replay, "shrinker", n.lookups, "--force"},
        {e4replay, "shrinker", n.lookups, "--json", "-"},
        {e4replay, "shrinker", n.requests},
        {e4replay, "replay", n.capture},
        {e4replay, "replay", n.capture, "--force"},
        {e4replay, "replay", n.image, n.requests},
        {e4replay, "replay", n.image, n.requests, "--force"},
        {e4replay, "replay", n.image, n.requests, "--force", "--json", "-"},
        {e4replay, "replay", n.image, n.requests, "--force", "--explain", "1"},
        {e4replay, "replay", n.requests, n.image},
        {e4replay, "replay", n.image, n.requests, "--set", n.out},
        {e4replay, "replay", n.image, n.requests, "-p", n.out},
        {e4replay, "verify", n.image, n.requests},
        {e4replay, "verify", n.capture},
        {e4replay, "verify", n.capture, "--json", "-"},
        {e4replay, "verify", n.capture, "--html", "-"},
        {e4replay, "verify", n.image, n.requests, "--mb-stats", n.stats},
        {e4replay, "verify", n.image, n.requests, "--mb-stats", n.stats, "--html", "-"},
        {e4replay, "verify", n.image, n.requests, "--mb-stats", n.stats, "--json", "-"},
        {e4replay, "replay", n.capture, "--force", "--json", "-"},
        {e4replay, "replay", n.capture, "--force", "--html", "-"},
        {e4replay, "replay", n.image, n.requests, "--force", "--html", "-"},
        {e4replay, "map", n.image},
        {e4replay, "map", n.capture, "--html", "-"},
        {e4replay, "map", n.capture, "--svg", "-"},
        {e4replay, "map", n.capture, "--json", "-"},
        {e4replay, "freefrag", n.capture},
        {e4replay, "trace", "info", n.capture},
        {e4replay, "trace", "info", n.requests, "--json", "-"},
        {e4replay, "trace", "convert", n.capture, n.out + ".txt"},
        {e4replay, "trace", "convert", n.capture, n.out + "-a.e4c", "--anonymize"},
        {e4replay, "review", n.capture, "--base", "legacy", "--with", "linux-6.12"},
        {e4replay, "review", n.capture, "--base", "legacy", "--with", "linux-6.12", "--html", "-"},
        {e4replay, "review", n.capture, "--base", "legacy", "--with", "linux-6.12", "--json", "-"},
        {e4replay, "age", n.image, "-o", n.out + ".img", "--until", "turnover 0.1x"},
        {e4replay, "age", n.image, "-o", n.out + ".img", "--slots", n.slots},
        {e4replay, "age", n.image, "-o", n.out + ".img", "--profile", n.slots},
        {e4replay, "age", n.out, "-o", n.out + ".img"},
        {e4replay, "policies", n.out},
        {e4replay, "sweep", n.capture, "--dry-run"},
        {e4replay, "sweep", n.capture, "--force", "-o", n.out + ".d"},
        {e4replay, "sweep", n.capture, "--force", "-o", n.out + ".d", "--resume"},
        {e4replay, "sweep", n.capture, "--where", n.out},
        {e4replay, "sweep", "--merge", n.out + ".d", "-o", n.out + ".e"},
        {e4replay, "sweep", "--merge", n.out, "-o", n.out + ".f"},
        {e4replay, "replay", n.capture, "--force", "--perfetto", n.out + ".pftrace"},
        {e4replay, "replay", n.capture, "--force", "--decisions", n.out + ".csv"},
        {e4replay, "replay", n.capture, "--force", "--decisions", n.out + ".sqlite"},
        hunt(n, {}),
        hunt(n, {"--json", "-"}),
        hunt(n, {"--base", n.out}),
        {e4replay, "info", n.out + "-h.e4c"},
        {e4replay, "record", n.out},
        {e4replay, "record", "/", "-o", n.out, "--", n.out},
        {tune2fs_lazy, "status", n.image, "--groups"},
        {tune2fs_lazy, "status", n.image, "--json"},
        {tune2fs_lazy, "verify", n.image},
        {tune2fs_lazy, "rearm", n.image},
        {tune2fs_lazy, "set", "init_itable=20", n.image},
        {tune2fs_lazy, "finish", n.image},
        {tune2fs_lazy, "finish", n.image},
        {tune2fs_lazy, "disable", n.image, "--dry-run"},
        {tune2fs_lazy, "disable", n.image},
        {tune2fs_lazy, "enable", n.image, "--dry-run"},
        {tune2fs_lazy, "enable", n.image},
        {tune2fs_lazy, "status", n.out},
        {mke2fs_lazy, "-F", "-t", "ext4", "-E", "itable_init=probe", n.slots, "8M"},
        {mke2fs_lazy, "-q", "-F", "-t", "ext4", "-E", "itable_init=" + n.out, n.image},
        {mke2fs_lazy, "-q", "-F", "-t", "ext4", "-E", "itable_init=lazy", n.out + "/none", "8M"},
    };
  }

  static Words hunt(const Names& n, const Words& more) {
    Words out = {
        E4REPLAY, "hunt",      "--with", "linux-6.12",       "-o", n.out + "-h.e4c",  "--trials",
        "40",     "--largest", "64M",    "--least-requests", "20", "--shrink-trials", "5"};
    if (more.empty() || more[0] != "--base") out.insert(out.end(), {"--base", "legacy"});
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }

  TempDir dir_;
};

// If standard output is closed, every command must report that its output is lost.
TEST_F(Escapes, NoCommandLosesItsReportWithoutAWord) {
  const Names names(dir_, "plain");
  ASSERT_NO_FATAL_FAILURE(make(names));
  std::size_t printing = 0;
  for (const Words& words : commands(names)) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(words, " ")));
    const Outcome before = run(words);
    if (before.out.empty() || (before.status != 0 && before.status != 3)) continue;
    // Commands that write a file or change an image cannot be run twice.
    const bool once = std::ranges::any_of(
        Words{"age", "sweep", "rearm", "set", "finish", "disable", "enable", "--decisions"},
        [&](const std::string& word) { return std::ranges::find(words, word) != words.end(); });
    if (once) continue;
    ++printing;
    Words closed = {"bash", "-c", "exec \"$0\" \"$@\" >&-"};
    closed.insert(closed.end(), words.begin(), words.end());
    const Outcome outcome = run(closed);
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("cannot write "), std::string::npos) << outcome.err;
  }
  EXPECT_GT(printing, 20u);
}

TEST_F(Escapes, NoCommandPrintsWhatATerminalObeys) {
  const Names plain(dir_, "plain"), hostile(dir_, kHostile);
  ASSERT_NO_FATAL_FAILURE(make(plain));
  ASSERT_NO_FATAL_FAILURE(make(hostile));
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  const auto as_plain = commands(plain), as_hostile = commands(hostile);
  std::size_t named = 0;
  for (std::size_t i = 0; i < as_hostile.size(); ++i) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(as_plain[i], " ")));
    const Outcome expected = run(as_plain[i]);
    Outcome outcome = run(as_hostile[i]);
    std::erase(outcome.out, '\b');  // mke2fs prints backspaces in its counters
    EXPECT_EQ(outcome.status, expected.status) << outcome.err << expected.err;
    EXPECT_EQ(obeyed_in(outcome.out), "") << escape_lines(outcome.out);
    EXPECT_EQ(obeyed_in(outcome.err), "") << escape_lines(outcome.err);
    // Do not compare lines of HTML pages, which show a line break in a name as a blank, nor of
    // reviews, which wrap long lines.
    if (!outcome.out.starts_with('<') && as_plain[i].at(1) != "review") {
      EXPECT_EQ(lines(outcome.out), lines(expected.out)) << escape_lines(outcome.out);
    }
    EXPECT_EQ(lines(outcome.err), lines(expected.err)) << escape_lines(outcome.err);
    if ((outcome.out + outcome.err).find("\\x1b[2J\\xc2\\x9b31m\\n") != std::string::npos) ++named;
  }
  // Other programs show the contents of these files. A database stores names unchanged, as JSON
  // does.
  for (const char* ending : {".csv", ".pftrace"}) {
    auto text = read_file(hostile.out + ending);
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_GT(text->size(), 100u) << ending;
    EXPECT_EQ(text->find("\x1b[2J"), std::string::npos) << ending;
    if (ending == std::string(".csv")) {
      std::erase(*text, '\r');  // a line of CSV ends with CR LF
      EXPECT_EQ(obeyed_in(*text), "") << escape_lines(*text);
    }
  }
  EXPECT_GT(named, as_hostile.size() / 2) << "hardly a command has named what it was given";
}

}  // namespace
}  // namespace e4r::test
