// SPDX-License-Identifier: GPL-2.0-only
// Makes many concurrent direct writes of 512 bytes to 64 KiB, at any sector, to files in DIRECTORY.
// The writers are threads that use pwritev2, libaio or io_uring. Meanwhile, other threads punch,
// zero, allocate, truncate, extend and read the files, write through the page cache, and store
// through a mapping. A model knows the possible contents of each sector. All sectors are compared
// with the model at the end of each round, and some also during the round.
//   diostress --seed N --seconds S DIRECTORY          or --ops N per thread
//   --files N            number of files; each thread works on all of them
//   --tails PERCENT      share of operations at the end of the file, which other operations extend
//   --bad-sectors FILE   null_blk's attribute "badblocks", used to make some sectors bad (only with
//                        --changers 0: bad blocks must not be freed or enter the page cache)
//   --exposing 1         permits a direct read to see old data of the disk in a page with a
//                        concurrent store through a mapping (Linux without delayed allocation)
//   --patience SECONDS   the run fails if threads still wait this long after the end of --seconds
//   --state FILE         stores the expected contents of the remaining files
//   --verify-only FILE   after a remount, compares the files with the contents stored in FILE
//   --self-test 1        tests the model with invented outcomes, in memory
// For each failure, prints a line with the expected contents, the contents found, and the
// operations in flight, and exits with 1.
#include <sys/statvfs.h>

#include <algorithm>
#include <barrier>
#include <fstream>
#include <functional>
#include <memory>

#include "bad.h"
#include "maintenance.h"
#include "mapped.h"
#include "round.h"
#include "selftest.h"
#include "watch.h"
#include "writers.h"

namespace dio {
namespace {

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// A file on the disk, with its model.
struct Kept {
  std::string path;
  std::uint64_t round;
  std::unique_ptr<Model> model;
};

class Run {
 public:
  explicit Run(const lab::Options& options);
  int run();

 private:
  void add_writers(Via via, std::uint64_t threads);
  void one_round(std::barrier<>& gate);
  void begin_file(std::size_t index);
  void end_file(Target& target);
  void save_state() const;

