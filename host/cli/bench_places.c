/* Where rows run: the host, and each device asked for, with what it can do at most. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "bench.h"
#include "status.h"

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
  bench->place_count = 1;
  const clattn_status status = clattn_context_create(&host->context, &options, error);
  return status == CLATTN_OK ? ctn_peak_create(&host->peak, NULL, common->context.threads, error) : status;
}

clattn_status ctn_bench_open_places(struct bench *bench, const struct common_options *common, bool one, clattn_error *error) {
  clattn_context_options options = common->context;
  clattn_device_list *list = NULL;
  clattn_status status = open_host(bench, common, error);
  if (status == CLATTN_OK && one) return open_place(bench, &options, error);
  if (status == CLATTN_OK) status = clattn_device_list_create(&list, error);
  const size_t count = status == CLATTN_OK ? clattn_device_list_count(list) : 0;
  for (size_t i = 0; i < count && status == CLATTN_OK && !ctn_bench_stopped(); i++) {
    options.device_index = (int)i;
    status = open_place(bench, &options, error);
  }
  clattn_device_list_destroy(list);
  return status;
}
