// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/dat/unpack.h"

#include <zlib.h>
#include <zstd.h>

#include "util/printable.h"

namespace e4r::trace::dat {

Result<Packing> parse_packing(std::string_view name) {
  if (name == "none" || name.empty()) return Packing::none;
  if (name == "zlib") return Packing::zlib;
  if (name == "zstd") return Packing::zstd;
  return error(
      "compressed with '{}', which this program does not know: unpack it with "
      "'trace-cmd convert --compression none'",
      printable(name, 32));
}

bool unpack(Packing packing, std::string_view packed, std::size_t size, std::vector<char>& out) {
  out.resize(size);
  switch (packing) {
    case Packing::none:
      out.assign(packed.begin(), packed.end());
      return packed.size() == size;
    case Packing::zlib: {
      uLongf got = size;
      return uncompress(reinterpret_cast<Bytef*>(out.data()), &got,
                        reinterpret_cast<const Bytef*>(packed.data()), packed.size()) == Z_OK &&
             got == size;
    }
    case Packing::zstd:
      return ZSTD_decompress(out.data(), size, packed.data(), packed.size()) == size;
  }
  return false;
}

}  // namespace e4r::trace::dat
