// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/memory_reader.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <tuple>
#include <vector>

#include "record/bpf/memory.h"
#include "record/bpf/object.h"
#include "record/bpf_program.h"
#include "record/kernel_files.h"
#include "util/fd.h"

namespace e4r::record {
namespace {

// Formats the messages as lines of a checkpoint. The preallocations of an inode are in the order of
// its list, the newest first. A CPU has a list for each power of two, with the shortest first.
std::string text_of(const std::vector<e4r_memory>& messages) {
  struct Prealloc {
    e4r_memory as_sent;
    std::size_t made;
  };
  std::string out = "checkpoint 1\n";
  std::vector<Prealloc> preallocs;
  const auto add = [&out]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
  };
  add("streams {}\n", messages.back().index);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const e4r_memory& one = messages[i];
    if (one.kind == E4R_MEMORY_STREAM && (one.group != 0 || one.start != 0))
      add("stream {} {} {}\n", one.index, one.group, one.start);
    if (one.kind == E4R_MEMORY_PREALLOC) preallocs.push_back({one, messages.size() - i});
  }
  std::ranges::sort(preallocs, {}, [](const Prealloc& pa) {
    const bool of_cpu = pa.as_sent.ino == 0;
    return std::tuple(pa.as_sent.ino, pa.as_sent.cpu, of_cpu ? pa.as_sent.len : 0,
                      of_cpu ? pa.made : SIZE_MAX - pa.made);
  });
  for (const auto& [pa, made] : preallocs) {
    if (pa.ino != 0)
      add("of-inode {} {} {} {} {} {} {}\n", pa.ino, made, pa.group, pa.start, pa.len, pa.len,
          pa.logical);
    else
      add("of-cpu {} {} {} {} {} {} 0\n",
          pa.cpu == E4R_MEMORY_NO_CPU ? "-" : std::to_string(pa.cpu), made, pa.group, pa.start,
          pa.len, pa.len);
  }
  return out;
}

class Reader {
 public:
  Status load(const e4r_memory_settings& settings) {
    E4R_TRY(object_, load_bpf(kMemoryObject, kMemoryObjectBytes, &settings, sizeof settings));
    E4R_TRY(buffer_, open_buffer(*object_, "memory", &Reader::receive, this));
    bpf_program* program = bpf_object__next_program(object_.get(), nullptr);
    bpf_iter_link_info own = {};
    own.task.pid = static_cast<unsigned>(::getpid());
    bpf_iter_attach_opts options = {};
    options.sz = sizeof options;
    options.link_info = &own;
    options.link_info_len = sizeof own;
    link_.reset(bpf_program__attach_iter(program, &options));
    // Up to 6.0, an iterator goes through the files of all processes.
    if (!link_) link_.reset(bpf_program__attach_iter(program, nullptr));
    return link_ ? Status() : bpf_error("attach the BPF program");
  }

  Result<std::string> read(const std::string& mount_point) {
    const Fd directory(::open(mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.is_open()) return error("cannot open {}: {}", mount_point, errno_text(errno));
    const Fd iterator(bpf_iter_create(bpf_link__fd(link_.get())));
    if (!iterator.is_open()) return bpf_error("start the BPF program");
    char nothing[64];
    ssize_t count = 0;
    do {
      count = ::read(iterator.get(), nothing, sizeof nothing);
    } while (count > 0 || (count < 0 && errno == EAGAIN));
    if (count < 0 || ring_buffer__consume(buffer_.get()) < 0)
      return bpf_error("read the BPF program's buffer");
    if (messages_.empty() || messages_.back().kind != E4R_MEMORY_END ||
        messages_.back().count + 1 != messages_.size())
      return error("the BPF program's buffer is too small");
    return text_of(messages_);
  }

 private:
  static int receive(void* self, void* data, std::size_t size) {
    e4r_memory message;
    if (size != sizeof message) return 0;
    std::memcpy(&message, data, size);
    static_cast<Reader*>(self)->messages_.push_back(message);
    return 0;
  }

  BpfObject object_;
  BpfLink link_;
  BpfBuffer buffer_;
  std::vector<e4r_memory> messages_;
};

}  // namespace

Result<ReadMemory> load_memory_reader(std::uint32_t dev) {
  auto reader = std::make_shared<Reader>();
  E4R_CHECK(reader->load({dev, possible_cpus().last + 1}));
  return ReadMemory([reader](const std::string& point) { return reader->read(point); });
}

}  // namespace e4r::record
