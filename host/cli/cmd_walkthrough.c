/* `clattn walkthrough`: computes a worked example of attention and tells it step by step. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "messages.h"
#include "print.h"
#include "walkthrough.h"
#include "walkthrough_out.h"
#include "walkthrough_own.h"

static const struct walk_example *const examples[] = {&ctn_walk_sentences, &ctn_walk_words};

enum { EXAMPLES = sizeof examples / sizeof *examples };

/* Of a picture: enough for 25 by 25 and for the example; and what --cells takes. */
enum { CELLS = 640, LEAST_CELLS = 16, MOST_CELLS = 65536 };

static const struct walk_example *find_example(const char *name) {
  for (size_t i = 0; i < EXAMPLES; i++) {
    if (!name || strcmp(examples[i]->name, name) == 0) return examples[i];
  }
  return NULL;
}

/* Below the closing line: where to look, and what is not there. */
static void print_written(const char *out, const struct walk_out *written, int cells) {
  printf(ctn_message(MSG_PAGE_WRITTEN), out, written->pictures);
  putchar('\n');
  if (written->cut) ctn_walk_print_message(0, MSG_PAGE_CUT, cells);
}

/* Input and model: heads have to divide the columns. A mistake of the options is told as one. */
static int open_walk(struct walk *walk, const struct walk_example *example, const struct walk_request *request,
                     const char *command) {
  clattn_error error = CLATTN_ERROR_INIT;
  walk->heads = request->heads > 0 ? (int)request->heads : 1;
  walk->causal = request->causal;
  walk->cells = request->cells > 0 ? (int)request->cells : CELLS;
  const clattn_status status =
      request->tokens ? ctn_walk_own_open(walk, request, &error) : ctn_walk_open(walk, example, &error);
  if (status != CLATTN_OK) return ctn_fail_job(command, "%s", error.text);
  const struct st_tensor *weight = ctn_st_find(&walk->file, "weight_q");
  const int64_t d_model = weight ? weight->shape[0] : 1;
  if (d_model % walk->heads == 0) return CTN_EXIT_OK;
  return ctn_fail_usage(command, "--heads: %d heads do not share %lld columns (d_model) evenly; give a divisor of it",
                        walk->heads, (long long)d_model);
}

/* Everything is computed before anything is printed: a failed job leaves no half a story on standard output. */
static int tell(const struct walk_example *example, const struct walk_request *request, const struct common_options *options,
                const char *out, const char *command) {
  struct folder folder = {0};
  struct walk_out written = {0, 0, false};
  double difference;
  clattn_error error = CLATTN_ERROR_INIT;
  struct walk walk = {.options = &options->plan};
  int code = open_walk(&walk, example, request, command);
  if (code != CTN_EXIT_OK) goto cleanup;
  clattn_status status = out ? ctn_walk_open_out(&folder, out, &error) : CLATTN_OK;
  if (status == CLATTN_OK) status = ctn_open_context(options, &walk.context, &error);
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
    if (out) print_written(out, &written, walk.cells);
  }
  const struct walk_step *worst = ctn_walk_worst(&walk, &difference);
  if (code == CTN_EXIT_OK && !ctn_walk_agrees(worst)) {
    code = ctn_fail_job(command, "%s: %.1e away from what it should be, more than %.0e; try another --path or --device",
                        worst->name, difference, worst->allowed);
  }
  if (written.missing > 0) fprintf(stderr, "clattn %s: %s\n", command, ctn_message(MSG_PAGE_NO_FONT));
cleanup:
  ctn_folder_close(&folder);
  clattn_context_destroy(walk.context);
  ctn_walk_close(&walk);
  return code;
}

/* The options as they are given; NULL where they are not. */
struct given {
  char *example, *out, *language, *tokens, *weights, *d_model, *heads, *seed, *cells;
  int causal;
};

static void free_given(struct given *given) {
  char *const texts[] = {given->example, given->out,   given->language, given->tokens, given->weights,
                         given->d_model, given->heads, given->seed,     given->cells};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    free(texts[i]);
}

/* A whole number from least to most; leaves *value alone where text is NULL. */
static int parse_number(const char *command, const char *option, const char *text, int64_t least, int64_t most,
                        int64_t *value) {
  if (!text) return -1;
  char *end = NULL;
  errno = 0;
  const long long number = strtoll(text, &end, 10);
  const bool digits = *text && strspn(text, "0123456789") == strlen(text);
  if (!digits || *end || errno || number < least || number > most) {
    return ctn_fail_usage(command, "%s: %s is no whole number from %lld to %lld", option, text, (long long)least,
                          (long long)most);
  }
  *value = number;
  return -1;
}

/* Fills request, or tells what is wrong; -1 to go on. */
static int resolve(const struct given *given, struct walk_request *request, const char *command) {
  int64_t seed = 0;
  int code = parse_number(command, "--d-model", given->d_model, 1, WALK_OWN_MAX_MODEL, &request->d_model);
  if (code < 0) code = parse_number(command, "--heads", given->heads, 1, WALK_OWN_MAX_MODEL, &request->heads);
  if (code < 0) code = parse_number(command, "--cells", given->cells, LEAST_CELLS, MOST_CELLS, &request->cells);
  if (code < 0) code = parse_number(command, "--seed", given->seed, 0, INT64_MAX, &seed);
  if (code >= 0) return code;
  request->tokens = given->tokens;
  request->weights = given->weights;
  request->seed = (uint64_t)seed;
  request->causal = given->causal != 0;
  const char *alone = given->weights ? "--weights" : given->d_model ? "--d-model" : given->seed ? "--seed" : NULL;
  if (alone && !given->tokens) return ctn_fail_usage(command, "%s: is for sentences of your own; give --tokens FILE", alone);
  if (given->cells && !given->out) return ctn_fail_usage(command, "--cells: is for pictures; give --out DIR");
  if (given->weights && given->seed) {
    return ctn_fail_usage(command, "--seed: is for random weights; --weights %s has its own", given->weights);
  }
  if (given->tokens && given->example) {
    return ctn_fail_usage(command, "--example: %s and --tokens %s are two inputs; give one", given->example, given->tokens);
  }
  const bool model = request->causal || request->heads > 0;
  if (model && given->example && strcmp(given->example, ctn_walk_words.name) == 0) {
    return ctn_fail_usage(command, "%s: the words example has one head and no mask; try --example sentences",
                          request->causal ? "--causal" : "--heads");
  }
  return -1;
}

