/* `clattn walkthrough` on one's own sentences and with one's own heads: what is told, what is cut, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "own.h"

/* ------------------------------------------------------------------------------------------------------------------- text */

static void check_phrases(const struct tool_result *result, const char *const *phrases) {
  const char *at = result->out;
  for (; *phrases; phrases++) {
    const char *found = strstr(at, *phrases);
    if (!found) fail_msg("no \"%s\" where it should stand", *phrases);
    at = found;
  }
}

static void all_ten_sections_are_told(void **state) {
  (void)state;
  struct place place = own_place(own_sentences);
  struct tool_result result =
      own_text((const char *const[]){"--tokens", place.tokens, "--heads", "3", "--causal", "--seed", "5", NULL});
  static const char *const phrases[] = {
      "d_model 6, 3 heads of 2 columns each, causal mask",
      "random, from seed 5",
      "no stored values for your own input",
      "\n  1. Input",
      "\n  2. Embedding",
      "\n  3. Positional",
      "\n  4. Query",
      "are split among 3 heads",
      "h3.d1\n",
      "\n  5. Masks",
      "  5b  Causal mask",
      "\n  6. Attention without",
      "sentence 2, head 3\n",
      "\n  7. Attention with the padding and causal masks",
      "\n  8. The last sentence (2)",
      "\n  9. Attention to [PAD]",
      "\n 10. Shapes",
      "[B, H, S, S]",
      "Every step",
      NULL,
  };
  check_phrases(&result, phrases);
  assert_null(strstr(result.out, "TOO FAR"));
  tool_free(&result);
  own_leave(&place);
}

static void without_padding_its_section_is_skipped(void **state) {
  (void)state;
  struct place place = own_place("a b\na b\nb a\n");
  struct tool_result result = own_text((const char *const[]){"--tokens", place.tokens, NULL});
  static const char *const phrases[] = {"No sentence has [PAD]",
                                        "excludes no key here",
                                        "The mask excludes nothing",
                                        "\n  9. ",
                                        "Skipped: no sentence has [PAD]",
                                        "\n 10. Shapes",
                                        NULL};
  check_phrases(&result, phrases);
  tool_free(&result);
  own_leave(&place);
}

/* One word, one column: nothing to compare with, and nothing to divide. */
static void the_smallest_run_is_told(void **state) {
  (void)state;
  struct place place = own_place("a\na\n");
  struct tool_result result = own_text((const char *const[]){"--tokens", place.tokens, "--d-model", "1", "--causal", NULL});
  check_phrases(&result, (const char *const[]){"\n 10. Shapes", "Every step", NULL});
  tool_free(&result);
  own_leave(&place);
}

