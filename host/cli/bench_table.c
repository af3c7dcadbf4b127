/* A run for a terminal: the places, a table of rows, ratios, what is missing and why, what the columns mean. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_run.h"
#include "print.h"

static void print_places(const struct run *run) {
  char peak[CELL], read[CELL];
  for (int i = 0; i < run->place_count; i++) {
    const struct run_place *place = &run->places[i];
    if (i == 0) {
      printf("host  %s%s%s\n", run->processor, *run->processor ? ": " : "", place->instructions);
    } else {
      printf("%-4lld  %s, %s (%s)\n", (long long)place->index, place->name, place->type, place->platform);
    }
    printf("      at most %s GFLOP/s%s%s%s; reads %s GB/s\n", ctn_cell_number(place->peak_gflops, peak),
           i && *place->instructions ? " (" : "", i ? place->instructions : "", i && *place->instructions ? ")" : "",
           ctn_cell_number(place->read_gb_s, read));
  }
}

/* What identifies a row, in 57 columns. */
static void print_name(const struct record *row) {
  char place[CELL], heads[CELL], sizes[CELL], dim[CELL];
  const bool plain = !row->q_len;
  printf("%-15s %-4s %-6s %-4s %7s %11s %4s", row->work, ctn_cell_place(row, place), row->path, plain ? "" : row->dtype,
         ctn_cell_heads(row, heads), ctn_cell_sizes(row, sizes), ctn_cell_dim(row, dim));
}

static void print_row(const struct record *row) {
  char median[CELL], spread[CELL], flop[CELL], bytes[CELL], share[CELL], speedup[CELL];
  print_name(row);
  if (!ctn_record_finished(row)) {
    printf("  FAILED, see below\n");
    return;
  }
  const bool meter = !row->q_len && (isfinite(row->gflops) || isfinite(row->gb_s));
  printf("  %8s  %6s  %7s  %5s  %7s  %5s\n", meter ? "" : ctn_cell_time(row->median_s, median), ctn_cell_spread(row, spread),
         ctn_cell_number(row->gflops, flop), ctn_cell_number(row->gb_s, bytes), meter ? "" : ctn_cell_share(row, share),
         isfinite(row->speedup) ? ctn_cell_number(row->speedup, speedup) : "");
}

/* The row on the same path of the same device that computes the same, fused. */
static const struct record *fused_of(const struct run *run, const struct record *staged) {
  for (int i = 0; i < run->left_out && strcmp(staged->path, "staged") == 0; i++) {
    const struct record *row = &run->rows[i];
    if (strcmp(row->path, "fused") == 0 && row->place == staged->place && strcmp(row->work, staged->work) == 0 &&
        strcmp(row->dtype, staged->dtype) == 0 && row->batch == staged->batch && row->q_heads == staged->q_heads &&
        row->kv_heads == staged->kv_heads && row->q_len == staged->q_len && row->kv_len == staged->kv_len &&
        row->head_dim == staged->head_dim && row->q_len > 4 && ctn_record_finished(row)) {
      return row;
    }
  }
  return NULL;
}

static void print_ratio(const struct record *row, const char *heading, double ratio, bool *title) {
  char place[CELL], sizes[CELL], size[CELL + 32];
  if (!*title) printf("\nratio of the medians, each measured in turns\n");
  *title = true;
  snprintf(size, sizeof size, "%s, %lld", ctn_cell_sizes(row, sizes), (long long)row->head_dim);
  printf("%-32s  %-4s  %-6s  %-4s  %18s  %6.3f\n", heading, ctn_cell_place(row, place), row->path, row->dtype, size, ratio);
}

static void print_ratios(const struct run *run) {
  bool title = false;
  for (int i = 0; i < run->left_out; i++) {
    const struct record *row = &run->rows[i], *fused = ctn_record_finished(row) ? fused_of(run, row) : NULL;
    char heading[96];
    if (isfinite(row->ratio)) {
      const bool types = strlen(row->compared_with) <= 4;
      snprintf(heading, sizeof heading, "%s / %s", types ? row->dtype : row->work, row->compared_with);
      print_ratio(row, heading, row->ratio, &title);
    }
    if (fused) {
      snprintf(heading, sizeof heading, "%s: staged / fused", row->work);
      print_ratio(row, heading, row->median_s / fused->median_s, &title);
    }
  }
}

