/* clattn devices: what there is to run on, and which kernel families each of it gets. */
#include <inttypes.h>
#include <string.h>

#include "args.h"
#include "print.h"

static int run(const struct command *self, int argc, const char **argv);

const struct command ctn_cmd_devices = {
    .name = "devices",
    .run = run,
    .shared = ARGS_CONTEXT | ARGS_JSON,
    .synopsis = "devices [options]",
    .summary = "list OpenCL devices, their capabilities, and what each can run or why not",
    .options = "",
    .example =
        "  clattn devices\n"
        "  clattn run in.safetensors -o out.safetensors --device 0\n",
};

static const char *const type_names[] = {[CLATTN_DEVICE_ANY] = "other",
                                         [CLATTN_DEVICE_GPU] = "GPU",
                                         [CLATTN_DEVICE_ACCELERATOR] = "accelerator",
                                         [CLATTN_DEVICE_CPU] = "CPU device",
                                         [CLATTN_DEVICE_HOST] = "host"};

static const struct {
  const char *name;
  clattn_path path;
} paths[] = {{"fused", CLATTN_PATH_FUSED},
             {"staged", CLATTN_PATH_STAGED},
             {"cpu", CLATTN_PATH_CPU},
             {"reference", CLATTN_PATH_REFERENCE}};

enum { PATHS = sizeof paths / sizeof *paths, OPERATIONS = 4 };

static const char *const operations[OPERATIONS] = {"attention", "embedding", "position", "projection"};

/* A small problem of each operation, planned. */
static clattn_status make_plan(clattn_plan **plan, clattn_context *context, int operation, const clattn_plan_options *options,
                               clattn_error *error) {
  switch (operation) {
    case 0: {
      clattn_problem problem = CLATTN_PROBLEM_INIT;
      problem.q_heads = problem.kv_heads = 2;
      problem.q_len = problem.kv_len = 16;
      problem.head_dim = problem.head_dim_v = 64;
      return clattn_plan_create(plan, context, &problem, options, error);
    }
    case 1: {
      clattn_embedding problem = CLATTN_EMBEDDING_INIT;
      problem.vocabulary = problem.dim = problem.count = 16;
      return clattn_embedding_plan_create(plan, context, &problem, options, error);
    }
    case 2: {
      clattn_position problem = CLATTN_POSITION_INIT;
      problem.length = problem.dim = 16;
      return clattn_position_plan_create(plan, context, &problem, options, error);
    }
    default: {
      clattn_projection problem = CLATTN_PROJECTION_INIT;
      problem.length = problem.in_features = problem.head_dim = 16;
      return clattn_projection_plan_create(plan, context, &problem, options, error);
    }
  }
}

/* What one device gets: by itself for each operation, and when a path is asked for. */
struct offer {
  char family[OPERATIONS][32]; /* empty where nothing takes the operation */
  bool taken[OPERATIONS][PATHS];
  char reason[OPERATIONS][PATHS][1024]; /* why not; empty where printed or taken */
};

static void collect(struct offer *offer, clattn_context *context) {
  memset(offer, 0, sizeof *offer);
  for (int i = 0; i < OPERATIONS; i++) {
    clattn_plan *plan = NULL;
    if (make_plan(&plan, context, i, NULL, NULL) == CLATTN_OK) {
      snprintf(offer->family[i], sizeof offer->family[i], "%s", clattn_plan_family(plan));
    }
    clattn_plan_destroy(plan);
    for (int p = 0; p < PATHS; p++) {
      clattn_plan_options options = CLATTN_PLAN_OPTIONS_INIT;
      options.path = paths[p].path;
      clattn_error error = CLATTN_ERROR_INIT;
      offer->taken[i][p] = make_plan(&plan, context, i, &options, &error) == CLATTN_OK;
      snprintf(offer->reason[i][p], sizeof offer->reason[i][p], "%s", ctn_one_line(error.text));
      clattn_plan_destroy(plan);
    }
  }
}

