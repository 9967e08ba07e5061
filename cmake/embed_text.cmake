# SPDX-License-Identifier: GPL-2.0-or-later
# Embeds files as strings in a C++ source. Each string is named after its file: page.css becomes
# kPageCss. HEADER declares the strings, in NAMESPACE. With BEHIND_LICENCE, leaves out the first
# line of each file, which names its licence.
#   cmake "-DFILES=page.css;parts.js;..." -DHEADER=report/page.h -DNAMESPACE=e4r::report
#         [-DBEHIND_LICENCE=ON] -DOUT=page_assets.cc -P embed_text.cmake
set(text "// Made by cmake/embed_text.cmake.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n")
foreach(file IN LISTS FILES)
  file(READ "${file}" content)
  string(FIND "${content}" ")e4r\"" ends)
  if(NOT ends EQUAL -1)
    message(FATAL_ERROR "${file}: has what ends a C++ string")
  endif()
  if(BEHIND_LICENCE)
    string(FIND "${content}" "\n" first)
    string(SUBSTRING "${content}" ${first} -1 content)
  endif()
  set(name k)
  get_filename_component(words "${file}" NAME)
  string(REPLACE "." ";" words "${words}")
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 initial)
    string(TOUPPER "${initial}" initial)
    string(SUBSTRING "${word}" 1 -1 others)
    string(APPEND name "${initial}${others}")
  endforeach()
  string(APPEND text "const std::string_view ${name} = R\"e4r(${content})e4r\";\n\n")
endforeach()
file(WRITE "${OUT}" "${text}}  // namespace ${NAMESPACE}\n")