static void print_reason(const struct record *row) {
  char reason[512];
  print_name(row);
  snprintf(reason, sizeof reason, "%s", row->reason);
  printf("\n  %s\n", ctn_one_line(reason));
}

static void print_missing(const struct run *run, const char *state, const char *title) {
  bool first = true;
  for (int i = 0; i < run->row_count; i++) {
    const struct record *row = &run->rows[i];
    if (strcmp(row->state, state) != 0) continue;
    if (first) printf("\n%s\n", title);
    first = false;
    print_reason(row);
  }
}

static void print_shrunk(const struct run *run) {
  bool first = true;
  for (int i = 0; i < run->row_count; i++) {
    const struct record *row = &run->rows[i];
    if (!row->whole_len || strcmp(row->path, "cpu") == 0) continue;
    if (first) printf("\nmade smaller, because the whole work would take too long there (--budget)\n");
    first = false;
    print_name(row);
    printf("  instead of %lld rows\n", (long long)row->whole_len);
  }
}

static void print_shares(const struct run *run) {
  bool first = true;
  for (int i = 0; i < run->row_count; i++) {
    const struct record *row = &run->rows[i];
    const json_t *share;
    size_t n;
    if (!json_array_size(row->shares)) continue;
    if (first) printf("\nshared out by the speeds measured on each part\n");
    first = false;
    print_name(row);
    putchar('\n');
    json_array_foreach(row->shares, n, share) {
      const char *device = json_string_value(json_object_get(share, "device"));
      printf("  %4.3g %%  %s\n", 100 * json_number_value(json_object_get(share, "share")), device ? device : "");
    }
  }
}

static void print_notes(const struct run *run) {
  fputs(
      "\non: where it runs, as listed above. heads: batch x query heads (/ key-value heads). sizes: queries x keys.\n"
      "D: numbers a head. median: of one run's time. spread: half the distance between the quartiles, as a share.\n"
      "GFLOP/s: 4 x D for each pair of query and key that is attended; 2 x in x out for each projected row.\n"
      "GB/s: inputs and results once. of peak: share of the multiply-adds that the same place did in bursts\n"
      "between these runs; m: of what it read in bursts, where that is the limit. x cpu: how many times as fast\n"
      "as the CPU path, measured in turns. Every result was checked before it was timed. Times on a device are\n"
      "without copies from or to the host, but with them in the rows split-*, which all run on the host's arrays.\n",
      stdout);
  for (int i = 0; i < run->place_count; i++) {
    const struct run_place *place = &run->places[i];
    if (!(place->peak_high > 1.5 * place->peak_low)) continue;
    printf("%s was busy with other things, so times are unsure:\n  half of its bursts were between %.0f and %.0f GFLOP/s\n",
           i ? place->name : "the host", place->peak_low, place->peak_high);
  }
}

void ctn_run_print(const struct run *run) {
  int waiting = 0;
  print_places(run);
  printf("\n%-15s %-4s %-6s %-4s %7s %11s %4s  %8s  %6s  %7s  %5s  %7s  %5s\n", "work", "on", "path", "type", "heads", "sizes",
         "D", "median", "spread", "GFLOP/s", "GB/s", "of peak", "x cpu");
  for (int i = 0; i < run->left_out; i++)
    print_row(&run->rows[i]);
  for (int i = 0; i < run->row_count; i++)
    waiting += strcmp(run->rows[i].state, "interrupted") == 0;
  print_ratios(run);
  print_shares(run);
  print_shrunk(run);
  print_missing(run, "left out", "left out");
  print_missing(run, "failed", "FAILED");
  if (waiting) printf("\ninterrupted: %d of %d rows were not measured\n", waiting, run->row_count);
  print_notes(run);
}
