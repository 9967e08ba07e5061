// SPDX-License-Identifier: GPL-2.0-or-later
// Runs random lives of random file systems through the model and a kernel's code until they differ
// or the number of decisions is reached (test/guest/random.sh). The numbers of the lives begin with
// --seed S. The same number gives the same life on every machine.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "guest/kernel.h"
#include "guest/kernel_file.h"
#include "guest/random/contest.h"
#include "guest/random/draw.h"
#include "guest/random/minimise.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::test::random {
namespace {

struct Options {
  std::string kernel, model, case_file;
  std::uint64_t seed = 1, decisions = 100000, steps = 0, lives = UINT64_MAX, tries = 1500;
  std::uint64_t partings = 1;  // number of differences to find before the program ends
  std::uint64_t progress = 0;  // if not 0, print a line for each life
};

constexpr const char* kUsage =
    "usage: guest_random KERNEL [OPTION VALUE]...\n"
    "  KERNEL            made by `e4replay kernel build`\n"
    "  --seed N          the first life (1); the next one is N + 1\n"
    "  --decisions N     ends behind so many (100000)\n"
    "  --lives N         or so many lives\n"
    "  --partings N      or when model and kernel have parted so often (1)\n"
    "  --progress 1      a line for each life on standard error\n"
    "  --steps N         of each life; else drawn\n"
    "  --tries N         lives that are tried to make one small (1500)\n"
    "  --model POLICY    else the one that stands for the kernel's release\n"
    "  --case FILE       one life, from what was printed\n";

Result<Options> parse(int argc, char** argv) {
  Options out;
  const std::map<std::string, std::uint64_t*> numbers = {
      {"--seed", &out.seed},        {"--decisions", &out.decisions}, {"--steps", &out.steps},
      {"--lives", &out.lives},      {"--tries", &out.tries},         {"--partings", &out.partings},
      {"--progress", &out.progress}};
  const std::map<std::string, std::string*> words = {{"--model", &out.model},
                                                     {"--case", &out.case_file}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = numbers.find(word);
    const auto text = words.find(word);
    if (number == numbers.end() && text == words.end()) {
      if (word.starts_with("-") || !out.kernel.empty()) return error("{}: not understood", word);
      out.kernel = word;
      continue;
    }
    if (++i == argc) return error("{}: wants a value", word);
    if (text != words.end()) {
      *text->second = argv[i];
      continue;
    }
    E4R_TRY(*number->second, parse_u64(argv[i]));
  }
  if (out.kernel.empty()) return error("no kernel given");
  return out;
}

// Returns the model for the kernel's release, and a way to run that kernel.
Result<Sides> sides_of(const Options& options) {
  E4R_TRY(const guest::KernelFile file, guest::read_kernel_file(options.kernel));
  E4R_TRY(const allocator::Policy* kernel, guest::kernel_policy(options.kernel));
  Sides out;
  for (const allocator::Policy* policy : allocator::policies())
    if (options.model.empty() ? allocator::stands_for(*policy, file.release)
                              : policy == allocator::find_policy(options.model))
      out.policy = policy;
  if (out.policy == nullptr)
    return error("{}: no model stands for {}: name one with --model", options.kernel, file.release);
  out.other = [kernel, path = options.kernel](const StartImage& image,
                                              bool loaded) -> Result<Other> {
    guest::KernelOptions asked;
    asked.policy = kernel;
    asked.kernel = path;
    asked.image = asked.named = image.path();
    asked.tunables = image.tunables();
    asked.loaded = loaded;
    E4R_TRY(std::unique_ptr<guest::KernelDecider> started,
            guest::KernelDecider::start(image.source(), asked));
    guest::KernelDecider* const runs = started.get();
    return Other{std::move(started), [runs](Heard heard) { runs->run_ahead(std::move(heard)); }};
  };
  return out;
}

// Keeps the image of the last shape for reuse, because most of the tried lives differ only in their
// steps.
class Holder {
 public:
  explicit Holder(const Sides& sides) : sides_(sides) {}
  void use(const Shape& shape, std::unique_ptr<StartImage> image) {
    shape_ = to_text(Life{shape, {}});
    image_ = std::move(image);
  }
  Result<Verdict> hold_life(const Life& life) {
    const std::string shape = to_text(Life{life.shape, {}});
    if (!image_ || shape != shape_) {
      E4R_TRY(image_, StartImage::make(life.shape));
      shape_ = shape;
    }
    return hold(life, *image_, sides_);
  }

