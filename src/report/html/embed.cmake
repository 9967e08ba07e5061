# SPDX-License-Identifier: GPL-2.0-or-later
# Writes the pages' style and scripts into a C++ source, as strings kPage... named by the files:
# page.css is kPageCss, sweep.js is kSweepJs.
#   cmake "-DFILES=page.css;parts.js;..." -DOUT=page_assets.cc -P embed.cmake
set(text "// Made by src/report/html/embed.cmake.\n#include \"report/page_assets.h\"\n\nnamespace e4r::report {\n\n")
foreach(file IN LISTS FILES)
  file(READ "${file}" content)
  string(FIND "${content}" ")e4r\"" ends)
  if(NOT ends EQUAL -1)
    message(FATAL_ERROR "${file}: has what ends a C++ string")
  endif()
  # Behind the licence's line, which the page has no use for.
  string(FIND "${content}" "\n" first)
  string(SUBSTRING "${content}" ${first} -1 content)
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
file(WRITE "${OUT}" "${text}}  // namespace e4r::report\n")
