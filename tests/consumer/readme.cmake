# The C code in README is the example that is compiled and run: cmake -DREADME=... -DEXAMPLE=... -P readme.cmake
file(READ ${README} readme)
file(READ ${EXAMPLE} example)
string(FIND "${readme}" "```c\n${example}```\n" place)
if(place EQUAL -1)
  message(FATAL_ERROR "${README} does not hold the code of ${EXAMPLE}")
endif()
