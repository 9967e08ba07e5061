// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/probes.h"

#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include "record/tracefs_api.h"
#include "record/tracer.h"
#include "trace/event.h"

namespace e4r::record {
namespace {

struct Probe {
  trace::EventKind kind;
  const char* function;
  const char* fields;
};

// The places of the fields are the same in Linux 5.4 to 7.3 on 64-bit machines: struct ext4_buddy
// has its super block at byte 40 and its group at byte 52, struct super_block has its device at
// byte 16, and struct ext4_free_extent has its start at byte 4 and its length at byte 12. On a
// kernel with other structures the device differs, so the filter drops the events.
constexpr std::array<Probe, 2> kProbes = {{
    {trace::EventKind::mark_used, "mb_mark_used",
     "dev=+16(+40($arg1)):u32 group=+52($arg1):u32 start=+4($arg2):u32 len=+12($arg2):u32"},
    {trace::EventKind::mark_freed, "mb_free_blocks",
     "dev=+16(+40($arg2)):u32 group=+52($arg2):u32 start=$arg3:u32 len=$arg4:u32"},
}};

struct Free {
  void operator()(tracefs_dynevent* event) const { tracefs_dynevent_free(event); }
};
using DynamicEvent = std::unique_ptr<tracefs_dynevent, Free>;

DynamicEvent dynamic_event(const Probe& probe) {
  return DynamicEvent(tracefs_kprobe_alloc(std::string(trace::event_system(probe.kind)).c_str(),
                                           std::string(trace::event_name(probe.kind)).c_str(),
                                           probe.function, probe.fields));
}

}  // namespace

Result<Probes> Probes::create() {
  for (const Probe& probe : kProbes) {
    const DynamicEvent event = dynamic_event(probe);
    const bool is_first = &probe == &kProbes.front();
    if (event != nullptr && (tracefs_dynevent_create(event.get()) == 0 || errno == EEXIST))
      continue;
    if (is_first)
      return error("the kernel cannot probe {}(): {}", probe.function, errno_text(errno));
  }
  return Probes();
}

Probes::~Probes() {
  if (!exist_) return;
  const Fd turn = take_turn();
  remove_unused();
}

// The kernel refuses to remove a probe that is in use.
void Probes::remove_unused() {
  for (const Probe& probe : kProbes)
    if (const DynamicEvent event = dynamic_event(probe))
      static_cast<void>(tracefs_dynevent_destroy(event.get(), false));
}

}  // namespace e4r::record
