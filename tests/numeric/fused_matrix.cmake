# The matrix family without a matrix engine: a copy of the kernels with an engine in plain OpenCL (tests/emulated), on PoCL, and small cases
# on Oclgrind. And with NVIDIA's: assembled for it, where there are clang and ptxas.
set(MATRIX_KERNELS ${CMAKE_CURRENT_BINARY_DIR}/emulated)
add_test(NAME numeric_fused_matrix_begin COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/kernels
  ${PROJECT_SOURCE_DIR}/tests/emulated ${MATRIX_KERNELS})
set_tests_properties(numeric_fused_matrix_begin PROPERTIES LABELS numeric FIXTURES_SETUP emulated_kernels)

# The program without CLATTN_TEST_QUICK goes through all data types, masks and widths, in about ten minutes.
clattn_test(fused_matrix LABEL numeric TIMEOUT 1500 SOURCES fused_matrix.c SEES support
  ENVIRONMENT "CLATTN_TEST_KERNEL_DIR=${MATRIX_KERNELS};CLATTN_TEST_QUICK=1")
set_tests_properties(numeric_fused_matrix PROPERTIES FIXTURES_REQUIRED emulated_kernels)
add_test(NAME numeric_fused_matrix_oclgrind COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:test_fused_matrix>
  "-DOCLGRIND=$<$<BOOL:${CLATTN_OCLGRIND}>:${CLATTN_OCLGRIND}>" "-DCASES=0;1;2" -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/emulated_logs
  -P ${CMAKE_CURRENT_SOURCE_DIR}/oclgrind.cmake)
set_tests_properties(numeric_fused_matrix_oclgrind PROPERTIES LABELS numeric TIMEOUT 1500 FIXTURES_REQUIRED emulated_kernels
  ENVIRONMENT "CLATTN_TEST_KERNEL_DIR=${MATRIX_KERNELS}")
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/emulated_logs)

find_program(CLATTN_CLANG clang)
find_program(CLATTN_PTXAS ptxas PATHS /usr/local/cuda/bin)
add_test(NAME numeric_fused_matrix_ptx COMMAND ${CMAKE_COMMAND} "-DCLANG=${CLATTN_CLANG}" "-DPTXAS=${CLATTN_PTXAS}"
  -DKERNELS=${PROJECT_SOURCE_DIR}/kernels -DBUILTINS=${PROJECT_SOURCE_DIR}/tests/ptx/builtins.clh
  -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/emulated_logs -P ${CMAKE_CURRENT_SOURCE_DIR}/ptx.cmake)
set_tests_properties(numeric_fused_matrix_ptx PROPERTIES LABELS numeric TIMEOUT 300 SKIP_REGULAR_EXPRESSION "^skipped: ")
