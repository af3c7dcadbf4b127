# `clattn bench`. Its loops are at the processor's limit only when optimised, whatever the build type says.
clattn_embed(bench ${CMAKE_CURRENT_SOURCE_DIR} bench_peak.cl)
set_source_files_properties(bench_peak_loops.c PROPERTIES COMPILE_OPTIONS "-O2;-ffp-contract=fast")
target_sources(clattn_tool PRIVATE cmd_bench.c bench_args.c bench_check.c bench_compare.c bench_csv.c bench_files.c bench_job.c
  bench_json.c bench_measure.c bench_peak.c bench_peak_device.c bench_peak_loops.c bench_places.c bench_progress.c bench_ratio.c
  bench_record.c bench_rows.c bench_series.c bench_speed.c bench_split.c bench_sweep.c bench_table.c bench_text.c bench_works.c
  ${CMAKE_CURRENT_BINARY_DIR}/embedded_bench.c)
# `clattn tune`, which times as bench does.
target_sources(clattn_tool PRIVATE cmd_tune.c tune_file.c tune_process.c tune_search.c tune_worker.c tune_works.c)
if(CLATTN_PICTURES)
  target_sources(clattn_tool PRIVATE bench_charts.c bench_report.c plot_chart.c)
else()
  target_sources(clattn_tool PRIVATE bench_pictures_none.c)
endif()