/* Long sentences and many columns are cut, with a note, and no line is longer than the others. */
static void large_runs_are_cut(void **state) {
  (void)state;
  char text[8192] = "a b c d e f\n";
  for (int i = 0; i < 30; i++) {
    for (int j = 0; j < 30 + i % 3; j++)
      strcat(text, (i + j) % 2 ? "a " : "f ");
    strcat(text, "\n");
  }
  struct place place = own_place(text);
  struct tool_result result =
      own_text((const char *const[]){"--tokens", place.tokens, "--d-model", "48", "--heads", "12", NULL});
  static const char *const phrases[] = {"more sentences\n",
                                        "more words of each sentence\n",
                                        "... 936 more rows (computed and checked, not printed)\n",
                                        "more columns (",
                                        "more terms)",
                                        "... 348 more tables (computed and checked, not printed)\n",
                                        NULL};
  check_phrases(&result, phrases);
  char *rest = NULL;
  for (char *line = strtok_r(result.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    if (strlen(line) > 100) fail_msg("%s", line);
  }
  tool_free(&result);
  own_leave(&place);
}

/* ------------------------------------------------------------------------------------------------------------ the example */

/* Where --heads and --causal change the example, its stored values fall away; the rest is still held to them. */
static void the_example_takes_heads_and_a_causal_mask(void **state) {
  (void)state;
  static const struct {
    const char *options[4];
    const char *stored, *free;
  } rows[] = {
      {{"--heads", "2", NULL}, "value", "raw_scores"},
      {{"--heads", "6", "--causal", NULL}, "value", "output"},
      {{"--causal", NULL}, "output", "masked_scores"},
      {{"--heads", "1", NULL}, "output_masked", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *options[8] = {"--path", "cpu"};
    for (int j = 0; j < 4 && rows[i].options[j]; j++)
      options[2 + j] = rows[i].options[j];
    json_t *root = own_json(options);
    assert_true(json_is_number(json_object_get(own_step(root, rows[i].stored), "difference_stored")));
    if (rows[i].free) assert_true(json_is_null(json_object_get(own_step(root, rows[i].free), "difference_stored")));
    assert_true(json_is_true(json_object_get(root, "agrees")));
    json_decref(root);
  }
  struct tool_result result = own_text((const char *const[]){"--heads", "2", NULL});
  assert_non_null(strstr(result.out, "stored for one head and without a causal mask"));
  tool_free(&result);
}

/* --------------------------------------------------------------------------------------------------------------- mistakes */

static void wrong_options_are_refused(void **state) {
  (void)state;
  struct place place = own_place(own_sentences);
  const char *tokens = place.tokens;
  const struct {
    const char *options[8];
    const char *fragment;
  } rows[] = {
      {{"--heads", "4", NULL}, "--heads: 4 heads do not share 6 columns"},
      {{"--tokens", tokens, "--heads", "4", NULL}, "--heads: 4 heads do not share 6 columns"},
      {{"--tokens", tokens, "--d-model", "8", "--heads", "3", NULL}, "--heads: 3 heads do not share 8 columns"},
      {{"--heads", "0", NULL}, "--heads: 0 is no whole number"},
      {{"--heads", "two", NULL}, "--heads: two is no whole number"},
      {{"--tokens", tokens, "--d-model", "5000", NULL}, "--d-model: 5000 is no whole number from 1 to 4096"},
      {{"--tokens", tokens, "--seed", "-1", NULL}, "--seed: -1"},
      {{"--tokens", tokens, "--seed", "99999999999999999999", NULL}, "--seed: 9999"},
      {{"--d-model", "4", NULL}, "--d-model: is for sentences of your own"},
      {{"--seed", "4", NULL}, "--seed: is for sentences of your own"},
      {{"--weights", "x", NULL}, "--weights: is for sentences of your own"},
      {{"--tokens", tokens, "--weights", "x", "--seed", "1", NULL}, "--seed: is for random weights"},
      {{"--tokens", tokens, "--example", "words", NULL}, "are two inputs"},
      {{"--example", "words", "--heads", "2", NULL}, "--heads: the words example"},
      {{"--example", "words", "--causal", NULL}, "--causal: the words example"},
      {{"--tokens", tokens, "--cells", "100", NULL}, "--cells: is for pictures; give --out DIR"},
      {{"--tokens", tokens, "--out", "/nowhere", "--cells", "15", NULL}, "--cells: 15 is no whole number from 16 to 65536"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *argv[12] = {"walkthrough"};
    for (int j = 0; j < 8 && rows[i].options[j]; j++)
      argv[1 + j] = rows[i].options[j];
    struct tool_result result = tool_run(argv, NULL);
    tool_assert_error(&result, 2, "walkthrough", rows[i].fragment);
    assert_string_equal(result.out, "");
    tool_free(&result);
  }
  own_leave(&place);
}

static void expect_failure(const char *tokens, const char *weights, const char *extra, const char *fragment) {
  const char *argv[] = {"walkthrough", "--tokens",         tokens, "--path", "cpu", weights ? "--weights" : NULL, weights,
                        extra,         extra ? "3" : NULL, NULL};
  struct tool_result result = tool_run(argv, NULL);
  tool_assert_error(&result, 1, "walkthrough", fragment);
  assert_string_equal(result.out, "");
  tool_free(&result);
}

static void wrong_files_of_tokens_fail(void **state) {
  (void)state;
  struct place place = own_place("a b\na c\n");
  expect_failure(place.tokens, NULL, NULL, "tokens.txt: line 2, column 3: \"c\" is not in the vocabulary");
  write_file(place.tokens, "", 0);
  expect_failure(place.tokens, NULL, NULL, "tokens.txt: the file is empty");
  expect_failure("/nowhere/at/all", NULL, NULL, "/nowhere/at/all: ");
  own_leave(&place);
}

static void wrong_weights_fail(void **state) {
  (void)state;
  struct place place = own_place(own_sentences);
  struct inputs in;
  struct st_file file = {0};
  own_inputs(&in);
  expect_failure(place.tokens, place.weights, NULL, "weights.safetensors");

  own_add(&file, "embedding_table", 2, V, in.table);
  own_add(&file, "weight_q", 2, D, in.q);
  own_write(&file, place.weights);
  expect_failure(place.tokens, place.weights, NULL, "no tensor weight_k, nor k_proj.weight or in_proj_weight");

  own_add(&file, "weight_q", 2, D, in.q);
  own_write(&file, place.weights);
  expect_failure(place.tokens, place.weights, NULL, "no tensor embedding_table");

  own_add(&file, "embedding_table", 2, V - 1, in.table);
  own_write(&file, place.weights);
  expect_failure(place.tokens, place.weights, NULL, "embedding_table is [4, 4]; with d_model 4 and 5 words");

  own_add(&file, "embedding_table", 2, V, in.table);
  own_add(&file, "weight_q", 2, D - 1, in.q);
  own_write(&file, place.weights);
  expect_failure(place.tokens, place.weights, NULL, "weight_q is [3, 4]");

  own_add_separate(&file, &in);
  own_add(&file, "bias_q", 1, D, in.bias_q);
  own_write(&file, place.weights);
  expect_failure(place.tokens, place.weights, NULL, "1 of the three tensors bias_q");

  own_add_separate(&file, &in);
  own_add(&file, "bias_o", 1, D, in.bias_o);
  own_write(&file, place.weights);
  expect_failure(place.tokens, place.weights, NULL, "bias_o is there without weight_o");

  in.k[5] = NAN;
  own_add_separate(&file, &in);
  own_write(&file, place.weights);
  expect_failure(place.tokens, place.weights, NULL, "weight_k: element 5 is no finite");

  in.k[5] = 0;
  own_add_separate(&file, &in);
  own_write(&file, place.weights);
  expect_failure(place.tokens, place.weights, "--d-model", "d_model is 4, --d-model 3");
  own_leave(&place);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_ten_sections_are_told),
      cmocka_unit_test(without_padding_its_section_is_skipped),
      cmocka_unit_test(the_smallest_run_is_told),
      cmocka_unit_test(large_runs_are_cut),
      cmocka_unit_test(the_example_takes_heads_and_a_causal_mask),
      cmocka_unit_test(wrong_options_are_refused),
      cmocka_unit_test(wrong_files_of_tokens_fail),
      cmocka_unit_test(wrong_weights_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
