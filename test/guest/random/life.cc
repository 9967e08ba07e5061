// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/random/life.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "util/units.h"

namespace e4r::test::random {
namespace {

using Kind = Step::Kind;

// A numeric field: its name in the text and its member. Writing and reading use the same list.
template <class Of>
struct NumberField {
  std::string_view name;
  std::uint64_t most;
  std::uint64_t (*get)(const Of&);
  void (*set)(Of&, std::uint64_t);
};

template <class Of, auto Member>
constexpr NumberField<Of> field(std::string_view name) {
  using Value = std::remove_cvref_t<decltype(std::declval<Of>().*Member)>;
  return {name, std::numeric_limits<Value>::max(),
          [](const Of& of) { return static_cast<std::uint64_t>(of.*Member); },
          [](Of& of, std::uint64_t value) { of.*Member = static_cast<Value>(value); }};
}
template <auto Member>
constexpr NumberField<Shape> fill_field(std::string_view name) {
  using Value = std::remove_cvref_t<decltype(std::declval<Fill>().*Member)>;
  return {name, std::numeric_limits<Value>::max(),
          [](const Shape& of) { return static_cast<std::uint64_t>(of.fill.*Member); },
          [](Shape& of, std::uint64_t value) { of.fill.*Member = static_cast<Value>(value); }};
}

constexpr std::array kShapeFields = {
    field<Shape, &Shape::groups>("groups"),
    field<Shape, &Shape::block_size>("block_size"),
    field<Shape, &Shape::cluster_size>("cluster_size"),
    field<Shape, &Shape::group_clusters>("group_clusters"),
    field<Shape, &Shape::short_by>("short_by"),
    field<Shape, &Shape::inodes>("inodes"),
    field<Shape, &Shape::flex>("flex"),
    field<Shape, &Shape::stripe_width>("stripe_width"),
    field<Shape, &Shape::reserved>("reserved"),
    field<Shape, &Shape::extents>("extents"),
    field<Shape, &Shape::journal>("journal"),
    field<Shape, &Shape::checksums>("checksums"),
    field<Shape, &Shape::data_writeback>("data_writeback"),
    field<Shape, &Shape::loaded>("loaded"),
    fill_field<&Fill::seed>("fill_seed"),
    fill_field<&Fill::min_free>("min_free"),
    fill_field<&Fill::max_free>("max_free"),
    fill_field<&Fill::min_used>("min_used"),
    fill_field<&Fill::max_used>("max_used"),
    fill_field<&Fill::most_free>("most_free"),
    fill_field<&Fill::skip_percent>("skip_percent"),
};

constexpr std::array kStepFields = {
    field<Step, &Step::ino>("ino"),         field<Step, &Step::at>("at"),
    field<Step, &Step::len>("len"),         field<Step, &Step::flags>("flags"),
    field<Step, &Step::goal>("goal"),       field<Step, &Step::size>("size"),
    field<Step, &Step::writers>("writers"), field<Step, &Step::cpu>("cpu"),
};

constexpr std::array<std::string_view, 11> kKinds = {
    "write", "metadata",     "free",       "free_metadata", "discard", "evict",
    "make",  "begin_commit", "end_commit", "set",           "load"};

template <class Of, std::size_t N>
void put_fields(const std::array<NumberField<Of>, N>& fields, const Of& of, std::string& out) {
  const Of otherwise;
  for (const NumberField<Of>& f : fields)
    if (f.get(of) != f.get(otherwise)) out += fmt::format(" {}={}", f.name, f.get(of));
}

template <class Of, std::size_t N>
Status take_field(const std::array<NumberField<Of>, N>& fields, std::string_view word, Of& of) {
  const std::size_t equals = std::min(word.find('='), word.size());
  const auto* const found =
      std::find_if(fields.begin(), fields.end(),
                   [&](const NumberField<Of>& f) { return f.name == word.substr(0, equals); });
  if (found == fields.end()) return error("'{}' is not one of its numbers", word);
  E4R_TRY(const std::uint64_t value, parse_u64(word.substr(std::min(equals + 1, word.size()))));
  if (value > found->most) return error("{}: {} is too much", found->name, value);
  found->set(of, value);
  return {};
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = line.find_first_not_of(" \t"); at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t", end);
  }
  return out;
}

Status take_line(std::string_view line, Life& life, bool& has_shape) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.empty() || words[0].starts_with('#')) return {};
  if (words[0] == "tunable") {
    for (std::size_t i = 1; i < words.size(); ++i) life.shape.tunables.emplace_back(words[i]);
    return {};
  }
  if (words[0] == "filesystem") {
    has_shape = true;
    for (std::size_t i = 1; i < words.size(); ++i)
      E4R_CHECK(take_field(kShapeFields, words[i], life.shape));
    return {};
  }
  const auto* const kind = std::find(kKinds.begin(), kKinds.end(), words[0]);
  if (kind == kKinds.end()) return error("'{}' is not a step", words[0]);
  Step step;
  step.kind = static_cast<Kind>(kind - kKinds.begin());
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (step.kind == Kind::set)
      step.text = words[i];
    else
      E4R_CHECK(take_field(kStepFields, words[i], step));
  }
  life.steps.push_back(std::move(step));
  return {};
}

}  // namespace

std::string to_text(const Step& step) {
  std::string out(kKinds.at(static_cast<std::size_t>(step.kind)));
  put_fields(kStepFields, step, out);
  if (!step.text.empty()) out += ' ' + step.text;
  return out;
}

std::string to_text(const Life& life) {
  std::string out = "filesystem";
  put_fields(kShapeFields, life.shape, out);
  out += '\n';
  for (const std::string& tunable : life.shape.tunables) out += "tunable " + tunable + '\n';
  for (const Step& step : life.steps) out += to_text(step) + '\n';
  return out;
}

Result<Life> parse_life(std::string_view text) {
  Life life;
  bool has_shape = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const Status taken = take_line(text.substr(0, end), life, has_shape);
    if (!taken.ok()) return error("line {}: {}", number, taken.error().message);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!has_shape) return error("no line 'filesystem'");
  return life;
}

}  // namespace e4r::test::random
