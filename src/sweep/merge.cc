// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/merge.h"

#include <unistd.h>

#include "util/file.h"

namespace e4r::sweep {
namespace {

Status take_part(const std::string& directory, const std::string& manifest, const Plan& plan,
                 Finished& into) {
  E4R_TRY(const Range range, range_of(manifest, plan));
  Finished part;
  part.lines.resize(plan.points.size());
  E4R_CHECK(take_files(directory, plan, range, part));
  into.damaged += part.damaged;
  for (std::size_t i = 0; i < part.lines.size(); ++i) {
    if (part.lines[i].empty()) continue;
    if (into.lines[i].empty())
      ++into.count;
    else if (into.lines[i] != part.lines[i])
      return error("{}: its point {} differs from the same point of an earlier part", directory,
                   i + 1);
    into.lines[i] = std::move(part.lines[i]);
  }
  return {};
}

}  // namespace

Result<Joined> join(const std::vector<std::string>& directories, std::string_view program) {
  Joined out;
  for (const std::string& directory : directories) {
    const std::string path = directory + "/sweep.json";
    if (::access(path.c_str(), F_OK) != 0)
      return error("{}: holds no sweep: run its job again, or leave it out", directory);
    E4R_TRY(const std::string manifest, read_file(path));
    const auto whole = whole_manifest(manifest, program);
    if (!whole.ok()) return error("{}: {}", path, whole.error().message);
    if (out.manifest.empty()) {
      out.manifest = whole->text;
      out.plan = whole->plan;
      out.finished.lines.resize(out.plan.points.size());
    } else if (const Status same = same_sweep(whole->text, out.manifest); !same.ok()) {
      return error("{}: is of another sweep than {}: {}", path, directories.front(),
                   same.error().message);
    }
    if (const Status taken = take_part(directory, manifest, out.plan, out.finished); !taken.ok())
      return taken.error();
  }
  if (out.manifest.empty()) return error("no part is given: give the directories of parts");
  return out;
}

std::string missing_points(const Lines& lines) {
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].empty()) continue;
    const std::size_t first = i + 1;
    while (i + 1 < lines.size() && lines[i + 1].empty()) ++i;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", first);
    if (i + 1 != first) out += fmt::format("-{}", i + 1);
  }
  return out;
}

}  // namespace e4r::sweep
