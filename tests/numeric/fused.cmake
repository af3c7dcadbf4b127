# The fused path at the borders of its kernels' blocks and on problems drawn at random, merging partial results, the self-test of
# kernels, and offsets past 2^31, on PoCL and on Rusticl.
set(fused_sources fused_check.c fused_shrink.c fused_case_file.c)
clattn_test(fused_borders LABEL numeric TIMEOUT 600 SOURCES fused_borders.c ${fused_sources} SEES support files)
clattn_test(fused_property LABEL numeric TIMEOUT 600 SOURCES fused_property.c ${fused_sources} SEES support files)
clattn_test(merge LABEL numeric TIMEOUT 300 SOURCES merge.c SEES support)
clattn_test(far LABEL numeric TIMEOUT 300 SOURCES far.c SEES support)
clattn_test(selftest LABEL numeric TIMEOUT 300 SOURCES selftest.c SEES support)
target_compile_definitions(test_selftest PRIVATE CLATTN_KERNELS="${PROJECT_SOURCE_DIR}/kernels")
add_dependencies(test_fused_property clattn_tool)
target_compile_definitions(test_fused_property PRIVATE CLATTN_TOOL="$<TARGET_FILE:clattn_tool>")
foreach(part fused_borders fused_property merge selftest far)
  add_test(NAME numeric_${part}_rusticl COMMAND test_${part})
  set_tests_properties(numeric_${part}_rusticl PROPERTIES LABELS numeric TIMEOUT 600
    ENVIRONMENT "CLATTN_TEST_DEVICE=rusticl;RUSTICL_ENABLE=llvmpipe")
endforeach()
