// SPDX-License-Identifier: GPL-2.0-or-later
#include <pybind11/stl.h>

#include <e4replay/image.h>

#include "arrays.h"
#include "calls.h"
#include "module.h"

namespace e4replay::python {
namespace {

py::memoryview bitmap_of(const Image& image, std::uint32_t group) {
  must(image.group(group));
  const std::span<const std::uint64_t> words = image.bitmap(group);
  if (words.empty()) raise("the image was opened without its bitmaps");
  return view(words, std::make_shared<const Image>(image));
}

py::memoryview free_clusters(const Image& image) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t group = 0; group < image.file_system().groups; ++group)
    out.push_back(must(image.group(group)).free_clusters);
  return view(std::move(out));
}

void define_file_system(py::module_& module) {
  py::class_<FileSystem>(module, "FileSystem", "Facts from the superblock.")
      .def_readonly("block_size", &FileSystem::block_size, "Bytes in a block.")
      .def_readonly("blocks", &FileSystem::blocks, "Blocks of the device.")
      .def_readonly("free_blocks", &FileSystem::free_blocks,
                    "Free blocks, according to the superblock.")
      .def_readonly("first_block", &FileSystem::first_block, "The first block of group 0.")
      .def_readonly("groups", &FileSystem::groups, "The number of groups.")
      .def_readonly("blocks_per_group", &FileSystem::blocks_per_group,
                    "Blocks in a group. The last group may have fewer.")
      .def_readonly("clusters_per_group", &FileSystem::clusters_per_group,
                    "Clusters in a group. The last group may have fewer.")
      .def_readonly("blocks_per_cluster", &FileSystem::blocks_per_cluster,
                    "Blocks in a cluster; 1 without bigalloc.")
      .def_readonly("inodes_per_group", &FileSystem::inodes_per_group, "Inodes in each group.")
      .def_property_readonly(
          "label", [](const FileSystem& of) { return text(of.label); }, "The name of the volume.")
      .def_property_readonly(
          "uuid", [](const FileSystem& of) { return text(of.uuid); },
          "The UUID, as blkid prints it.")
      .def("__repr__", repr_of({"blocks", "block_size", "groups", "free_blocks", "label"}));
  py::class_<Group>(module, "Group", "A group's descriptor, with the counts that it stores.")
      .def_readonly("first_block", &Group::first_block, "The group's first block on the device.")
      .def_readonly("blocks", &Group::blocks, "Blocks in the group.")
      .def_readonly("clusters", &Group::clusters, "Clusters in the group.")
      .def_readonly("free_clusters", &Group::free_clusters,
                    "Free clusters, according to the descriptor.")
      .def_readonly("free_inodes", &Group::free_inodes, "Free inodes, according to the descriptor.")
      .def_property_readonly(
          "fault", [](const Group& of) { return text(of.fault); },
          "Why nothing may be allocated in the group; empty if it is sound.")
      .def("__repr__", repr_of({"first_block", "clusters", "free_clusters", "fault"}));
}

void define_free_extents(py::module_& module) {
  py::class_<FreeExtents>(module, "FreeExtents",
                          "Sizes of free extents in blocks, counted as e2freefrag counts them.")
      .def_readonly("chunk_blocks", &FreeExtents::chunk_blocks, "Blocks in a chunk.")
      .def_readonly("count", &FreeExtents::count, "The number of free extents.")
      .def_readonly("blocks", &FreeExtents::blocks, "The number of free blocks.")
      .def_readonly("min", &FreeExtents::min,
                    "Blocks of the smallest free extent; 0 without free extents.")
      .def_readonly("max", &FreeExtents::max, "Blocks of the largest free extent.")
      .def_readonly("free_chunks", &FreeExtents::free_chunks, "Chunks in which no block is in use.")
      .def_property_readonly("average", &FreeExtents::average,
                             "Blocks of a free extent, on average.")
      .def_property_readonly(
          "buckets",
          [](const FreeExtents& of) {
            py::list out;
            for (const FreeExtents::Bucket& bucket : of.buckets)
              out.append(py::make_tuple(bucket.extents, bucket.blocks));
            return out;
          },
          "(extents, blocks) by size: bucket k has extents of 2^(k-1) to 2^k - 1 blocks.")
      .def("__repr__", repr_of({"count", "blocks", "min", "max", "average"}));
}

}  // namespace

void define_images(py::module_& module) {
  define_file_system(module);
  define_free_extents(module);
  py::class_<Image>(module, "Image", "The core of e4replay.Image.")
      .def_static(
          "open",
          [](const std::string& path, bool bitmaps, bool strict, unsigned threads) {
            return long_call([&](const Listener&) {
              return Image::open(path, {bitmaps, strict, threads});
            });
          },
          py::arg("path"), py::arg("bitmaps"), py::arg("strict"), py::arg("threads"))
      .def_property_readonly("file_system", &Image::file_system,
                             py::return_value_policy::reference_internal)
      .def("warnings", [](const Image& image) { return texts(image.warnings()); })
      .def("group",
           [](const Image& image, std::uint32_t number) { return must(image.group(number)); })
      .def("bitmap", bitmap_of)
      .def("free_clusters", free_clusters)
      .def("free_extents", [](const Image& image, std::uint64_t chunk_kb) {
        return long_call([&](const Listener&) { return image.free_extents(chunk_kb); });
      });
}

}  // namespace e4replay::python
