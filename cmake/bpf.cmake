# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the BPF program of `e4replay record --events full`. One compilation by clang serves all
# kernels that have BTF. The executable contains the compiled program.
find_program(E4R_BPF_CLANG clang)
pkg_check_modules(LIBBPF QUIET IMPORTED_TARGET libbpf)
e4r_optional(BPF "`record --events full`" "clang, libbpf-dev"
  E4R_HAVE_RECORD AND E4R_BPF_CLANG AND LIBBPF_FOUND)

# e4r_embed_bpf(SOURCE OUTPUT NAME DEPENDS...): makes OUTPUT, a C++ file that defines the array
# e4r::record::NAME and its size NAMEBytes.
function(e4r_embed_bpf source output name)
  set(object ${output}.o)
  add_custom_command(OUTPUT ${output}
    COMMAND ${E4R_BPF_CLANG} -O2 -g -Wall -Wextra -Wno-unused-parameter -target bpf
      -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.
      -fdebug-compilation-dir=. -c ${source} -o ${object}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${object} -DOUTPUT=${output} -DNAMESPACE=e4r::record -DNAME=${name}
      -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${source} ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
endfunction()
