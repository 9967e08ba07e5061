// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/values.h"
#include "age/profile.h"

#include <algorithm>
#include <array>

#include "allocator/policy.h"
#include "allocator/tunables.h"
#include "record/recorder.h"
#include "record/tracer.h"
#include "shrinker/reclaim.h"
#include "sweep/ranking.h"
#include "trace/generation_words.h"

namespace e4r::tools {
namespace {

using completion::Value;
using completion::Word;

std::vector<Word> policies() {
  std::vector<Word> out;
  for (const allocator::Policy* p : allocator::policies()) {
    out.push_back({std::string(p->name), std::string(p->summary)});
    if (!p->alias.empty()) out.push_back({std::string(p->alias), "= " + std::string(p->name)});
  }
  return out;
}

std::vector<Word> tunables() {
  std::vector<Word> out;
  for (const allocator::TunableInfo& info : allocator::tunable_table())
    out.push_back({std::string(info.name) + "=", std::string(info.meaning)});
  return out;
}

std::vector<Word> metrics() {
  std::vector<Word> out;
  for (const results::Row* row : sweep::metrics())
    out.push_back(
        {row->key, row->better == results::Better::lower ? "lower is better" : "higher is better"});
  return out;
}

std::vector<Word> models() {
  std::vector<Word> out;
  for (const shrinker::Model& model : shrinker::models())
    out.push_back({std::string(model.name), std::string(model.summary)});
  return out;
}

std::vector<Word> snapshots() {
  using record::Snapshot;
  std::vector<Word> out;
  for (const Snapshot snapshot : {Snapshot::automatic, Snapshot::freeze, Snapshot::reflink,
                                  Snapshot::unmounted, Snapshot::none})
    out.push_back({record::snapshot_name(snapshot)});
  return out;
}

std::vector<Word> clocks() {
  using record::TraceClock;
  std::vector<Word> out;
  for (const TraceClock clock : {TraceClock::mono, TraceClock::mono_raw, TraceClock::boot})
    out.push_back({record::clock_name(clock)});
  return out;
}

std::vector<Word> profiles() {
  std::vector<Word> out;
  out.reserve(age::profiles().size());
  for (const age::Profile& profile : age::profiles()) out.push_back({profile.name, profile.source});
  return out;
}

std::vector<Word> generations() {
  std::vector<Word> out;
  out.reserve(std::size(trace::kGenerationWords));
  for (const auto& [word, generation] : trace::kGenerationWords)
    out.push_back({std::string(word), "Linux " + std::string(trace::generation_name(generation))});
  return out;
}

bool is_file(std::string_view placeholder) {
  static constexpr std::array<std::string_view, 9> kFiles = {
      "SIZE|IMAGE", "IMAGE",  "IMAGE|FILE.e4c",      "TRACE", "FILE", "FILE.e4c",
      "OUT",        "TARGET", "FILE.e4c|IMAGE:TRACE"};
  return std::ranges::find(kFiles, placeholder) != kFiles.end();
}

}  // namespace

Value value_of(std::string_view placeholder) {
  using Kind = Value::Kind;
  if (is_file(placeholder)) return {Kind::file};
  if (placeholder == "CMD...") return {Kind::command};
  if (placeholder == "POLICY" || placeholder == "NAME") return {Kind::words, policies()};
  if (placeholder == "POLICY[,POLICY...]") return {Kind::words, policies(), true};
  if (placeholder == "DIR") return {Kind::directory};
  if (placeholder == "METRIC") return {Kind::words, metrics()};
  if (placeholder == "NAME=VALUE" || placeholder == "NAME=VALUES") return {Kind::words, tunables()};
  if (placeholder == "MODEL") return {Kind::words, models()};
  if (placeholder == "MODEL[,MODEL...]") return {Kind::words, models(), true};
  if (placeholder == "HOW") return {Kind::words, snapshots()};
  if (placeholder == "CLOCK") return {Kind::words, clocks()};
  if (placeholder == "WHAT") return {Kind::words, {{"free"}, {"order"}}};
  if (placeholder == "SET") return {Kind::words, {{"minimal"}, {"full"}}};
  if (placeholder == "PROFILE") return {Kind::words, profiles()};
  if (placeholder == "PROFILE[,PROFILE...]") return {Kind::words, profiles(), true};
  if (placeholder == "HOW-WRITTEN") return {Kind::words, {{"delalloc"}, {"nodelalloc"}}};
  if (placeholder == "GEN") return {Kind::words, generations()};
  return {};
}

}  // namespace e4r::tools
