# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DINPUT=FILE -DOUTPUT=FILE -DNAMESPACE=TEXT -DNAME=TEXT -P embed.cmake: writes a C++ file
# with the bytes of INPUT in an array NAME, and their number in NAMEBytes.
file(READ ${INPUT} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR count "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include <cstddef>
namespace ${NAMESPACE} {
extern const unsigned char ${NAME}[];
extern const std::size_t ${NAME}Bytes;
alignas(8) const unsigned char ${NAME}[] = {
${bytes}};
const std::size_t ${NAME}Bytes = ${count};
}
")
