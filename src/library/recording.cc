// SPDX-License-Identifier: GPL-2.0-or-later
#include <e4replay/recording.h>

#include "library/data.h"

namespace e4replay {
namespace {

Result<e4r::app::InputOptions> wanted_of(const RecordingOptions& options) {
  e4r::app::InputOptions wanted;
  wanted.image = options.image;
  wanted.trace = options.trace;
  wanted.tunables_file = options.tunables_file;
  E4R_TRY(wanted.read, read_options(options.events));
  wanted.strict = options.strict;
  wanted.threads = options.threads;
  return wanted;
}

Result<Recording> open_wanted(const RecordingOptions& options, const Listener& listener,
                              bool any_ratio) {
  E4R_TRY(e4r::app::InputOptions wanted, wanted_of(options));
  wanted.read.any_ratio = any_ratio;
  const Hearing hearing(listener);
  E4R_TRY(e4r::app::Inputs inputs, e4r::app::open_inputs(wanted, hearing.listener()));
  return Access::recording(std::move(inputs));
}

}  // namespace

Recording::Recording(std::shared_ptr<Data> data) : data_(std::move(data)) {}
Recording::Recording(const Recording&) = default;
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(const Recording&) = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

Result<Recording> Recording::open(const RecordingOptions& options, const Listener& listener) {
  return open_wanted(options, listener, false);
}

Result<Recording> Recording::open_any_ratio(const RecordingOptions& options,
                                            const Listener& listener) {
  return open_wanted(options, listener, true);
}

Result<Recording> Recording::open(const std::string& capture, const Listener& listener) {
  RecordingOptions options;
  options.image = capture;
  return open(options, listener);
}

Image Recording::image() const {
  const e4r::app::Inputs& inputs = data_->inputs;
  const auto image = Access::image_data();
  image->keep = data_;
  image->image = &inputs.image;
  image->source = &inputs.source;
  image->path = inputs.image_path;
  image->name = inputs.options.image;
  image->tunables = inputs.recorded;
  image->file_system = public_file_system(inputs.image.superblock());
  return Access::make<Image>(image);
}

EventReader Recording::events() const {
  return Access::reader(data_->inputs.trace.cursor());
}

std::uint64_t Recording::event_count() const {
  return data_->inputs.trace.events();
}

std::string Recording::release() const {
  return data_->inputs.release;
}

std::vector<std::string> Recording::tunables() const {
  std::vector<std::string> out;
  for (const e4r::allocator::TunableInfo& info : e4r::allocator::tunable_table())
    if (!info.own)
      out.push_back(fmt::format("{}={}", info.name, value_of(data_->inputs.recorded, info)));
  return out;
}

}  // namespace e4replay
