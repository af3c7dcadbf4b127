/* Where rows run: the host, and each device asked for, with what it can do at most. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "bench.h"
#include "print.h"

bool ctn_bench_shares_host(const struct bench *bench, int place) {
  return place > 0 && bench->places[place].info->type == CLATTN_DEVICE_CPU;
}

static void name_place(struct bench *bench, struct bench_place *place) {
  int same = 1;
  for (const struct bench_place *other = bench->places; other < place; other++)
    same += other->info && strcmp(other->info->name, place->info->name) == 0;
  snprintf(place->name, sizeof place->name, "%.140s", place->info->name);
  const size_t length = strlen(place->name);
  if (same > 1) snprintf(place->name + length, sizeof place->name - length, " (%d)", same);
}

/* Its number in `clattn devices`: of the first that is called so. */
static int find_index(const clattn_device_info *info) {
  clattn_device_list *list = NULL;
  int index = -1;
  if (clattn_device_list_create(&list, NULL)) return -1;
  for (size_t i = 0; i < clattn_device_list_count(list) && index < 0; i++) {
    const clattn_device_info *other = clattn_device_list_get(list, i);
    if (strcmp(other->name, info->name) == 0 && strcmp(other->platform_name, info->platform_name) == 0) index = (int)i;
  }
  clattn_device_list_destroy(list);
  return index;
}

/* Adds the device of options, if it gives one. */
static clattn_status open_place(struct bench *bench, const clattn_context_options *options, clattn_error *error) {
  struct bench_place *place = &bench->places[bench->place_count];
  if (bench->place_count == BENCH_PLACES) return CLATTN_OK;
  clattn_status status = clattn_context_create(&place->context, options, error);
  if (status != CLATTN_OK) return status;
  place->info = clattn_context_device(place->context);
  if (!place->info) {
    clattn_context_destroy(place->context);
    place->context = NULL;
    return CLATTN_OK;
  }
  name_place(bench, place);
  place->index = options->device_index >= 0 ? options->device_index : find_index(place->info);
  bench->place_count++;
  return ctn_peak_create(&place->peak, place->context, 0, error);
}

static clattn_status open_host(struct bench *bench, const struct common_options *common, clattn_error *error) {
  struct bench_place *host = &bench->places[0];
  clattn_context_options options = common->context;
  options.device_type = CLATTN_DEVICE_HOST;
  options.device_index = -1;
  options.device_name = NULL;
  snprintf(host->name, sizeof host->name, "host");
  host->index = -1;
  bench->place_count = 1;
  const clattn_status status = clattn_context_create(&host->context, &options, error);
  return status == CLATTN_OK ? ctn_peak_create(&host->peak, NULL, common->context.threads, error) : status;
}

clattn_status ctn_bench_open_places(struct bench *bench, const struct common_options *common, bool one, clattn_error *error) {
  clattn_context_options options = common->context;
  clattn_device_list *list = NULL;
  bench->context = common->context;
  clattn_status status = open_host(bench, common, error);
  if (status == CLATTN_OK && one) return open_place(bench, &options, error);
  if (status == CLATTN_OK) status = clattn_device_list_create(&list, error);
  const size_t count = status == CLATTN_OK ? clattn_device_list_count(list) : 0;
  for (size_t i = 0; i < count && status == CLATTN_OK && !ctn_bench_stopped(); i++) {
    clattn_error wrong = CLATTN_ERROR_INIT;
    options.device_index = (int)i;
    /* One that does not work is told of, and does not cost the others. */
    if (open_place(bench, &options, &wrong)) ctn_fail_job(bench->command, "device %zu is left out: %s", i, wrong.text);
  }
  clattn_device_list_destroy(list);
  return status;
}
