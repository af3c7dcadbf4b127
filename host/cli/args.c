/* Parsing of a command's line and of the options that commands share: see args.h. */
#include "args.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "print.h"

struct word {
  const char *name;
  int value;
};

static const struct word types[] = {{"gpu", CLATTN_DEVICE_GPU},
                                    {"accelerator", CLATTN_DEVICE_ACCELERATOR},
                                    {"cpu", CLATTN_DEVICE_CPU},
                                    {"host", CLATTN_DEVICE_HOST},
                                    {NULL, 0}};
static const struct word paths[] = {{"auto", CLATTN_PATH_AUTO},           {"fused", CLATTN_PATH_FUSED},
                                    {"staged", CLATTN_PATH_STAGED},       {"cpu", CLATTN_PATH_CPU},
                                    {"reference", CLATTN_PATH_REFERENCE}, {NULL, 0}};
static const struct word products[] = {
    {"auto", CLATTN_PRODUCT_AUTO}, {"own", CLATTN_PRODUCT_OWN}, {"clblast", CLATTN_PRODUCT_CLBLAST}, {NULL, 0}};

static const struct word widths[] = {{"0", 0}, {"8", 8}, {"16", 16}, {NULL, 0}};

static const char context_help[] =
    "  --device SPEC         an index of `clattn devices`, or gpu, cpu, accelerator, host (no OpenCL),\n"
    "                        or a part of a device's or platform's name\n"
    "  --threads N           threads of the CPU path (default: one a processor)\n"
    "  --verbose             compiler logs, warnings and details on standard error\n";
static const char plan_help[] =
    "  --path PATH           auto, fused or staged (OpenCL), cpu (host threads), reference (float64, slow);\n"
    "  --product WHO         who multiplies matrices on the device: auto, own, clblast\n"
    "  --vector-width N      lanes of CPU devices' kernels: 8, 16, or 0 for what the device reports (default)\n"
    "  --no-host             never fall back to the host's processor\n";
static const char environment_help[] =
    "Environment: CLATTN_DEVICE (as --device), CLATTN_KERNEL_DIR (a folder that replaces the built-in kernels),\n"
    "             CLATTN_CACHE_DIR (where compiled programs are kept; empty: nowhere),\n"
    "             CLATTN_TUNING_FILE (what `clattn tune` found; empty: no tuning at all),\n"
    "             CLATTN_NO_SELFTEST (not empty: use kernels without testing them first).\n";

static bool look_up(const struct word *words, const char *name, int *value) {
  for (; words->name; words++) {
    if (strcasecmp(words->name, name) == 0) {
      *value = words->value;
      return true;
    }
  }
  return false;
}

/* Warnings and errors of the library, compilers' logs among them, as they are. */
static void log_to_stderr(void *user, clattn_log_level level, const char *text) {
  (void)user;
  static const char *const levels[] = {"info", "warning", "error"};
  size_t length = strlen(text);
  fprintf(stderr, "[%s] %s%s", level <= CLATTN_LOG_ERROR ? levels[level] : "?", text,
          length && text[length - 1] == '\n' ? "" : "\n");
}

/* SPEC is an index where it is all digits, a type where it is one's name, a part of a name otherwise. */
static int choose_device(clattn_context_options *options, const char *command, const char *spec, const char *origin) {
  int type;
  if (!*spec) return ctn_fail_usage(command, "%s: empty; give an index, a type or a part of a name", origin);
  if (look_up(types, spec, &type)) {
    options->device_type = (clattn_device_type)type;
  } else if (strspn(spec, "0123456789") == strlen(spec)) {
    errno = 0;
    long index = strtol(spec, NULL, 10);
    if (errno || index > INT_MAX) return ctn_fail_usage(command, "%s: %s is no index of a device", origin, spec);
    options->device_index = (int)index;
  } else {
    options->device_name = spec;
  }
  return -1;
}

static int resolve(struct args *args, const struct command *command) {
  struct common_options *common = &args->common;
  int value;
  if (args->path) {
    if (!look_up(paths, args->path, &value)) {
      return ctn_fail_usage(command->name, "--path: %s is none of auto, fused, staged, cpu, reference", args->path);
    }
    common->plan.path = (clattn_path)value;
  }
  if (args->product) {
    if (!look_up(products, args->product, &value)) {
      return ctn_fail_usage(command->name, "--product: %s is none of auto, own, clblast", args->product);
    }
    common->plan.product = (clattn_product)value;
  }
  if (args->vector_width) {
    if (!look_up(widths, args->vector_width, &value)) {
      return ctn_fail_usage(command->name, "--vector-width: %s is none of 0, 8, 16", args->vector_width);
    }
    common->plan.vector_width = value;
  }
  if (args->threads) {
    char *end = NULL;
    errno = 0;
    long threads = strtol(args->threads, &end, 10);
    if (end == args->threads || *end || errno || threads < 0 || threads > INT_MAX) {
      return ctn_fail_usage(command->name, "--threads: %s is no number of threads (0: one a processor)", args->threads);
    }
    common->context.threads = (int)threads;
  }
  if (common->verbose) common->context.log = log_to_stderr;

  const char *folder = getenv("CLATTN_KERNEL_DIR");
  if (folder && *folder) common->context.kernel_dir = folder;
  folder = getenv("CLATTN_CACHE_DIR");
  if (folder && *folder) common->context.cache_dir = folder;
  if (folder && !*folder) common->context.no_cache = 1;
  const char *tuning = getenv("CLATTN_TUNING_FILE");
  if (tuning && *tuning) common->context.tuning_file = tuning;
  if (tuning && !*tuning) common->context.no_tuning = 1;
  const char *untested = getenv("CLATTN_NO_SELFTEST");
  common->context.no_selftest = untested && *untested;

  bool host_path = common->plan.path == CLATTN_PATH_CPU || common->plan.path == CLATTN_PATH_REFERENCE;
  const char *device = getenv("CLATTN_DEVICE");
  if (args->device) return choose_device(&common->context, command->name, args->device, "--device");
  if (host_path) {
    common->context.device_type = CLATTN_DEVICE_HOST;
  } else if (device && *device) {
    return choose_device(&common->context, command->name, device, "CLATTN_DEVICE");
  }
  return -1;
}

