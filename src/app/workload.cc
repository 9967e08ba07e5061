// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/workload.h"

#include <algorithm>
#include <filesystem>

#include "age/ager.h"
#include "age/job.h"
#include "age/profile.h"
#include "age/punch.h"
#include "app/ageing.h"
#include "app/setups.h"
#include "conformance/recording_decider.h"
#include "guest/guest.h"
#include "guest/kernel_file.h"
#include "trace/e4t/file.h"
#include "util/file.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::app {
namespace {

constexpr std::string_view kJobFile = ".fio";
// The number of events that are packed at a time.
constexpr std::size_t kEvents = 1 << 16;

Result<age::Wanted> read_workload(const std::string& workload) {
  if (!is_workload_file(workload)) {
    auto words = age::parse_job_words(workload);
    if (!words.ok()) return error("--workload: {}", words.error().message);
    return words;
  }
  E4R_TRY(const std::string text, read_file(workload));
  return age::parse_fio(unix_lines(text), workload);
}

std::uint64_t count_free_inodes(const image::Image& image) {
  std::uint64_t out = 0;
  for (const image::GroupInfo& info : image.groups()) out += info.bad() ? 0 : info.free_inodes;
  return out;
}

// Performs a workload, and packs the events that a kernel would record.
class Player {
 public:
  Player(const image::Image& image, const state::Source& source, age::Wanted wanted)
      : image_(image), source_(source), wanted_(std::move(wanted)) {}

  // Prepares the operations without performing them. Fails if the workload does not fit.
  Status prepare();
  Status play(const allocator::Policy& policy, const allocator::Tunables& tunables,
              const std::string& name, const Listener& listener);

  [[nodiscard]] std::uint32_t writers() const { return jobs_ ? jobs_->writers() : 1; }
  [[nodiscard]] const std::string& events() const { return packed_; }
  [[nodiscard]] report::WorkloadFacts facts() const { return facts_; }

 private:
  Status prepare_profile();
  bool next(age::Operation& operation) {
    return jobs_ ? jobs_->next(operation) : aged_->next(operation);
  }
  void pack(conformance::RecordingDecider& recorder, trace::e4t::Writer& writer,
            trace::TraceSummary& summary);

