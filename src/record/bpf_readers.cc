// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/bpf_readers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "record/bpf/messages.h"
#include "record/kernel_files.h"
#include "util/fd.h"

namespace e4r::record {

// The ELF objects that clang compiled from inputs.bpf.c and memory.bpf.c. The build generates the
// definitions (cmake/embed.cmake).
extern const unsigned char kInputsObject[];
extern const std::size_t kInputsObjectBytes;
extern const unsigned char kMemoryObject[];
extern const std::size_t kMemoryObjectBytes;

namespace {

// Frees what libbpf has made.
struct CloseBpf {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
  void operator()(ring_buffer* buffer) const { ring_buffer__free(buffer); }
};
using BpfObject = std::unique_ptr<bpf_object, CloseBpf>;
using BpfLink = std::unique_ptr<bpf_link, CloseBpf>;
using BpfBuffer = std::unique_ptr<ring_buffer, CloseBpf>;

// libbpf's first complaint. Later ones only report consequences.
std::string& complaint() {
  static std::string text;
  return text;
}

[[gnu::format(printf, 2, 0)]] int keep_complaint(libbpf_print_level level, const char* format,
                                                 va_list arguments) {
  if (level != LIBBPF_WARN || !complaint().empty()) return 0;
  char line[256];
  std::vsnprintf(line, sizeof line, format, arguments);
  complaint() = std::string(line).substr(0, std::string_view(line).find('\n'));
  return 0;
}

// Returns the map that holds the program's variables of that section.
bpf_map* section(const bpf_object& object, std::string_view name) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, &object) {
    if (std::string_view(bpf_map__name(map)).ends_with(name)) return map;
  }
  return nullptr;
}

// Makes an Error from a failure of libbpf, which has set errno.
Error bpf_error(std::string_view what) {
  const int errnum = errno;
  const std::string why = complaint().empty() ? "" : " (" + complaint() + ")";
  if (errnum == EPERM || errnum == EACCES)
    return error("cannot {}: needs root (CAP_BPF and CAP_PERFMON){}", what, why);
  return error("cannot {}: {}{}", what, errno_text(errnum), why);
}

// Loads a compiled BPF program into the kernel. `settings` are the values of its constants. The
// Error contains libbpf's first complaint.
Result<BpfObject> load_bpf(const unsigned char* object, std::size_t bytes, const void* settings,
                           std::size_t settings_bytes) {
  libbpf_set_print(keep_complaint);
  complaint().clear();
  bpf_object_open_opts options = {};
  options.sz = sizeof options;
  options.object_name = "e4replay";
  BpfObject out(bpf_object__open_mem(object, bytes, &options));
  if (!out) return bpf_error("open the BPF program");
  bpf_map* map = section(*out, ".rodata");
  if (map == nullptr || bpf_map__set_initial_value(map, settings, settings_bytes) != 0)
    return error("the BPF program's settings are missing");
  if (bpf_object__load(out.get()) != 0) return bpf_error("load the BPF program");
  return out;
}

// Makes the reader of a map of the program. `self` is passed to `receive`.
Result<BpfBuffer> open_buffer(const bpf_object& object, const char* map,
                              ring_buffer_sample_fn receive, void* self) {
  BpfBuffer out(
      ring_buffer__new(bpf_object__find_map_fd_by_name(&object, map), receive, self, nullptr));
  if (!out) return bpf_error("read the BPF program's buffer");
  return out;
}

class BpfInputReader final : public InputReader {
 public:
  Status load(const e4r_input_settings& settings) {
    E4R_TRY(object_, load_bpf(kInputsObject, kInputsObjectBytes, &settings, sizeof settings));
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object_.get()) {
      links_.emplace_back(bpf_program__attach(program));
      if (!links_.back()) return bpf_error("attach the BPF program");
    }
    E4R_TRY(buffer_, open_buffer(*object_, "inputs", &BpfInputReader::receive, this));
    return {};
  }

  Status read(const Sink& sink) override {
    sink_ = &sink;
    const int count = ring_buffer__consume(buffer_.get());
    sink_ = nullptr;
    return count >= 0 ? Status() : bpf_error("read the BPF program's buffer");
  }

 private:
  static int receive(void* self, void* data, std::size_t size) {
    e4r_input input;
    if (size != sizeof input) return 0;
    std::memcpy(&input, data, size);
    (*static_cast<BpfInputReader*>(self)->sink_)(input);
    return 0;
  }

  BpfObject object_;
  std::vector<BpfLink> links_;
  BpfBuffer buffer_;
  const Sink* sink_ = nullptr;
};

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

class BpfMemoryReader {
 public:
  Status load(const e4r_memory_settings& settings) {
    E4R_TRY(object_, load_bpf(kMemoryObject, kMemoryObjectBytes, &settings, sizeof settings));
    E4R_TRY(buffer_, open_buffer(*object_, "memory", &BpfMemoryReader::receive, this));
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
    static_cast<BpfMemoryReader*>(self)->messages_.push_back(message);
    return 0;
  }

  BpfObject object_;
  BpfLink link_;
  BpfBuffer buffer_;
  std::vector<e4r_memory> messages_;
};

}  // namespace

Result<std::unique_ptr<InputReader>> InputReader::create(std::uint32_t dev, TraceClock clock) {
  if (clock == TraceClock::mono_raw) return error("BPF programs cannot read the clock mono_raw");
  auto out = std::make_unique<BpfInputReader>();
  E4R_CHECK(out->load({dev, clock == TraceClock::boot}));
  return std::unique_ptr<InputReader>(std::move(out));
}

Result<ReadMemory> load_memory_reader(std::uint32_t dev) {
  auto reader = std::make_shared<BpfMemoryReader>();
  E4R_CHECK(reader->load({dev, possible_cpus().last + 1}));
  return ReadMemory([reader](const std::string& point) { return reader->read(point); });
}

}  // namespace e4r::record
