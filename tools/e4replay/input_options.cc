// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/input_options.h"

#include "common/command.h"
#include "e4replay/bundled.h"
#include "trace/trace.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

// An option whose text is checked when the command line is read.
template <class T>
DeclaredOption add_checked(CommandLine& app, const char* name, std::string& value,
                           Result<T> (*parse)(std::string_view), const char* meaning) {
  return app.add_option(
      name,
      [&value, parse](const std::string& text) -> Status {
        if (const auto parsed = parse(text); !parsed.ok()) return parsed.error();
        value = text;
        return {};
      },
      meaning);
}

}  // namespace

void declare_inputs(CommandLine& app, InputArguments& o) {
  app.add_option(
         "image",
         [&o](const std::string& word) -> Status {
           o.image = find_capture(word);
           return {};
         },
         "start image: the file system as it was before the trace; or a capture "
         "(`e4replay record`), which needs nothing else")
      .required()
      .type_name("IMAGE|FILE.e4c");
  app.add_option("trace", o.trace,
                 "trace (ftrace, trace-cmd, perf text, trace.dat, .e4t, .e4c; .gz, .zst; -)")
      .type_name("TRACE");
  app.add_option("--set", o.settings, "set a tunable; may be given again")
      .type_name("NAME=VALUE")
      .may_repeat();
  app.add_option("--tunables", o.tunables_file,
                 "the recorded kernel's tunables (default: NAME.tunables beside the trace)")
      .type_name("FILE");
  add_checked(app, "--device", o.device, trace::parse_device,
              "device in the trace (default: the only one, the one that fits the image, or the "
              "busiest)")
      .type_name("MAJ:MIN");
  add_checked(app, "--generation", o.generation, trace::parse_generation,
              "kernel that printed the trace: 6.1, 6.5 or cr1.5")
      .type_name("GEN");
  app.add_option("--buffer", o.buffer, "of a trace.dat, this instance only; '': the top buffer")
      .type_name("NAME");
  app.add_flag("--lenient", o.lenient, "skip malformed trace lines instead of stopping");
  app.add_flag("--any-ratio", o.any_ratio, kAnyRatioHelp);
  app.add_flag("--strict", o.strict, "stop at a damaged group instead of leaving it out");
  app.add_flag("--check", o.check, "verify the allocator's invariants during the replay");
  app.add_option(
         "--explain",
         [&o](const std::string& text) -> Status {
           E4R_TRY(o.explain, parse_u64(text));
           return o.explain != 0 ? Status() : error("--explain 0: decisions are counted from 1");
         },
         "write down decision N: request, goal, groups and why, result")
      .type_name("N");
  app.add_option("--json", o.json, "write JSON to FILE as well; -: instead of the text")
      .type_name("FILE");
  app.add_option("--threads", o.threads, "threads to use (default: one per CPU)").type_name("N");
  app.add_flag("--no-progress", o.no_progress, "no progress line on the terminal");
}

}  // namespace e4r::tools
