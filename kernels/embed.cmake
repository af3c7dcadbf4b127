# Turns files into one C file of byte arrays and a table of them, with nothing but CMake:
#   cmake -DFOLDER=dir -DFILES=a.cl,common/b.clh -DOUTPUT=out.c -DTABLE=name -DHEADER=embedded.h -P embed.cmake
# String literals would not do: compilers warn past 4,095 bytes.
string(REPLACE "," ";" FILES "${FILES}")
set(arrays "")
set(rows "")
set(number 0)
foreach(file IN LISTS FILES)
  file(READ "${FOLDER}/${file}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  file(SIZE "${FOLDER}/${file}" size)
  string(APPEND arrays "static const unsigned char file_${number}[] = {${bytes}0};\n")
  string(APPEND rows "  {\"${file}\", file_${number}, ${size}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}.tmp"
  "/* Made by embed.cmake. */\n#include \"${HEADER}\"\n${arrays}\nconst struct embedded_file ${TABLE}[] = {\n${rows}  {0, 0, 0}};\n")
file(RENAME "${OUTPUT}.tmp" "${OUTPUT}")