  const image::Image& image_;
  const state::Source& source_;
  const age::Wanted wanted_;
  std::vector<std::uint32_t> inodes_;
  std::optional<age::JobWorkload> jobs_;
  std::unique_ptr<age::Drawing> aged_;
  std::string packed_;
  report::WorkloadFacts facts_;
};

Status Player::prepare_profile() {
  age::AgeingWorkloadOptions options = space_to_age(results::outcome_of(source_));
  options.slots = static_cast<std::uint32_t>(inodes_.size());
  options.seed = wanted_.seed;
  // Fill half of the free space, with a turnover of a tenth of the file system's size.
  const double used = static_cast<double>(options.used) / static_cast<double>(options.clusters);
  std::string until = fmt::format("utilisation {:.4f}, turnover 0.1", used / 2 + 0.5);
  if (used / 2 + 0.5 > 0.97) until = "utilisation 0.97, turnover 0.1";
  if (!wanted_.until.empty()) until += ", " + wanted_.until;
  E4R_TRY(options.until, age::parse_until(until));
  E4R_TRY(const age::Profile profile, age::find_profile(wanted_.profile));
  E4R_TRY(aged_, age::draw_for(profile, options));
  return {};
}

Status Player::prepare() {
  const age::FileLimits limits = {source_.geometry.block_size(), count_free_inodes(image_)};
  if (const Status fits = age::check_jobs(wanted_.jobs, limits); !fits.ok())
    return error("--workload: {}", fits.error().message);
  const bool by_profile = wanted_.jobs.empty();
  if (!by_profile) jobs_.emplace(wanted_.jobs);
  const bool is_spread = by_profile || wanted_.spread;
  E4R_TRY(inodes_, free_inodes(image_, is_spread ? UINT64_MAX : jobs_->files()));
  if (is_spread) inodes_ = spread(inodes_, image_.superblock(), source_.geometry);
  if (by_profile) E4R_CHECK(prepare_profile());
  if (jobs_ && inodes_.size() < jobs_->files())
    return error("--workload: {} files, and {} inodes are free: give fewer files",
                 format_count(jobs_->files()), format_count(inodes_.size()));
  return {};
}

void Player::pack(conformance::RecordingDecider& recorder, trace::e4t::Writer& writer,
                  trace::TraceSummary& summary) {
  const std::vector<trace::Event> events = recorder.take_events();
  for (const trace::Event& event : events) static_cast<void>(summary.add(event, nullptr));
  writer.add(events, summary.generation);
}

Status Player::play(const allocator::Policy& policy, const allocator::Tunables& tunables,
                    const std::string& name, const Listener& listener) {
  E4R_TRY(const auto decider, make_decider(policy, tunables, {source_, {}, name}, true));
  conformance::RecordingDecider recorder(*decider);
  trace::e4t::Writer writer(packed_);
  writer.begin();
  trace::TraceSummary summary;
  summary.format = summary.recorded_as = trace::Format::e4t;
  summary.generation = conformance::generation_of(policy);
  age::AgerOptions options;
  options.align = policy.kernel.align;
  options.tunables = tunables;
  options.inodes = inodes_;
  options.goes_on_when_full = true;
  options.large_folios = has_large_folios(policy);
  options.refused_early = [&recorder](const allocator::Request& r) { recorder.refuse(r); };
  age::Ager ager(recorder, source_, std::move(options));
  age::Operation operation;
  std::uint64_t count = 0;
  for (std::uint64_t failed = 0; next(operation); ++count) {
    E4R_CHECK(ager.apply(operation));
    if (jobs_ && ager.tally().failed != std::exchange(failed, ager.tally().failed)) jobs_->fail();
    if (recorder.events().size() >= kEvents) pack(recorder, writer, summary);
    if (listener.progress.active() && count % 4096 == 0)
      listener.progress.show(fmt::format("{}: {} operations", policy.name, format_count(count)));
  }
  E4R_CHECK(recorder.finish());
  pack(recorder, writer, summary);
  writer.finish(summary);
  listener.progress.wipe();
  const age::AgerTally& tally = ager.tally();
  facts_.policy = std::string(policy.name);
  facts_.files = jobs_ ? jobs_->files() : aged_->files();
  facts_.writers = writers();
  facts_.operations = count;
  facts_.requests = tally.requests;
  facts_.failed = tally.failed;
  facts_.bytes_wanted = jobs_ ? jobs_->bytes_wanted() : aged_->bytes_written();
  facts_.bytes_lost = jobs_ ? facts_.bytes_wanted - jobs_->bytes_written() : tally.lost_bytes;
  facts_.ignored = wanted_.ignored;
  if (tally.requests == 0)
    return error("--workload: makes no request: it writes nothing that needs new blocks");
  return {};
}

}  // namespace

bool is_workload_file(const std::string& workload) {
  std::error_code failed;
  return workload.ends_with(kJobFile) ||
         (workload.find('=') == std::string::npos &&
          std::ranges::none_of(age::profiles(),
                               [&](const age::Profile& p) { return p.name == workload; }) &&
          std::filesystem::is_regular_file(workload, failed));
}

const allocator::Policy* maker_of(const std::vector<const allocator::Policy*>& policies) {
  for (const allocator::Policy* policy : policies)
    if (!guest::is_kernel(*policy)) return policy;
  return allocator::find_policy("legacy");
}

Result<Inputs> make_inputs(const InputOptions& given, const WorkloadOptions& workload,
                           const Listener& listener) {
  E4R_TRY(age::Wanted wanted, read_workload(workload.workload));
  image::OpenOptions open;
  open.strict = given.strict;
  open.threads = given.threads;
  E4R_TRY(StartImage start, open_start(given.image, open, listener));
  auto& [opened, source] = start;
  Player player(opened.image, source, std::move(wanted));
  E4R_CHECK(player.prepare());
  allocator::Tunables tunables = allocator::defaults_for(source.geometry);
  tunables.possible_cpus = player.writers();
  E4R_TRY(std::string tunables_from, take_start_tunables(given.tunables_file, opened, tunables));
  E4R_CHECK(apply_settings(tunables, workload.settings));
  E4R_CHECK(player.play(*workload.policy, tunables, given.image, listener));
  E4R_TRY(trace::PackedTrace trace,
          trace::load_packed_bytes(player.events(), "workload " + workload.workload));
  Inputs out = {given,
                std::nullopt,
                opened.path,
                std::move(opened.image),
                std::move(trace),
                std::move(source),
                tunables,
                std::move(tunables_from),
                conformance::release_of(*workload.policy),
                {},
                std::nullopt,
                player.facts(),
                std::move(opened.capture)};
  out.options.trace = out.trace.name();
  out.mount = replay::read_mount("", out.image.superblock().default_mount_opts);
  out.workload->text = workload.workload;
  return out;
}

}  // namespace e4r::app
