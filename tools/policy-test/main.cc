// SPDX-License-Identifier: GPL-2.0-or-later
// e4replay-policy-test: tests policies, including policies from files, against the rules that every
// policy must obey.
#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "common/command.h"
#include "common/print_line.h"
#include "common/run.h"
#include "common/version.h"
#include "conformance/checks.h"
#include "plugin/load.h"

namespace e4r::tools {
namespace {

constexpr const char* kName = "e4replay-policy-test";
constexpr std::size_t kMostComplaints = 3;  // shown for each check

constexpr const char* kHelp =
    "usage: e4replay-policy-test [OPTION]... POLICY...\n"
    "\n"
    "Checks policies against the rules for every policy. Give files that were compiled with\n"
    "<e4replay/plugin.h> (./roomy.so), or names of policies (e4replay policies).\n"
    "\n"
    "  -l, --list     list the checks, and run none\n"
    "      --version  print the version\n"
    "  -h, --help     print this text\n"
    "\n"
    "Exit status: 0 all checks passed, 1 one failed or could not be run, 2 wrong command line.\n"
    "docs/adding-a-policy.md walks through a policy.\n";

std::string list() {
  std::string out;
  for (const auto& check : conformance::policy_checks())
    out += fmt::format("{:<28} {}\n", check.name, check.promise);
  for (const auto& check : conformance::checks())
    out += fmt::format("{:<28} {}\n", check.name, check.promise);
  return out;
}

// The counts for one policy.
struct Tally {
  unsigned run = 0;
  unsigned failed = 0;
};

// Prints a line for the check, and its complaints below it.
class CheckLine {
 public:
  explicit CheckLine(std::string_view name) : name_(name) {}
  void add(std::string_view where, const conformance::Complaints& complaints, Tally& tally) {
    ++runs_;
    ++tally.run;
    if (complaints.empty()) return;
    ++failed_;
    ++tally.failed;
    for (const std::string& line : complaints)
      complaints_.push_back(where.empty() ? line : fmt::format("{}: {}", where, line));
  }
  void print() const {
    const std::string many = runs_ == 1 ? "" : fmt::format(" on {} shapes", runs_);
    if (failed_ == 0)
      print_line("{:<28} ok{}", name_, many);
    else
      print_line("{:<28} FAILED{}", name_,
                 runs_ == 1 ? "" : fmt::format(" on {} of {} shapes", failed_, runs_));
    const std::size_t shown = std::min(complaints_.size(), kMostComplaints);
    for (std::size_t i = 0; i < shown; ++i) print_line("  {}", complaints_[i]);
    if (complaints_.size() > shown) print_line("  and {} more", complaints_.size() - shown);
    std::fflush(stdout);
  }

 private:
  std::string_view name_;
  unsigned runs_ = 0, failed_ = 0;
  std::vector<std::string> complaints_;
};

Tally hold(const allocator::Policy& policy) {
  Tally tally;
  for (const auto& check : conformance::policy_checks()) {
    CheckLine line(check.name);
    line.add({}, check.run(policy), tally);
    line.print();
  }
  for (const auto& check : conformance::checks()) {
    CheckLine line(check.name);
    for (const conformance::ModelShape& shape : conformance::model_shapes())
      line.add(shape.name, check.run(policy, shape), tally);
    line.print();
  }
  return tally;
}

int test(const std::string& name) {
  const auto policy = plugin::find_policy(name);
  if (!policy.ok() || *policy == nullptr) {
    print_line(stderr, "{}: {}", kName,
               policy.ok()
                   ? fmt::format("there is no policy '{}': give a file such as ./{}.so", name, name)
                   : policy.error().message);
    return kFailed;
  }
  const Tally tally = hold(**policy);
  if (tally.failed == 0)
    print_line("{}: {} checks passed", (*policy)->name, tally.run);
  else
    print_line("{}: {} of {} checks failed", (*policy)->name, tally.failed, tally.run);
  return tally.failed == 0 ? kDone : kFailed;
}

int body(int argc, char** argv) {
  constexpr int kVersion = 256;
  const option options[] = {{"list", no_argument, nullptr, 'l'},
                            {"version", no_argument, nullptr, kVersion},
                            {"help", no_argument, nullptr, 'h'},
                            {}};
  opterr = 0;
  for (int c = 0; (c = ::getopt_long(argc, argv, "lh", options, nullptr)) != -1;) {
    if (c == '?') {
      print_line(stderr, "{}: unknown option {} (see --help)", kName, argv[optind - 1]);
      return kUsage;
    }
    print_text(c == 'l' ? list() : c == 'h' ? kHelp : fmt::format("{}\n", version_line()));
    return kDone;
  }
  if (optind == argc) {
    print_line(stderr, "{}: give a policy, such as ./roomy.so (see --help)", kName);
    return kUsage;
  }
  int status = kDone;
  for (int i = optind; i < argc; ++i) status = std::max(status, test(argv[i]));
  return status;
}

}  // namespace
}  // namespace e4r::tools

int main(int argc, char** argv) {
  return e4r::tools::run_guarded(e4r::tools::kName, e4r::tools::body, argc, argv);
}
