# `clattn verify --path fused` on each of NAMES below CASES under Oclgrind, and fails where one fails or the simulator has anything to say:
#   cmake -DTOOL=clattn -DOCLGRIND=oclgrind -DCASES=folder "-DNAMES=own/x;own/y" -DFOLDER=where-logs-go -P oclgrind.cmake
# A process for each, and no self-test before it: Oclgrind mistakes memory that is allocated again for uninitialised.
if(NOT OCLGRIND)
  if(DEFINED ENV{CLATTN_TEST_REQUIRE_DEVICES})
    message(FATAL_ERROR "there is no oclgrind")
  endif()
  message("skipped: there is no oclgrind")
  return()
endif()
set(ENV{CLATTN_NO_SELFTEST} 1)
foreach(name IN LISTS NAMES)
  string(MAKE_C_IDENTIFIER "${name}" identifier)
  set(log ${FOLDER}/oclgrind_${identifier}.log)
  file(REMOVE ${log})
  execute_process(COMMAND ${OCLGRIND} --data-races --uninitialized --log ${log}
    ${TOOL} verify ${CASES}/${name}.safetensors --strict --path fused --device Oclgrind
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(said "")
  if(EXISTS ${log})
    file(READ ${log} said)
  endif()
  if(NOT code EQUAL 0 OR NOT output MATCHES "(^|\n)1 passed, 0 failed, 0 skipped\n" OR NOT said STREQUAL "")
    message(FATAL_ERROR "${name}: exit code ${code}\n${output}\n${said}")
  endif()
  message(STATUS "${name}: quiet")
endforeach()
