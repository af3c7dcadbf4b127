/* `clattn walkthrough`: computes a worked example of attention and tells it step by step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "messages.h"
#include "print.h"
#include "walkthrough.h"
#include "walkthrough_out.h"

static const struct walk_example *const examples[] = {&ctn_walk_sentences, &ctn_walk_words};

enum { EXAMPLES = sizeof examples / sizeof *examples };

static const struct walk_example *find_example(const char *name) {
  for (size_t i = 0; i < EXAMPLES; i++) {
    if (!name || strcmp(examples[i]->name, name) == 0) return examples[i];
  }
  return NULL;
}

/* Below the closing line: where to look. */
static void print_written(const char *out, const struct walk_out *written) {
  printf(ctn_message(MSG_PAGE_WRITTEN), out, written->pictures);
  putchar('\n');
}

/* Everything is computed before anything is printed: a failed job leaves no half a story on standard output. */
static int tell(const struct walk_example *example, const struct common_options *options, const char *out,
                const char *command) {
  int code = CTN_EXIT_OK;
  struct folder folder = {0};
  struct walk_out written = {0, 0};
  double difference;
  clattn_error error = CLATTN_ERROR_INIT;
  struct walk walk = {.options = &options->plan};
  clattn_status status = out ? ctn_walk_open_out(&folder, out, &error) : CLATTN_OK;
  if (status == CLATTN_OK) status = ctn_open_context(options, &walk.context, &error);
  if (status == CLATTN_OK) status = ctn_walk_open(&walk, example, &error);
  if (status == CLATTN_OK) status = example->compute(&walk, &error);
  if (status == CLATTN_OK && out) status = ctn_walk_write_out(&walk, example, &folder, &written, &error);
  if (status != CLATTN_OK) {
    code = ctn_fail_job(command, "%s", error.text);
    goto cleanup;
  }
  if (options->json) {
    code = ctn_walk_print_json(&walk, example, command);
  } else {
    ctn_walk_print_header(&walk, example);
    example->print(&walk);
    ctn_walk_print_closing(&walk);
    if (out) print_written(out, &written);
  }
  const struct walk_step *worst = ctn_walk_worst(&walk, &difference);
  if (code == CTN_EXIT_OK && !(difference <= WALK_TOLERANCE)) {
    code = ctn_fail_job(command, "%s: %.1e away from what it should be, more than %.0e; try another --path or --device",
                        worst->name, difference, WALK_TOLERANCE);
  }
  if (written.missing > 0) fprintf(stderr, "clattn %s: %s\n", command, ctn_message(MSG_PAGE_NO_FONT));
cleanup:
  ctn_folder_close(&folder);
  clattn_context_destroy(walk.context);
  ctn_walk_close(&walk);
  return code;
}

static int run_walkthrough(const struct command *self, int argc, const char **argv) {
  char *name = NULL, *language_name = NULL, *out = NULL;
  enum language language = ctn_language_of_locale();
  const struct poptOption own[] = {{"example", 0, POPT_ARG_STRING, &name, 0, NULL, NULL},
                                   {"out", 0, POPT_ARG_STRING, &out, 0, NULL, NULL},
                                   {"lang", 0, POPT_ARG_STRING, &language_name, 0, NULL, NULL},
                                   POPT_TABLEEND};
  struct args args;
  int code = ctn_args_parse(&args, self, argc, argv, own);
  if (code >= 0) goto cleanup;
  const struct walk_example *example = find_example(name);
  if (args.operand_count > 0) {
    code = ctn_fail_usage(self->name, "%s: takes no operand; the example is chosen with --example", args.operands[0]);
  } else if (!example) {
    code = ctn_fail_usage(self->name, "--example: %s is neither sentences nor words", name);
  } else if (language_name && !ctn_language_find(language_name, &language)) {
    code = ctn_fail_usage(self->name, "--lang: %s is neither en nor ko", language_name);
  } else {
    ctn_language_choose(language);
    code = ctn_finish(self->name, tell(example, &args.common, out, self->name));
  }
cleanup:
  ctn_args_clear(&args);
  free(name);
  free(language_name);
  free(out);
  return code;
}

const struct command ctn_cmd_walkthrough = {
    .name = "walkthrough",
    .run = run_walkthrough,
    .shared = ARGS_CONTEXT | ARGS_PLAN | ARGS_JSON,
    .synopsis = "walkthrough [--example sentences|words] [--out DIR] [options]",
    .summary = "attention step by step on a small worked example, each step checked",
    .options =
        "  --example NAME        sentences: four short sentences with padding, from words to masked attention (default)\n"
        "                        words: three words, with cells recomputed by hand\n"
        "  --out DIR             writes pictures (PNG, SVG) and a page to read, index.html, into this folder, which is made\n"
        "                        if it is missing\n"
        "  --lang en|ko          titles and explanations in English or Korean (default: the locale's, from LC_ALL,\n"
        "                        LC_MESSAGES or LANG)\n",
    .example =
        "  clattn walkthrough                      the first example, on the device that is chosen automatically\n"
        "  clattn walkthrough --example words      the second\n"
        "  clattn walkthrough --out attention      and writes attention/index.html, with pictures\n"
        "  clattn walkthrough --lang ko            in Korean\n"
        "  clattn walkthrough --path cpu           without OpenCL\n",
};