int ctn_args_parse(struct args *args, const struct command *command, int argc, const char **argv,
                   const struct poptOption *own) {
  memset(args, 0, sizeof *args);
  const clattn_context_options context = CLATTN_CONTEXT_OPTIONS_INIT;
  const clattn_plan_options plan = CLATTN_PLAN_OPTIONS_INIT;
  args->common.context = context;
  args->common.plan = plan;

  int help = 0, verbose = 0, json = 0, no_host = 0;
  const struct poptOption context_options[] = {{"device", 0, POPT_ARG_STRING, &args->device, 0, NULL, NULL},
                                               {"threads", 0, POPT_ARG_STRING, &args->threads, 0, NULL, NULL},
                                               {"verbose", 0, POPT_ARG_NONE, &verbose, 0, NULL, NULL},
                                               POPT_TABLEEND};
  const struct poptOption plan_options[] = {{"path", 0, POPT_ARG_STRING, &args->path, 0, NULL, NULL},
                                            {"product", 0, POPT_ARG_STRING, &args->product, 0, NULL, NULL},
                                            {"vector-width", 0, POPT_ARG_STRING, &args->vector_width, 0, NULL, NULL},
                                            {"no-host", 0, POPT_ARG_NONE, &no_host, 0, NULL, NULL},
                                            POPT_TABLEEND};
  const struct poptOption json_options[] = {{"json", 0, POPT_ARG_NONE, &json, 0, NULL, NULL}, POPT_TABLEEND};
  const struct poptOption none[] = {POPT_TABLEEND};
  /* popt's tables are not const, though it does not write to them. */
#define TABLE(bit, table) \
  { NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)(uintptr_t)(command->shared & (bit) ? (table) : none), 0, NULL, NULL }
  const struct poptOption all[] = {{"help", 'h', POPT_ARG_NONE, &help, 0, NULL, NULL},
                                   {NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)(uintptr_t)own, 0, NULL, NULL},
                                   TABLE(ARGS_CONTEXT, context_options),
                                   TABLE(ARGS_PLAN, plan_options),
                                   TABLE(ARGS_JSON, json_options),
                                   POPT_TABLEEND};
#undef TABLE
  args->popt = poptGetContext(command->name, argc, argv, all, 0);
  if (!args->popt) return ctn_fail_job(command->name, "out of memory");
  int result;
  do {
    result = poptGetNextOpt(args->popt);
  } while (result > 0);
  if (result < -1) {
    return ctn_fail_usage(command->name, "%s: %s", poptBadOption(args->popt, POPT_BADOPTION_NOALIAS), poptStrerror(result));
  }
  if (help) {
    ctn_print_help(command);
    return ctn_finish(command->name, CTN_EXIT_OK);
  }
  static const char *no_operands[] = {NULL};
  const char **operands = poptGetArgs(args->popt);
  args->operands = operands ? operands : no_operands;
  while (args->operands[args->operand_count])
    args->operand_count++;
  args->common.json = json != 0;
  args->common.verbose = verbose != 0;
  args->common.plan.no_host = no_host != 0;
  return resolve(args, command);
}

void ctn_args_clear(struct args *args) {
  if (args->popt) poptFreeContext(args->popt);
  free(args->device);
  free(args->path);
  free(args->product);
  free(args->vector_width);
  free(args->threads);
  memset(args, 0, sizeof *args);
}

clattn_status ctn_open_context(const struct common_options *options, clattn_context **context, clattn_error *error) {
  return clattn_context_create(context, &options->context, error);
}

void ctn_print_help(const struct command *command) {
  printf("usage: clattn %s\n\n%s\n", command->synopsis, command->summary);
  printf("\nOptions:\n%s", command->options);
  if (command->shared & ARGS_PLAN) fputs(plan_help, stdout);
  if (command->shared & ARGS_CONTEXT) fputs(context_help, stdout);
  if (command->shared & ARGS_JSON) fputs("  --json                the results as JSON on standard output\n", stdout);
  fputs("  --help                this text\n", stdout);
  printf("\nExample:\n%s", command->example);
  if (command->shared & ARGS_CONTEXT) printf("\n%s", environment_help);
}
