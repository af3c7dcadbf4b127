/* clattn run: computes the attention of one case file and writes the results as another. */
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "compare.h"
#include "print.h"
#include "results.h"
#include "status.h"

static int run(const struct command *self, int argc, const char **argv);

const struct command ctn_cmd_run = {
    .name = "run",
    .run = run,
    .shared = ARGS_CONTEXT | ARGS_PLAN | ARGS_JSON,
    .synopsis = "run IN.safetensors -o OUT.safetensors [options]",
    .summary = "compute the attention of a file's q, k, v and write the results",
    .options =
        "  -o, --output OUT      where the results go (written to a temporary file and renamed)\n"
        "  --outputs LIST        of out, lse, weights, scores_raw, scores_softcapped, scores_masked,\n"
        "                        present_k, present_v, with commas between (default: out)\n"
        "  --explain             which path runs, with its parameters, and why the others do not\n",
    .example =
        "  clattn run in.safetensors -o out.safetensors --outputs out,lse\n"
        "  with in.safetensors made in Python by\n"
        "  safetensors.torch.save_file({\"q\": q, \"k\": k, \"v\": v}, \"in.safetensors\", {\"causal\": \"1\"})\n",
};

/* The set of results that "out,lse" names; -1 to go on, else an exit code. */
static int parse_outputs(const char *command, const char *list, unsigned *wanted) {
  char names[256];
  if (strlen(list) >= sizeof names) return ctn_fail_usage(command, "--outputs: the list is too long");
  memcpy(names, list, strlen(list) + 1);
  for (char *name = names; name;) {
    char *comma = strchr(name, ',');
    if (comma) *comma = '\0';
    enum result result = ctn_result_find(name);
    if (result == RESULT_COUNT) {
      return ctn_fail_usage(command,
                            "--outputs: '%s' is none of out, lse, weights, scores_raw, scores_softcapped, scores_masked, "
                            "present_k, present_v",
                            name);
    }
    if (!(RESULTS_KNOWN & RESULT_BIT(result))) {
      return ctn_fail_job(command, "--outputs: %s: gradients are not in this version", name);
    }
    *wanted |= RESULT_BIT(result);
    name = comma ? comma + 1 : NULL;
  }
  return -1;
}

static int print_json(const char *command, const struct results *results, const char *output, bool explain) {
  json_t *tensors = json_array();
  for (size_t i = 0; i < results->file.count; i++) {
    const struct st_tensor *tensor = &results->file.tensors[i];
    json_t *shape = json_array();
    for (int d = 0; d < tensor->rank; d++)
      json_array_append_new(shape, json_integer(tensor->shape[d]));
    json_array_append_new(
        tensors, json_pack("{s:s, s:s, s:o}", "name", tensor->name, "dtype", ctn_st_name(tensor->dtype), "shape", shape));
  }
  json_t *value = json_pack("{s:s, s:o}", "output", output, "tensors", tensors);
  if (results->plan) json_object_set_new(value, "path", json_string(clattn_plan_family(results->plan)));
  if (results->plan && explain) json_object_set_new(value, "explanation", json_string(clattn_plan_describe(results->plan)));
  return ctn_print_json(command, value);
}

static void print_summary(const struct results *results, const char *output, bool explain) {
  if (explain && results->plan) {
    const char *text = clattn_plan_describe(results->plan);
    size_t length = strlen(text);
    printf("%s%s", text, length && text[length - 1] == '\n' ? "" : "\n");
  }
  char shape[200];
  for (size_t i = 0; i < results->file.count; i++) {
    const struct st_tensor *tensor = &results->file.tensors[i];
    printf("%s %s %s\n", tensor->name, ctn_st_name(tensor->dtype), ctn_shape_text(tensor, shape));
  }
  printf("written to %s%s%s\n", output, results->plan ? ", computed by " : "",
         results->plan ? clattn_plan_family(results->plan) : "");
}

/* The library names arguments, not files: its messages get the file in front. */
static clattn_status compute(struct results *results, struct case_file *c, const struct args *args, clattn_context *context,
                             unsigned wanted, clattn_error *error) {
  clattn_error inner = CLATTN_ERROR_INIT;
  if (c->rotary) {
    return ctn_fail(error, CLATTN_UNSUPPORTED, "%s: op: rotary_embedding is not in this version; give an attention problem",
                    c->path);
  }
  clattn_status status = ctn_results_compute(results, c, context, &args->common.plan, wanted, &inner);
  return status ? ctn_fail(error, status, "%s: %s", c->path, inner.text) : CLATTN_OK;
}

static int run_case(const char *command, const struct args *args, const char *output, unsigned wanted, bool explain) {
  clattn_error error = CLATTN_ERROR_INIT;
  clattn_context *context = NULL;
  struct case_file c = {0};
  struct results results = {0};
  int code = CTN_EXIT_OK;
  clattn_status status = ctn_case_read(&c, args->operands[0], &error);
  if (status == CLATTN_OK) status = ctn_st_check_writable(output, &error);
  if (status == CLATTN_OK) status = ctn_open_context(&args->common, &context, &error);
  if (status == CLATTN_OK) status = compute(&results, &c, args, context, wanted, &error);
  if (status == CLATTN_OK) status = ctn_st_add_metadata(&results.file, "op", "attention", &error);
  if (status == CLATTN_OK) status = ctn_st_write(&results.file, output, &error);
  if (status) {
    code = ctn_fail_job(command, "%s", error.text);
  } else if (args->common.json) {
    code = print_json(command, &results, output, explain);
  } else {
    print_summary(&results, output, explain);
  }
  ctn_results_clear(&results);
  ctn_case_clear(&c);
  clattn_context_destroy(context);
  return code;
}

static int run(const struct command *self, int argc, const char **argv) {
  char *output = NULL, *outputs = NULL;
  int explain = 0;
  const struct poptOption own[] = {{"output", 'o', POPT_ARG_STRING, &output, 0, NULL, NULL},
                                   {"outputs", 0, POPT_ARG_STRING, &outputs, 0, NULL, NULL},
                                   {"explain", 0, POPT_ARG_NONE, &explain, 0, NULL, NULL},
                                   POPT_TABLEEND};
  struct args args;
  unsigned wanted = 0;
  int code = ctn_args_parse(&args, self, argc, argv, own);
  if (code < 0 && args.operand_count != 1) {
    code = ctn_fail_usage(self->name, "takes one input file, not %d", args.operand_count);
  }
  if (code < 0 && (!output || !*output)) code = ctn_fail_usage(self->name, "-o: no output file given");
  if (code < 0) code = parse_outputs(self->name, outputs ? outputs : "out", &wanted);
  if (code < 0) code = ctn_finish(self->name, run_case(self->name, &args, output, wanted, explain != 0));
  ctn_args_clear(&args);
  free(output);
  free(outputs);
  return code;
}