 private:
  const Sides& sides_;
  std::unique_ptr<StartImage> image_;
  std::string shape_;
};

void print(const Life& life, const Verdict& verdict) {
  const Parting& p = *verdict.parted;
  fmt::print("{}", to_text(life));
  fmt::print("# parts at step {}, decision {}: {}\n", p.step + 1, p.decision, p.what);
  if (!p.request.empty()) fmt::print("# request {}\n", p.request);
  if (!p.ours.empty()) fmt::print("# model   {}\n", p.ours);
  if (!p.theirs.empty()) fmt::print("# kernel  {}\n", p.theirs);
  std::fflush(stdout);
}

// Prints the shortest life that shows a difference in the same facts.
Status report(const Life& life, const Verdict& found, const Sides& sides, const Options& options) {
  Holder holder(sides);
  Life start = life;
  const std::string& what = found.parted->what;
  start.steps.resize(std::min(start.steps.size(), found.parted->step + 1));
  const Shows shows = [&](const Life& tried) {
    const auto verdict = holder.hold_life(tried);
    return verdict.ok() && verdict->parted && verdict->parted->what == what;
  };
  const Life least = minimise(start, shows, static_cast<std::uint32_t>(options.tries));
  E4R_TRY(const Verdict last, holder.hold_life(least));
  if (!last.parted) return error("parts no longer where it parted: {}", what);
  print(least, last);
  return {};
}

Result<Life> draw_life(std::uint64_t seed, const Options& options, Holder& holder) {
  constexpr int kShapes = 100;  // mke2fs refuses some shapes
  Rng rng(Rng(seed).next());    // without this, neighbouring seeds would share most draws
  Life life;
  for (int tried = 1;; ++tried) {
    life.shape = draw_shape(rng);
    auto image = StartImage::make(life.shape);
    if (!image.ok() && tried == kShapes) return image.error();
    if (!image.ok()) continue;
    const std::uint64_t steps = options.steps != 0 ? options.steps : 1ull << rng.between(9, 16);
    life.steps = draw_steps(rng, (*image)->source(), static_cast<std::uint32_t>(steps));
    holder.use(life.shape, *std::move(image));
    return life;
  }
}

void add(const Verdict& verdict, Verdict& all) {
  all.decisions += verdict.decisions;
  all.failed += verdict.failed;
  all.preallocs += verdict.preallocs;
  for (std::size_t i = 0; i < all.found_by.size(); ++i) all.found_by[i] += verdict.found_by[i];
}

// Formats the number of allocations by criterion: "CR0 12,000, CR1 ...". An allocation at its goal
// counts for CR0.
std::string by_criterion(const Verdict& all) {
  std::string out;
  for (std::size_t i = 0; i < all.found_by.size(); ++i)
    if (all.found_by[i] != 0)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ",
                         mb::criterion_name(static_cast<mb::Criterion>(i)),
                         format_count(all.found_by[i]));
  return out;
}

Result<bool> run(const Options& options) {
  E4R_TRY(const Sides sides, sides_of(options));
  if (!options.case_file.empty()) {
    E4R_TRY(const std::string text, read_file(options.case_file));
    const auto life = parse_life(text);
    if (!life.ok()) return error("{}: {}", options.case_file, life.error().message);
    E4R_TRY(const Verdict verdict, Holder(sides).hold_life(*life));
    if (verdict.parted)
      print(*life, verdict);
    else
      fmt::print("{} decisions, none differs\n", verdict.decisions);
    return !verdict.parted;
  }
  const auto began = std::chrono::steady_clock::now();
  Verdict all;
  std::uint64_t lives = 0, partings = 0, refused = 0;
  for (std::uint64_t seed = options.seed;
       all.decisions < options.decisions && lives < options.lives && partings < options.partings;
       ++seed, ++lives) {
    Holder holder(sides);
    E4R_TRY(const Life life, draw_life(seed, options, holder));
    const auto verdict = holder.hold_life(life);
    if (!verdict.ok()) {
      ++refused;
      fmt::print("life {}: {}\n", seed, verdict.error().message);
      continue;
    }
    add(*verdict, all);
    if (options.progress)
      fmt::print(stderr, "life {}: {} decisions of {} steps, {} in all\n", seed, verdict->decisions,
                 life.steps.size(), format_count(all.decisions));
    if (!verdict->parted) continue;
    ++partings;
    fmt::print("life {} parts at step {} of {}, decision {}: {}\n", seed, verdict->parted->step + 1,
               life.steps.size(), verdict->parted->decision, verdict->parted->what);
    std::fflush(stdout);
    E4R_CHECK(report(life, *verdict, sides, options));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print("{} against {}: {} decisions of {} lives from seed {} on, {} partings, {:.0f} s\n",
             sides.policy->name, options.kernel, format_count(all.decisions), format_count(lives),
             options.seed, partings, took.count());
  fmt::print("served from preallocations {}, by {}, without space {}\n",
             format_count(all.preallocs), by_criterion(all), format_count(all.failed));
  return partings == 0 && refused == 0;
}

}  // namespace
}  // namespace e4r::test::random

int main(int argc, char** argv) {
  using namespace e4r::test::random;
  const auto options = parse(argc, argv);
  if (!options.ok()) {
    fmt::print(stderr, "guest_random: {}\n{}", options.error().message, kUsage);
    return 2;
  }
  const auto held = run(*options);
  if (!held.ok()) {
    fmt::print(stderr, "guest_random: {}\n", held.error().message);
    return 1;
  }
  return *held ? 0 : 1;
}