  const lab::Options& options_;
  Stress stress_;
  std::uint64_t ops_left_, round_ops_ = 0;
  bool quit_ = false;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::unique_ptr<Changer> changer_;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<Mapper> mapper_;
  std::vector<std::function<void(std::uint64_t)>> roles_;
  std::vector<Kept> kept_;
  std::optional<BadSectors> bad_;
};

std::uint32_t block_size_of(const std::string& directory) {
  struct statvfs st {};
  lab::check(statvfs(directory.c_str(), &st), directory);
  return static_cast<std::uint32_t>(st.f_bsize);
}

Run::Run(const lab::Options& options)
    : options_(options),
      stress_(options),
      ops_left_(options.number("ops") > 0 ? options.number("ops") : kNoLimit) {
  stress_.block_size = block_size_of(options.directory());
  stress_.exposing = options.number("exposing") > 0;
  if (!options.text("bad-sectors").empty()) bad_.emplace(options.text("bad-sectors"));
  const std::string& engines = options.text("engines");
  const auto wants = [&engines](const char* name) {
    return ("," + engines + ",").find(std::string(",") + name + ",") != std::string::npos;
  };
  if (wants("uring") && !has_uring()) lab::die("io_uring (leave it out with --engines sync,aio)");
  if (wants("sync")) add_writers(Via::sync, options.number("threads"));
  if (wants("aio")) add_writers(Via::aio, options.number("threads"));
  if (wants("uring")) add_writers(Via::uring, options.number("threads"));
  auto owner = static_cast<std::uint32_t>(roles_.size());
  if (options.number("changers") > 0) {
    changer_ = std::make_unique<Changer>(stress_, ++owner);
    roles_.emplace_back([this](std::uint64_t ops) { changer_->run(ops / 2); });
  }
  if (options.number("readers") > 0) {
    reader_ = std::make_unique<Reader>(stress_, ++owner);
    roles_.emplace_back([this](std::uint64_t ops) { reader_->run(ops / 2); });
  }
  if (options.number("mappers") > 0) {
    mapper_ = std::make_unique<Mapper>(stress_, ++owner);
    roles_.emplace_back([this](std::uint64_t ops) { mapper_->run(ops); });
  }
}

void Run::add_writers(Via via, std::uint64_t threads) {
  for (std::uint64_t i = 0; i < threads; ++i) {
    const auto owner = static_cast<std::uint32_t>(roles_.size() + 1);
    writers_.push_back(std::make_unique<Writer>(stress_, via, owner,
                                                static_cast<unsigned>(options_.number("depth"))));
    roles_.emplace_back([writer = writers_.back().get()](std::uint64_t ops) { writer->run(ops); });
  }
}

int Run::run() {
  std::barrier gate(static_cast<std::ptrdiff_t>(roles_.size()) + 1);
  std::vector<std::thread> threads;
  for (const auto& role : roles_)
    threads.emplace_back([this, &role, &gate] {
      for (;;) {
        gate.arrive_and_wait();
        if (quit_) return;
        role(round_ops_);
        gate.arrive_and_wait();
      }
    });
  while (!stress_.over() && ops_left_ > 0) one_round(gate);
  quit_ = true;
  gate.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  stress_.figures();
  if (!options_.text("state").empty()) save_state();
  return stress_.count(Count::failures) == 0 ? 0 : 1;
}

void Run::one_round(std::barrier<>& gate) {
  ++stress_.round;
  stress_.round_seed = generator(stress_.seed(), stress_.round).next();
  for (std::size_t i = 0; i < stress_.targets.size(); ++i) begin_file(i);
  round_ops_ = std::min(ops_left_, options_.number("round-ops"));
  if (ops_left_ != kNoLimit) ops_left_ -= round_ops_;
  gate.arrive_and_wait();
  gate.arrive_and_wait();
  if (bad_) bad_->clear();
  for (Target& target : stress_.targets) end_file(target);
  stress_.add(Count::rounds);
}

void Run::begin_file(std::size_t index) {
  const std::size_t files = stress_.targets.size();
  Target& target = stress_.targets[index];
  target.seed = generator(stress_.round_seed, 0xf11e, index).next();
  lab::Rng rng(target.seed);
  const std::uint64_t most = options_.number("size") / kSector >> rng.below(3);
  const auto id = static_cast<std::uint32_t>((stress_.round - 1) * files + index + 1);
  const std::string path =
      options_.directory() + "/d" + std::to_string(id % (options_.number("keep") * files));
  std::erase_if(kept_, [&path](const Kept& kept) { return kept.path == path; });
  kept_.push_back({path, stress_.round,
                   std::make_unique<Model>(id, static_cast<std::uint32_t>(most),
                                           stress_.block_size / kSector)});
  lay_out(stress_, target, path, *kept_.back().model);
  if (bad_) bad_->choose(target, rng);
}

void Run::end_file(Target& target) {
  verify(stress_, target, "at the end of the round");
  if (lab::Rng(target.seed ^ 1).percent(50)) verify_behind(stress_, target);
  close(target.direct);
  close(target.buffered);
}

void Run::save_state() const {
  std::ofstream out(options_.text("state"));
  out << stress_.seed() << '\n';
  for (const auto& [path, round, model] : kept_) {
    out << path.substr(path.rfind('/') + 1) << ' ' << round << ' ';
    model->save(out);
  }
  if (!out.flush()) lab::die(options_.text("state"));
}

int verify_only(const lab::Options& options) {
  Stress stress(options);
  stress.block_size = block_size_of(options.directory());
  std::ifstream in(options.text("verify-only"));
  std::uint64_t seed = 0, files = 0;
  std::string name;
  if (!(in >> seed)) lab::die(options.text("verify-only"));
  while (in >> name >> stress.round) {
    std::optional<Model> model = Model::load(in);
    if (!model) {
      std::fprintf(stderr, "diostress: %s: not what --state writes\n",
                   options.text("verify-only").c_str());
      return 1;
    }
    Target& target = stress.targets[0];
    target.model = &*model;
    target.path = options.directory() + "/" + name;
    target.direct =
        static_cast<int>(lab::check(open(target.path.c_str(), O_RDONLY | O_DIRECT), target.path));
    target.buffered =
        static_cast<int>(lab::check(open(target.path.c_str(), O_RDONLY), target.path));
    verify(stress, target, "later");
    close(target.direct);
    close(target.buffered);
    ++files;
  }
  lab::figure("files_verified", files);
  lab::figure("sectors_verified_later", stress.count(Count::sectors_verified));
  return files > 0 && stress.count(Count::failures) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace dio

int main(int argc, char** argv) {
  const lab::Options options(
      argc, argv,
      {{"seed", "1"},      {"seconds", "0"}, {"ops", "0"},        {"round-ops", "150"},
       {"size", "2M"},     {"threads", "2"}, {"depth", "8"},      {"engines", "sync,aio,uring"},
       {"changers", "1"},  {"readers", "1"}, {"mappers", "1"},    {"files", "1"},
       {"keep", "4"},      {"tails", "10"},  {"bad-sectors", ""}, {"exposing", "0"},
       {"patience", "60"}, {"state", ""},    {"verify-only", ""}, {"self-test", "0"}});
  if (options.number("self-test") != 0) return dio::self_test();
  if (!options.text("verify-only").empty()) return dio::verify_only(options);
  if (options.number("seconds") == 0 && options.number("ops") == 0) {
    std::fprintf(stderr, "diostress: --seconds or --ops\n");
    return 2;
  }
  const auto work = [&options] { return dio::Run(options).run(); };
  if (options.number("seconds") == 0) return work();
  return dio::watched(static_cast<double>(options.number("seconds") + options.number("patience")),
                      options.directory(), work);
}
