/* The walkthrough's typography: titles, numbers, names, tables with row and column names. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "messages.h"
#include "print.h"
#include "walkthrough.h"

enum { PART_WIDTH = 24, FORMULA_WIDTH = 39, INDENT = 4, GAP = 2, LABELLED = 11, TEXT_SIZE = 2048 };

static void print_repeated(char character, int count) {
  for (int i = 0; i < count; i++)
    putchar(character);
}

void ctn_walk_print_title(int number, const char *title) {
  putchar('\n');
  print_repeated('=', WALK_WIDTH);
  printf("\n %2d. %s\n", number, title);
  print_repeated('=', WALK_WIDTH);
  putchar('\n');
}

void ctn_walk_print_part(const char *part, const char *formula, const char *shapes) {
  if (*part) putchar('\n');
  printf("  ");
  ctn_print_padded(stdout, part, PART_WIDTH, false);
  /* At least one blank before the shapes; below the formula where they would pass the margin. */
  const int formula_width = ctn_display_width(formula), shapes_width = ctn_display_width(shapes);
  const int width = formula_width < FORMULA_WIDTH ? FORMULA_WIDTH : formula_width + 1;
  const bool fits = 2 + PART_WIDTH + width + shapes_width <= WALK_WIDTH;
  ctn_print_padded(stdout, formula, *shapes && fits ? width : 0, false);
  if (!fits) printf("\n%*s", 2 + PART_WIDTH, "");
  printf("%s\n", shapes);
}

/* The words of text, wrapped, from *column on (0: nothing stands on the line yet). */
static void print_words(char *text, int indent, int column) {
  char *rest = NULL;
  for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    const int width = ctn_display_width(word);
    if (column == 0 || column + 1 + width > WALK_WIDTH) {
      printf("%s%*s%s", column == 0 ? "" : "\n", indent, "", word);
      column = indent + width;
    } else {
      printf(" %s", word);
      column += 1 + width;
    }
  }
  putchar('\n');
}

static void format_message(char text[TEXT_SIZE], enum message id, va_list arguments) {
  vsnprintf(text, TEXT_SIZE, ctn_message(id), arguments);
}

void ctn_walk_print_message(int indent, enum message id, ...) {
  char text[TEXT_SIZE];
  va_list arguments;
  va_start(arguments, id);
  format_message(text, id, arguments);
  va_end(arguments);
  print_words(text, indent, 0);
}

void ctn_walk_print_labelled(const char *label, enum message id, ...) {
  char text[TEXT_SIZE];
  va_list arguments;
  va_start(arguments, id);
  format_message(text, id, arguments);
  va_end(arguments);
  printf("  ");
  ctn_print_padded(stdout, label, LABELLED - 3, false);
  print_words(text, LABELLED, LABELLED - 1);
}

void ctn_walk_format_number(char text[WALK_NUMBER_SIZE], struct walk_format format, double value) {
  if (isinf(value) && value < 0) value = WALK_FILLER;
  snprintf(text, WALK_NUMBER_SIZE, format.scientific ? "%.*e" : "%.*f", format.decimals, value);
}

static int widest(const char *const *names, int count, int least) {
  for (int i = 0; i < count; i++) {
    const int width = ctn_display_width(names[i]);
    if (width > least) least = width;
  }
  return least;
}

static int number_width(const struct walk_table *table) {
  char text[WALK_NUMBER_SIZE];
  int width = widest(table->columns, table->column_count, 0);
  for (int i = 0; i < table->row_count * table->column_count; i++) {
    ctn_walk_format_number(text, table->format, (double)table->values[i]);
    const int needed = ctn_display_width(text);
    if (needed > width) width = needed;
  }
  if (table->sums && ctn_display_width(ctn_message(MSG_SUM)) > width) width = ctn_display_width(ctn_message(MSG_SUM));
  return width + GAP;
}

static void print_rule(const struct walk_table *table, int names, int numbers) {
  printf("%*s", INDENT, "");
  print_repeated('-', names + 1);
  putchar('+');
  print_repeated('-', table->column_count * numbers);
  if (table->sums) {
    printf("-+");
    print_repeated('-', numbers);
  }
  putchar('\n');
}

void ctn_walk_print_table(const struct walk_table *table) {
  const int names = widest(table->rows, table->row_count, ctn_display_width(table->corner));
  const int numbers = number_width(table);
  char text[WALK_NUMBER_SIZE];
  printf("\n%*s", INDENT, "");
  ctn_print_padded(stdout, table->corner, names, false);
  printf(" |");
  for (int j = 0; j < table->column_count; j++)
    ctn_print_padded(stdout, table->columns[j], numbers, true);
  if (table->sums) {
    printf(" |");
    ctn_print_padded(stdout, ctn_message(MSG_SUM), numbers, true);
  }
  putchar('\n');
  for (int i = 0; i < table->row_count; i++) {
    if (i == 0 || (table->group && i % table->group == 0)) print_rule(table, names, numbers);
    double sum = 0;
    printf("%*s", INDENT, "");
    ctn_print_padded(stdout, table->rows[i], names, false);
    printf(" |");
    for (int j = 0; j < table->column_count; j++) {
      const double value = (double)table->values[i * table->column_count + j];
      ctn_walk_format_number(text, table->format, value);
      ctn_print_padded(stdout, text, numbers, true);
      sum += value;
    }
    if (table->sums) {
      ctn_walk_format_number(text, table->format, sum);
      printf(" |");
      ctn_print_padded(stdout, text, numbers, true);
    }
    putchar('\n');
  }
}

const char *const *ctn_walk_dimensions(void) {
  static const char *const names[WALK_MAX_COLUMNS] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"};
  return names;
}

void ctn_walk_format_shape(char *text, size_t size, const struct st_tensor *tensor) {
  size_t length = 0;
  for (int i = 0; i < tensor->rank; i++) {
    const int added = snprintf(text + length, size - length, "%s%lld", i == 0 ? "[" : ", ", (long long)tensor->shape[i]);
    if (added < 0 || (size_t)added >= size - length) return;
    length += (size_t)added;
  }
  snprintf(text + length, size - length, "]");
}

const char *ctn_walk_gloss(const char *word) {
  if (ctn_language() != LANGUAGE_ENGLISH) return "";
  static const char *const glosses[][2] = {
      {"[PAD]", "(filler)"},     {"나는", "I"},         {"오늘", "today"},
      {"학교에", "to school"},   {"간다", "go"},        {"도서관에", "to the library"},
      {"학교에서", "at school"}, {"공부한다", "study"}, {"집에", "home"},
      {"사과를", "an apple"},    {"먹었다", "ate"},
  };
  for (size_t i = 0; i < sizeof glosses / sizeof *glosses; i++) {
    if (strcmp(glosses[i][0], word) == 0) return glosses[i][1];
  }
  return "";
}