static int run_walkthrough(const struct command *self, int argc, const char **argv) {
  struct given given = {0};
  struct walk_request request = {0};
  enum language language = ctn_language_of_locale();
  const struct poptOption own[] = {{"example", 0, POPT_ARG_STRING, &given.example, 0, NULL, NULL},
                                   {"tokens", 0, POPT_ARG_STRING, &given.tokens, 0, NULL, NULL},
                                   {"weights", 0, POPT_ARG_STRING, &given.weights, 0, NULL, NULL},
                                   {"seed", 0, POPT_ARG_STRING, &given.seed, 0, NULL, NULL},
                                   {"d-model", 0, POPT_ARG_STRING, &given.d_model, 0, NULL, NULL},
                                   {"heads", 0, POPT_ARG_STRING, &given.heads, 0, NULL, NULL},
                                   {"causal", 0, POPT_ARG_NONE, &given.causal, 0, NULL, NULL},
                                   {"out", 0, POPT_ARG_STRING, &given.out, 0, NULL, NULL},
                                   {"cells", 0, POPT_ARG_STRING, &given.cells, 0, NULL, NULL},
                                   {"lang", 0, POPT_ARG_STRING, &given.language, 0, NULL, NULL},
                                   POPT_TABLEEND};
  struct args args;
  int code = ctn_args_parse(&args, self, argc, argv, own);
  if (code >= 0) goto cleanup;
  const struct walk_example *example = find_example(given.example);
  if (args.operand_count > 0) {
    code = ctn_fail_usage(self->name, "%s: takes no operand; the example is chosen with --example", args.operands[0]);
  } else if (!example) {
    code = ctn_fail_usage(self->name, "--example: %s is neither sentences nor words", given.example);
  } else if (given.language && !ctn_language_find(given.language, &language)) {
    code = ctn_fail_usage(self->name, "--lang: %s is neither en nor ko", given.language);
  } else {
    code = resolve(&given, &request, self->name);
  }
  if (code >= 0 || !example) goto cleanup;
  if (request.tokens) example = &ctn_walk_own_sentences;
  ctn_language_choose(language);
  code = ctn_finish(self->name, tell(example, &request, &args.common, given.out, self->name));
cleanup:
  ctn_args_clear(&args);
  free_given(&given);
  return code;
}

const struct command ctn_cmd_walkthrough = {
    .name = "walkthrough",
    .run = run_walkthrough,
    .shared = ARGS_CONTEXT | ARGS_PLAN | ARGS_JSON,
    .synopsis = "walkthrough [--example sentences|words | --tokens FILE] [--out DIR] [options]",
    .summary = "attention step by step on a worked example or your own sentences, each step checked",
    .options =
        "  --example NAME        sentences: four short sentences with padding, from words to masked attention (default)\n"
        "                        words: three words, with cells recomputed by hand\n"
        "  --tokens FILE         your own sentences: a UTF-8 file whose first line is the vocabulary, words separated by\n"
        "                        blanks, and whose other lines hold a sentence each; shorter ones are filled up with\n"
        "                        [PAD], which is token 0 unless the vocabulary has it\n"
        "  --d-model N           with --tokens: numbers a word (default 6)\n"
        "  --seed N              with --tokens: random embedding table and weights, the same on every machine (default 0)\n"
        "  --weights FILE        with --tokens: them from a .safetensors file: embedding_table [words, d_model], weight_q,\n"
        "                        weight_k, weight_v [d_model, d_model], and if there are weight_o, bias_q, bias_k, bias_v,\n"
        "                        bias_o; also as embedding.weight, q_proj.weight, in_proj_weight, out_proj.weight, ...\n"
        "  --heads N             attention in N heads, which share d_model evenly (default 1)\n"
        "  --causal              words do not attend to later ones, where masks are applied\n"
        "  --out DIR             writes pictures (PNG, SVG) and a page to read, index.html, into this folder, which is made\n"
        "                        if it is missing\n"
        "  --cells N             with --out: numbers that a picture shows at most, which says what it leaves out (default\n"
        "                        640)\n"
        "  --lang en|ko          titles and explanations in English or Korean (default: the locale's, from LC_ALL,\n"
        "                        LC_MESSAGES or LANG)\n",
    .example =
        "  clattn walkthrough                      the first example, on the device that is chosen automatically\n"
        "  clattn walkthrough --example words      the second\n"
        "  clattn walkthrough --heads 2 --causal   the first in two heads, without looking ahead\n"
        "  clattn walkthrough --tokens my.txt      your own sentences, with random weights\n"
        "  clattn walkthrough --out attention      and writes attention/index.html, with pictures\n"
        "  clattn walkthrough --lang ko            in Korean\n"
        "  clattn walkthrough --path cpu           without OpenCL\n",
};