static json_t *offer_json(const struct offer *offer) {
  json_t *rows = json_array();
  for (int i = 0; i < OPERATIONS; i++) {
    json_t *asked = json_object();
    for (int p = 0; p < PATHS; p++) {
      json_t *row = json_pack("{s:b}", "available", offer->taken[i][p]);
      if (!offer->taken[i][p]) json_object_set_new(row, "reason", json_string(offer->reason[i][p]));
      json_object_set_new(asked, paths[p].name, row);
    }
    json_t *family = offer->family[i][0] ? json_string(offer->family[i]) : json_null();
    json_array_append_new(rows, json_pack("{s:s, s:o, s:o}", "operation", operations[i], "family", family, "paths", asked));
  }
  return rows;
}

/* One line for each different reason of a path, with the operations that it holds for. */
static void print_reasons(struct offer *offer, int path) {
  for (int i = 0; i < OPERATIONS; i++) {
    char text[1024];
    memcpy(text, offer->reason[i][path], sizeof text);
    if (offer->taken[i][path] || !text[0]) continue;
    printf("  no %s for", paths[path].name);
    for (int other = i; other < OPERATIONS; other++) {
      if (strcmp(offer->reason[other][path], text) != 0) continue;
      printf("%s %s", other == i ? "" : ",", operations[other]);
      offer->reason[other][path][0] = '\0';
    }
    printf("\n    %s\n", text);
  }
}

static void print_offer(struct offer *offer) {
  printf("  %-14s %-12s %s\n", "operation", "done by", "also with --path");
  for (int i = 0; i < OPERATIONS; i++) {
    printf("  %-14s %-12s", operations[i], offer->family[i][0] ? offer->family[i] : "nothing");
    const char *separator = " ";
    for (int p = 0; p < PATHS; p++) {
      if (!offer->taken[i][p]) continue;
      printf("%s%s", separator, paths[p].name);
      separator = ", ";
    }
    printf("\n");
  }
  for (int p = 0; p < PATHS; p++)
    print_reasons(offer, p);
}

/* The families of one device, or of the host where index is -1: printed, or into object. */
static void tell_families(const struct args *args, int index, json_t *object) {
  clattn_context_options options = args->common.context;
  options.device_name = NULL;
  options.device_index = index;
  options.device_type = index < 0 ? CLATTN_DEVICE_HOST : CLATTN_DEVICE_ANY;
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context *context = NULL;
  if (clattn_context_create(&context, &options, &error)) {
    if (object)
      json_object_set_new(object, "error", json_string(error.text));
    else
      printf("  cannot be used: %s\n", ctn_one_line(error.text));
    return;
  }
  struct offer offer;
  collect(&offer, context);
  if (object)
    json_object_set_new(object, "operations", offer_json(&offer));
  else
    print_offer(&offer);
  clattn_context_destroy(context);
}

static const char *size_text(uint64_t bytes, char text[32]) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes;
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    unit++;
  }
  snprintf(text, 32, "%.*f %s", value < 10 && unit ? 1 : 0, value, units[unit]);
  return text;
}

static const char *type_name(clattn_device_type type) {
  return type > CLATTN_DEVICE_ANY && type <= CLATTN_DEVICE_HOST ? type_names[type] : type_names[CLATTN_DEVICE_ANY];
}

static void print_device(int index, const clattn_device_info *info) {
  char memory[32], allocation[32], local[32];
  printf("device %d: %s (%s)\n", index, info->name, type_name(info->type));
  printf("  platform       %s, %s\n", info->platform_name, info->platform_version);
  printf("  vendor         %s, %s, driver %s\n", info->vendor, info->device_version, info->driver_version);
  printf("  compute        %u units, %u MHz, native float vectors of %u, work-groups up to %u\n", info->compute_units,
         info->max_clock_mhz, info->native_float_width, info->max_work_group);
  printf("  memory         %s%s, largest buffer %s, local %s%s\n", size_text(info->global_memory, memory),
         info->unified_memory ? " shared with the host" : "", size_text(info->max_allocation, allocation),
         size_text(info->local_memory, local), info->local_is_global ? " (carved from global)" : "");
  printf("  optional       fp16 %s, fp64 %s, sub-groups %s\n", info->has_fp16 ? "yes" : "no", info->has_fp64 ? "yes" : "no",
         info->has_sub_groups ? "yes" : "no");
}

