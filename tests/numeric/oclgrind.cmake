# Runs PROGRAM under OCLGRIND once for each of CASES (CLATTN_TEST_CASE), and fails where one fails or the simulator has anything to say.
# Without the self-test, whose problems would come first in the same process: see memory.c.
foreach(case IN LISTS CASES)
  set(log ${FOLDER}/oclgrind_${case}.log)
  file(REMOVE ${log})
  execute_process(COMMAND ${CMAKE_COMMAND} -E env CLATTN_TEST_DEVICE=Oclgrind CLATTN_TEST_CASE=${case}
    CLATTN_TEST_NO_SELFTEST=1
    ${OCLGRIND} --data-races --uninitialized --log ${log} ${PROGRAM} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(said "")
  if(EXISTS ${log})
    file(READ ${log} said)
  endif()
  if(NOT result EQUAL 0 OR NOT said STREQUAL "")
    message(FATAL_ERROR "case ${case}: result ${result}\n${output}\n${said}")
  endif()
  string(REGEX MATCH "SKIPPED" skipped "${output}")
  message(STATUS "case ${case}: quiet ${skipped}")
endforeach()
