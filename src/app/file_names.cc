// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/file_names.h"

#include <set>

#include "util/escaped.h"
#include "util/units.h"

namespace e4r::app {
namespace {

using Inodes = std::set<std::uint64_t>;

// The wanted inodes whose creation the trace shows.
Result<Inodes> made_in(const trace::PackedTrace& trace, const Inodes& wanted) {
  Inodes out;
  const auto events = trace.cursor();
  for (;;) {
    E4R_TRY(const std::span<const trace::Event> batch, events->next());
    if (batch.empty()) return out;
    for (const trace::Event& event : batch)
      if (event.kind == trace::EventKind::allocate_inode && wanted.contains(event.ino))
        out.insert(event.ino);
  }
}

}  // namespace

Status name_files(const Inputs& inputs, const Listener& listener, report::FragmentedFiles& all) {
  Inodes wanted;
  for (const report::FragmentedFile& file : all.files) wanted.insert(file.ino);
  E4R_TRY(const Inodes made, made_in(inputs.trace, wanted));
  for (const std::uint64_t ino : made) wanted.erase(ino);
  const image::FoundPaths found = inputs.image.paths(wanted);
  all.has_paths = found.has_inodes;
  for (report::FragmentedFile& file : all.files) {
    file.is_new = made.contains(file.ino);
    if (const auto path = found.paths.find(file.ino); path != found.paths.end())
      file.path = path->second;
  }
  if (found.unreadable > 0)
    listener.warn(fmt::format("{}: {} directories cannot be read, so paths may be missing",
                              escaped(inputs.image_name), format_count(found.unreadable)));
  return {};
}

}  // namespace e4r::app