static json_t *device_json(int index, const clattn_device_info *info) {
  json_t *value = json_pack("{s:i, s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:b}", "index", index, "type",
                            type_name(info->type), "compute_units", (int)info->compute_units, "max_clock_mhz",
                            (int)info->max_clock_mhz, "native_float_width", (int)info->native_float_width, "max_work_group",
                            (int)info->max_work_group, "global_memory", (json_int_t)info->global_memory, "max_allocation",
                            (json_int_t)info->max_allocation, "local_memory", (json_int_t)info->local_memory, "local_is_global",
                            info->local_is_global != 0, "has_fp16", info->has_fp16 != 0, "has_fp64", info->has_fp64 != 0,
                            "has_sub_groups", info->has_sub_groups != 0, "unified_memory", info->unified_memory != 0);
  const struct {
    const char *key, *text;
  } texts[] = {{"name", info->name},
               {"vendor", info->vendor},
               {"platform_name", info->platform_name},
               {"platform_version", info->platform_version},
               {"device_version", info->device_version},
               {"driver_version", info->driver_version}};
  /* A driver's text that is no UTF-8 is left out. */
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    json_object_set_new(value, texts[i].key, json_string(texts[i].text));
  return value;
}

/* The device that --device or CLATTN_DEVICE names, as its index; -1 for the host, -2 for all. */
static int chosen_index(const struct args *args, const clattn_device_list *list, clattn_error *error) {
  const clattn_context_options *options = &args->common.context;
  if (options->device_type == CLATTN_DEVICE_HOST) return -1;
  if (options->device_index < 0 && !options->device_name && options->device_type == CLATTN_DEVICE_ANY) return -2;
  clattn_context *context = NULL;
  if (ctn_open_context(&args->common, &context, error)) return -3;
  const clattn_device_info *chosen = clattn_context_device(context);
  int index = options->device_index >= 0 ? options->device_index : -1;
  for (size_t i = 0; chosen && index < 0 && i < clattn_device_list_count(list); i++) {
    const clattn_device_info *info = clattn_device_list_get(list, i);
    if (strcmp(info->name, chosen->name) == 0 && strcmp(info->platform_name, chosen->platform_name) == 0) index = (int)i;
  }
  clattn_context_destroy(context);
  return index;
}

static int devices(const char *command, const struct args *args) {
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_device_list *list = NULL;
  if (clattn_device_list_create(&list, &error)) return ctn_fail_job(command, "%s", error.text);
  int code = CTN_EXIT_OK;
  int only = chosen_index(args, list, &error);
  if (only == -3) {
    code = ctn_fail_job(command, "%s", error.text);
    goto cleanup;
  }
  json_t *array = args->common.json ? json_array() : NULL;
  size_t count = clattn_device_list_count(list);
  for (size_t i = 0; i < count; i++) {
    if (only != -2 && only != (int)i) continue;
    const clattn_device_info *info = clattn_device_list_get(list, i);
    json_t *object = array ? device_json((int)i, info) : NULL;
    if (!array) print_device((int)i, info);
    tell_families(args, (int)i, object);
    if (!array) printf("\n");
    if (array) json_array_append_new(array, object);
  }
  json_t *host = array ? json_object() : NULL;
  if (!array && count == 0) printf("no OpenCL device found (a driver, PoCL for example, is its own package)\n\n");
  if (!array && only < 0) printf("host: this machine's processor, without OpenCL (--device host)\n");
  if (only < 0) tell_families(args, -1, host);
  if (array) code = ctn_print_json(command, json_pack("{s:o, s:o}", "devices", array, "host", host));

cleanup:
  clattn_device_list_destroy(list);
  return code;
}

static int run(const struct command *self, int argc, const char **argv) {
  const struct poptOption own[] = {POPT_TABLEEND};
  struct args args;
  int code = ctn_args_parse(&args, self, argc, argv, own);
  if (code < 0 && args.operand_count != 0) code = ctn_fail_usage(self->name, "%s: takes no file or name", args.operands[0]);
  if (code < 0) code = ctn_finish(self->name, devices(self->name, &args));
  ctn_args_clear(&args);
  return code;
}
