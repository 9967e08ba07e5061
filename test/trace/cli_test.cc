// SPDX-License-Identifier: GPL-2.0-or-later
// Tests the subcommands of `trace` as processes: their output, that an error is one line on stderr,
// and their exit status.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>

#include "trace/support.h"

namespace e4r::trace {
namespace {

using test::TemporaryDirectory;

struct Ran {
  int status = -1;
  std::string output;  // stdout and stderr
};

Ran run(const std::string& arguments) {
  Ran ran;
  FILE* pipe = ::popen((E4REPLAY " trace " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe))
    ran.output.append(buffer, got);
  const int status = ::pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

std::string data(std::string_view name) {
  return std::string(TRACE_DATA "/") + std::string(name);
}

TEST(TraceCommand, InfoTellsWhatIsInATrace) {
  const Ran ran = run("info " + data("ftrace-6.1.txt"));
  EXPECT_EQ(ran.status, 0);
  for (const char* part :
       {"format            ftrace text\n", "kernel            6.1",
        "devices           98,0: 73 events", "ext4_mb_release_group_pa", "lost events       none"})
    EXPECT_NE(ran.output.find(part), std::string::npos) << part << "\n" << ran.output;
}

TEST(TraceCommand, InfoReadsStandardInputAndWritesJson) {
  const Ran ran = run("info --json - - < " + data("perf.txt"));
  EXPECT_EQ(ran.status, 0);
  EXPECT_TRUE(ran.output.starts_with(
      R"({"schema":"e4replay-trace-info/1","trace":{"name":"standard input")"))
      << ran.output;
}

TEST(TraceCommand, InfoSaysAloudWhichDeviceItTook) {
  const Ran ran = run("info " + data("perf.txt"));
  EXPECT_NE(ran.output.find("taking 254,0, the busiest"), std::string::npos) << ran.output;
  const Ran chosen = run("info --device 7:0 " + data("perf.txt"));
  EXPECT_EQ(chosen.status, 0);
  EXPECT_EQ(chosen.output.find("taking"), std::string::npos);
}

TEST(TraceCommand, TakesRecordingsOfTraceCmd) {
  const TemporaryDirectory directory;
  const std::string recording = data("dat-7-series.dat"), packed = directory / "a.e4t";
  const Ran info = run("info " + recording);
  EXPECT_EQ(info.status, 0);
  for (const char* part : {"format            trace-cmd recording\n", "clock             mono\n",
                           "release           6.1.192-all", "6.1 with CR1.5"})
    EXPECT_NE(info.output.find(part), std::string::npos) << part << "\n" << info.output;
  EXPECT_EQ(run("convert - " + packed + " < " + recording).status, 0);
  EXPECT_NE(run("info " + packed).output.find("e4t, from trace-cmd recording\n"),
            std::string::npos);
  EXPECT_NE(run("info " + packed).output.find("release           6.1.192-all"), std::string::npos);
  EXPECT_EQ(run("cut " + recording + " " + (directory / "b.txt") + " --first 10").output,
            (directory / "b.txt") + ": 10 of 95 events\n");
  const Ran side = run("info --buffer side " + data("dat-7-instance.dat"));
  EXPECT_NE(side.output.find("jbd2_commit_flushing"), std::string::npos);
  EXPECT_EQ(side.output.find("\n  ext4_request_blocks"), std::string::npos);
}

TEST(TraceCommand, ACutRecordingIsOneLineAndStatusOne) {
  const TemporaryDirectory directory;
  const std::string cut = directory / "cut.dat";
  std::ofstream(cut, std::ios::binary)
      << test::file_bytes(data("dat-7-two-cpus.dat")).substr(0, 9000);
  const Ran ran = run("info " + cut);
  EXPECT_EQ(ran.status, 1);
  EXPECT_TRUE(ran.output.starts_with("e4replay: " + cut + ": ")) << ran.output;
  EXPECT_EQ(std::ranges::count(ran.output, '\n'), 1) << ran.output;
}

TEST(TraceCommand, ConvertAndCut) {
  const TemporaryDirectory dir;
  EXPECT_EQ(run("convert " + data("ftrace-6.1.txt") + " " + (dir / "a.e4t.zst")).output,
            (dir / "a.e4t.zst") + ": 73 of 73 events\n");
  EXPECT_EQ(run("cut " + (dir / "a.e4t.zst") + " " + (dir / "b.txt") + " --events 11-30").output,
            (dir / "b.txt") + ": 20 of 73 events\n");
  EXPECT_EQ(run("cut " + (dir / "b.txt") + " " + (dir / "c.e4t") + " --first 5").output,
            (dir / "c.e4t") + ": 5 of 20 events\n");
  const Ran late = run("cut " + data("ftrace-6.1.txt") + " " + (dir / "d.e4t") + " --from 2.34");
  EXPECT_EQ(late.status, 0);
  const Ran early = run("cut " + data("ftrace-6.1.txt") + " " + (dir / "e.e4t") + " --to 2.339");
  EXPECT_EQ(early.status, 0);
  EXPECT_NE(late.output, early.output);
}

TEST(TraceCommand, FailuresAreOneLineAndStatusOne) {
  const TemporaryDirectory dir;
  for (const std::string& arguments :
       {std::string("info /nonexistent"), std::string("info /dev/null"),
        std::string("info " E4REPLAY), "info --device 9:9 " + data("perf.txt"),
        "convert " + data("perf.txt") + " /nonexistent/a.e4t",
        "convert " + data("perf.txt") + " " + (dir / "a.dat"),
        "convert /nonexistent " + (dir / "a.e4t")}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 1) << arguments;
    EXPECT_TRUE(ran.output.starts_with("e4replay: ")) << ran.output;
    EXPECT_EQ(ran.output.find('\n'), ran.output.size() - 1) << ran.output;
  }
  EXPECT_EQ(dir.files(), 0u);
}

TEST(TraceCommand, UsageErrorsAreStatusTwo) {
  for (const std::string& arguments :
       {std::string(""), std::string("info"), std::string("info --device x t"),
        std::string("info --generation 5 t"), std::string("cut a b --events 5-2"),
        std::string("convert a"), std::string("info --nonsense a")})
    EXPECT_EQ(run(arguments).status, 2) << arguments;
}

}  // namespace
}  // namespace e4r::trace
