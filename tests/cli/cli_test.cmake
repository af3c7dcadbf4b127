# A cmocka program that runs the tool: cli_test(name label sources...).
function(cli_test name label)
  clattn_test(${name} LABEL ${label} SOURCES ${ARGN} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/tool.c TIMEOUT 300)
  add_dependencies(test_${name} clattn_tool)
  target_include_directories(test_${name} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR} ${PROJECT_SOURCE_DIR}/host/cli)
  target_link_libraries(test_${name} PRIVATE files PkgConfig::JANSSON)
  target_compile_definitions(test_${name} PRIVATE CLATTN_TOOL="$<TARGET_FILE:clattn_tool>"
    TEST_CASES="${PROJECT_SOURCE_DIR}/tests/cases" TOOL_VERSION="${PROJECT_VERSION}")
endfunction()
