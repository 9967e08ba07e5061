// SPDX-License-Identifier: GPL-2.0-or-later
// Prints the discards that the model sent while it followed a trace, including the discards of
// FITRIM: the first block and the number of blocks of each discard, in order.
//   list_discards IMAGE TRACE POLICY [recorded]
// With "recorded", prints the events ext4_discard_blocks of the trace instead.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "app/inputs.h"
#include "app/setups.h"
#include "replay/engine.h"
#include "replay/session.h"
#include "util/progress.h"

namespace e4r {
namespace {

void print(std::uint64_t first, std::uint64_t count) {
  fmt::print("{} {}\n", first, count);
}

Status list(const app::InputOptions& options, const std::string& policy_name, bool recorded) {
  Progress progress(false);
  const app::Listener listener = {
      progress, [](const std::string& text) { fmt::print(stderr, "{}\n", text); }};
  E4R_TRY(const app::Inputs inputs, app::open_inputs(options, listener));
  if (recorded) {
    const auto events = inputs.trace.cursor();
    for (;;) {
      E4R_TRY(const auto batch, events->next());
      if (batch.empty()) return {};
      for (const trace::Event& event : batch)
        if (event.kind == trace::EventKind::discard_blocks) print(event.block, event.count);
    }
  }
  E4R_TRY(const allocator::Policy* policy, app::parse_policy(policy_name));
  replay::Session session(inputs.source, inputs.trace, app::session_options(inputs, progress));
  E4R_TRY(const replay::Run run, session.follow(app::make_setup(*policy, inputs.recorded, inputs)));
  const allocator::Discards* discards = run.engine->discards();
  if (discards == nullptr)
    return error("{}: neither mounted with discard nor trimmed", options.trace);
  for (const BlockRange& range : discards->sent()) print(range.first, range.count);
  return {};
}

}  // namespace
}  // namespace e4r

int main(int argc, char** argv) {
  const bool recorded = argc == 5 && std::string_view(argv[4]) == "recorded";
  if (argc != 4 && !recorded) {
    fmt::print(stderr, "usage: list_discards IMAGE TRACE POLICY [recorded]\n");
    return 2;
  }
  e4r::app::InputOptions options;
  options.image = argv[1];
  options.trace = argv[2];
  const e4r::Status done = e4r::list(options, argv[3], recorded);
  if (done.ok()) return 0;
  fmt::print(stderr, "list_discards: {}\n", done.error().message);
  return 1;
}
