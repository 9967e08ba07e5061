// SPDX-License-Identifier: GPL-2.0-only
#include "engines.h"

#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>

#include "../support.h"

namespace dio {
namespace {

class Sync : public Engine {
 public:
  void submit(const std::vector<Io*>& batch) override {
    for (Io* io : batch) {
      io->result = pwritev2(io->fd, io->pieces, static_cast<int>(io->piece_count),
                            static_cast<off_t>(io->offset), io->rw_flags);
      if (io->result < 0) io->result = -errno;
      done_.push_back(io);
    }
  }
  void reap(std::vector<Io*>& out, unsigned /*least*/) override {
    out.insert(out.end(), done_.begin(), done_.end());
    done_.clear();
  }

 private:
  std::vector<Io*> done_;
};

class Aio : public Engine {
 public:
  explicit Aio(unsigned depth) : blocks_(depth), events_(depth) {
    lab::check(syscall(SYS_io_setup, depth, &context_), "io_setup");
    for (iocb& block : blocks_) free_.push_back(&block);
  }
  ~Aio() override { syscall(SYS_io_destroy, context_); }

  void submit(const std::vector<Io*>& batch) override {
    std::vector<iocb*> list;
    for (Io* io : batch) list.push_back(prepare(io));
    std::size_t at = 0;
    while (at < list.size()) {
      const long n =
          syscall(SYS_io_submit, context_, static_cast<long>(list.size() - at), &list[at]);
      if (n < 0 && errno != EAGAIN && errno != EINTR) lab::die("io_submit");
      at += static_cast<std::size_t>(std::max(n, 0L));
    }
  }

  void reap(std::vector<Io*>& out, unsigned least) override {
    long n = 0;
    do {
      n = syscall(SYS_io_getevents, context_, static_cast<long>(least),
                  static_cast<long>(events_.size()), events_.data(), nullptr);
    } while (n < 0 && errno == EINTR);
    lab::check(n, "io_getevents");
    for (long i = 0; i < n; ++i) {
      const io_event& event = events_[static_cast<std::size_t>(i)];
      free_.push_back(reinterpret_cast<iocb*>(event.obj));
      Io* io = reinterpret_cast<Io*>(event.data);
      io->result = static_cast<long>(event.res);
      out.push_back(io);
    }
  }

 private:
  iocb* prepare(Io* io) {
    iocb* block = free_.back();
    free_.pop_back();
    *block = {};
    block->aio_data = reinterpret_cast<std::uint64_t>(io);
    block->aio_lio_opcode = IOCB_CMD_PWRITEV;
    block->aio_fildes = static_cast<std::uint32_t>(io->fd);
    block->aio_rw_flags = io->rw_flags;
    block->aio_buf = reinterpret_cast<std::uint64_t>(io->pieces);
    block->aio_nbytes = io->piece_count;
    block->aio_offset = static_cast<std::int64_t>(io->offset);
    return block;
  }

  aio_context_t context_ = 0;
  std::vector<iocb> blocks_;
  std::vector<io_event> events_;
  std::vector<iocb*> free_;
};

class Uring : public Engine {
 public:
  explicit Uring(unsigned depth) {
    io_uring_params params{};
    fd_ =
        static_cast<int>(lab::check(syscall(SYS_io_uring_setup, depth, &params), "io_uring_setup"));
    if ((params.features & IORING_FEAT_SINGLE_MMAP) == 0) {
      errno = ENOSYS;
      lab::die("io_uring: one mapping of both rings");
    }
    ring_size_ =
        std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                              params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
    ring_ = map(ring_size_, IORING_OFF_SQ_RING);
    entries_size_ = params.sq_entries * sizeof(io_uring_sqe);
    entries_ = reinterpret_cast<io_uring_sqe*>(map(entries_size_, IORING_OFF_SQES));
    sq_tail_ = word(params.sq_off.tail);
    sq_mask_ = *word(params.sq_off.ring_mask);
    sq_array_ = word(params.sq_off.array);
    cq_head_ = word(params.cq_off.head);
    cq_tail_ = word(params.cq_off.tail);
    cq_mask_ = *word(params.cq_off.ring_mask);
    done_ = reinterpret_cast<io_uring_cqe*>(ring_ + params.cq_off.cqes);
  }
  ~Uring() override {
    munmap(entries_, entries_size_);
    munmap(ring_, ring_size_);
    close(fd_);
  }

  void submit(const std::vector<Io*>& batch) override {
    unsigned tail = *sq_tail_;
    for (Io* io : batch) {
      fill(entries_[tail & sq_mask_], io);
      sq_array_[tail & sq_mask_] = tail & sq_mask_;
      ++tail;
    }
    std::atomic_ref(*sq_tail_).store(tail, std::memory_order_release);
    auto left = static_cast<unsigned>(batch.size());
    while (left > 0) left -= enter(left, 0);
  }

  void reap(std::vector<Io*>& out, unsigned least) override {
    unsigned head = *cq_head_;
    unsigned tail = std::atomic_ref(*cq_tail_).load(std::memory_order_acquire);
    while (tail - head < least) {
      enter(0, least);
      tail = std::atomic_ref(*cq_tail_).load(std::memory_order_acquire);
    }
    for (; head != tail; ++head) {
      const io_uring_cqe& entry = done_[head & cq_mask_];
      Io* io = reinterpret_cast<Io*>(entry.user_data);
      io->result = entry.res;
      out.push_back(io);
    }
    std::atomic_ref(*cq_head_).store(head, std::memory_order_release);
  }

 private:
  char* map(std::size_t size, std::uint64_t what) const {
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_,
                    static_cast<off_t>(what));
    if (at == MAP_FAILED) lab::die("io_uring: mmap");
    return static_cast<char*>(at);
  }
  unsigned* word(unsigned offset) const { return reinterpret_cast<unsigned*>(ring_ + offset); }

  static void fill(io_uring_sqe& entry, Io* io) {
    std::memset(&entry, 0, sizeof(entry));
    entry.opcode = IORING_OP_WRITEV;
    entry.flags = io->offload ? IOSQE_ASYNC : 0;
    entry.fd = io->fd;
    entry.off = io->offset;
    entry.addr = reinterpret_cast<std::uint64_t>(io->pieces);
    entry.len = io->piece_count;
    entry.rw_flags = io->rw_flags;
    entry.user_data = reinterpret_cast<std::uint64_t>(io);
  }

  unsigned enter(unsigned submit, unsigned least) const {
    const long n = syscall(SYS_io_uring_enter, fd_, submit, least,
                           least > 0 ? IORING_ENTER_GETEVENTS : 0, nullptr, 0);
    if (n < 0 && errno != EINTR && errno != EAGAIN && errno != EBUSY) lab::die("io_uring_enter");
    return static_cast<unsigned>(std::max(n, 0L));
  }

  int fd_ = -1;
  std::size_t ring_size_ = 0, entries_size_ = 0;
  char* ring_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
  io_uring_cqe* done_ = nullptr;
  unsigned *sq_tail_ = nullptr, *sq_array_ = nullptr, *cq_head_ = nullptr, *cq_tail_ = nullptr;
  unsigned sq_mask_ = 0, cq_mask_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_engine(Via via, unsigned depth) {
  if (via == Via::aio) return std::make_unique<Aio>(depth);
  if (via == Via::uring) return std::make_unique<Uring>(depth);
  return std::make_unique<Sync>();
}

bool has_uring() {
  io_uring_params params{};
  const long fd = syscall(SYS_io_uring_setup, 1, &params);
  if (fd >= 0) close(static_cast<int>(fd));
  return fd >= 0;
}

}  // namespace dio
