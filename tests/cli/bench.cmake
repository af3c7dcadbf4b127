# `clattn bench` at tiny sizes; how fast is no question here.
cli_test(bench cli bench.c)
target_compile_definitions(test_bench PRIVATE CLATTN_KERNELS="${PROJECT_SOURCE_DIR}/kernels")
cli_test(bench_split cli bench_split.c)
set_tests_properties(cli_bench_split PROPERTIES TIMEOUT 600) # Rusticl is slow
target_compile_definitions(test_bench_split PRIVATE CLATTN_KERNELS="${PROJECT_SOURCE_DIR}/kernels")
cli_test(bench_compare cli bench_compare.c)
cli_test(bench_outputs cli bench_outputs.c markup.c)
target_compile_definitions(test_bench_outputs PRIVATE CLATTN_PICTURES=$<BOOL:${CLATTN_PICTURES}>)
cli_test(bench_parts cli bench_parts.c ${CLI_ROOM}/bench_ratio.c ${CLI_ROOM}/bench_series.c ${CLI_ROOM}/bench_sweep.c)
