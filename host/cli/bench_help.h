/* What `clattn bench --help` says of its own options. */
#ifndef CTN_BENCH_HELP_H
#define CTN_BENCH_HELP_H

#define CTN_BENCH_HELP                                                                                       \
  "  WORK                  any of these; without one, all:\n"                                                \
  "                          peak      fused multiply-adds, natively and through OpenCL\n"                   \
  "                          memory    reading memory, likewise\n"                                           \
  "                          prefill   8 heads, 1920 and 1999 keys, D = 64 and 128, in f32, f16, bf16\n"     \
  "                          causal    4096 keys, causal against full\n"                                     \
  "                          window    8192 keys, a window of 512 against causal\n"                          \
  "                          short     12 heads, 128 keys, a batch of 1 and of 8\n"                          \
  "                          decode    one query over 8192 keys, D = 128, 8 to 64 heads on 8 of keys\n"      \
  "                          project   2048 rows, 768 numbers to 768\n"                                      \
  "                          product   CLBlast's matrix products against the own kernel's\n"                 \
  "                          split     a prefill over two parts of a device, and over all devices at once\n" \
  "                          overhead  calls on a tiny problem against an empty kernel's\n"                  \
  "  --sweep AXIS=VALUES   works (without one: prefill) at several sizes. AXIS: seq, head-dim, batch,\n"     \
  "                        heads, kv-heads, window; VALUES: 128:16384 (doubling), 100:500:100, 64,100\n"     \
  "  --json FILE           all of it, every run's time included\n"                                           \
  "  --csv FILE            the table\n"                                                                      \
  "  --plot FILE           .png or .svg: time and share of peak over the swept size\n"                       \
  "  --roofline FILE       .png or .svg: speed over operations a byte, below what each device can do\n"      \
  "  --report FILE         one page of HTML: devices, tables and plots\n"                                    \
  "  --compare OLD         what became slower or faster since the --json file OLD, beyond noise;\n"          \
  "                        exit code 1 where a row is slower by more than --threshold\n"                     \
  "  --threshold PERCENT   (default: 5%)\n"                                                                  \
  "  --with NEW            the --json file NEW in place of measuring\n"                                      \
  "  --repeats N           rounds; the rows of a work take turns in each (default: 7, or 5 for slow rows)\n" \
  "  --budget SECONDS      what one run may take; works that would take longer on a device are made\n"       \
  "                        smaller there, or left out of a sweep; 0: no limit (default: 2 where no work\n"   \
  "                        or size is named, 10 in a sweep)\n"                                               \
  "  --sizes small         every work at an eighth of its lengths\n"                                         \
  "  --seq N               keys and queries, or projected rows, in place of the works' own sizes;\n"         \
  "  --batch N, --heads N, --kv-heads N, --head-dim N, --window N, --dtype f32|f16|bf16   likewise\n"

#define CTN_BENCH_EXAMPLE                                                                                 \
  "  clattn bench --report bench.html\n"                                                                  \
  "  clattn bench peak prefill --path fused --json prefill.json\n"                                        \
  "  clattn bench prefill decode --sweep seq=128:16384 --plot sweep.png\n"                                \
  "  clattn bench --compare before.json --threshold 5%\n"                                                 \
  "  clattn bench --compare before.json --with after.json     without measuring anything\n"               \
  "  Every device is measured unless --device names one. A result that differs from the reference is a\n" \
  "  failed row, not a time. Ctrl-C keeps what was measured.\n"                                           \
  "  Times on a device are from enqueueing on its buffers to finishing, without copies; the work\n"       \
  "  split is on the host's arrays, copies included.\n"

#endif
