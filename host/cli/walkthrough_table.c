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

void ctn_walk_print_message(int indent, enum message id, ...) {
  char text[TEXT_SIZE];
  va_list arguments;
  va_start(arguments, id);
  vsnprintf(text, sizeof text, ctn_message(id), arguments);
  va_end(arguments);
  print_words(text, indent, 0);
}

void ctn_walk_print_paragraph(char *text) {
  print_words(text, 0, 0);
}

void ctn_walk_print_labelled(const char *label, char *text) {
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    printf("  ");
    ctn_print_padded(stdout, label, LABELLED - 3, false);
    print_words(line, LABELLED, LABELLED - 1);
    label = "";
  }
}

void ctn_walk_format_number(char text[WALK_NUMBER_SIZE], struct walk_format format, double value) {
  if (isinf(value) && value < 0) value = WALK_FILLER;
  snprintf(text, WALK_NUMBER_SIZE, format.scientific ? "%.*e" : "%.*f", format.decimals, value);
}

void ctn_walk_print_more(enum message one, enum message several, int64_t count) {
  if (count <= 0) return;
  printf("%*s", INDENT, "");
  if (count == 1) {
    printf("%s\n", ctn_message(one));
  } else {
    printf(ctn_message(several), (long long)count);
    putchar('\n');
  }
}

static int least(int a, int b) {
  return a < b ? a : b;
}

static int widest(const char *const *names, int count, int width) {
  for (int i = 0; i < count; i++) {
    const int needed = ctn_display_width(names[i]);
    if (needed > width) width = needed;
  }
  return width;
}

static double cell(const struct walk_table *table, int line, int column) {
  const int lines = table->lines > 1 ? table->lines : 1;
  const size_t pitch = (size_t)(table->pitch > 0 ? table->pitch : table->column_count);
  const size_t at = (size_t)(line / lines) * pitch + (size_t)column;
  const double value = (double)table->values[at];
  if (line % lines == 0) return value;
  const double other = (double)table->other[at];
  return line % lines == 1 ? other : (double)(float)(other - value);
}

static double sum_of(const struct walk_table *table, int line) {
  double sum = 0;
  for (int j = 0; j < table->column_count; j++)
    sum += cell(table, line, j);
  return sum;
}

/* The part of a table that is printed. */
struct part {
  int rows, columns;
  int names, numbers; /* widths */
};

static int number_width(const struct walk_table *table, const struct part *part) {
  char text[WALK_NUMBER_SIZE];
  int width = widest(table->columns, part->columns, 0);
  for (int i = 0; i < part->rows; i++) {
    for (int j = 0; j < part->columns + (table->sums ? 1 : 0); j++) {
      ctn_walk_format_number(text, table->format, j < part->columns ? cell(table, i, j) : sum_of(table, i));
      const int needed = ctn_display_width(text);
      if (needed > width) width = needed;
    }
  }
  if (table->sums && ctn_display_width(ctn_message(MSG_SUM)) > width) width = ctn_display_width(ctn_message(MSG_SUM));
  return width + GAP;
}

/* As many columns as the line has room for. */
static struct part fit(const struct walk_table *table) {
  struct part part = {least(table->row_count, WALK_SHOWN_ROWS), least(table->column_count, WALK_SHOWN_COLUMNS), 0, 0};
  part.names = widest(table->rows, part.rows, ctn_display_width(table->corner));
  for (;;) {
    part.numbers = number_width(table, &part);
    const int width = INDENT + part.names + 2 + part.columns * part.numbers + (table->sums ? 2 + part.numbers : 0);
    if (width <= WALK_WIDTH || part.columns == 1) return part;
    part.columns--;
  }
}

static void print_rule(const struct walk_table *table, const struct part *part) {
  printf("%*s", INDENT, "");
  print_repeated('-', part->names + 1);
  putchar('+');
  print_repeated('-', part->columns * part->numbers);
  if (table->sums) {
    printf("-+");
    print_repeated('-', part->numbers);
  }
  putchar('\n');
}

static void print_head(const struct walk_table *table, const struct part *part) {
  printf("\n%*s", INDENT, "");
  ctn_print_padded(stdout, table->corner, part->names, false);
  printf(" |");
  for (int j = 0; j < part->columns; j++)
    ctn_print_padded(stdout, table->columns[j], part->numbers, true);
  if (table->sums) {
    printf(" |");
    ctn_print_padded(stdout, ctn_message(MSG_SUM), part->numbers, true);
  }
  putchar('\n');
}

static void print_number(const struct walk_table *table, const struct part *part, double value) {
  char text[WALK_NUMBER_SIZE];
  ctn_walk_format_number(text, table->format, value);
  ctn_print_padded(stdout, text, part->numbers, true);
}

void ctn_walk_print_table(const struct walk_table *table) {
  const struct part part = fit(table);
  print_head(table, &part);
  for (int i = 0; i < part.rows; i++) {
    if (i == 0 || (table->group && i % table->group == 0)) print_rule(table, &part);
    printf("%*s", INDENT, "");
    ctn_print_padded(stdout, table->rows[i], part.names, false);
    printf(" |");
    for (int j = 0; j < part.columns; j++)
      print_number(table, &part, cell(table, i, j));
    if (table->sums) {
      printf(" |");
      print_number(table, &part, sum_of(table, i));
    }
    putchar('\n');
  }
  ctn_walk_print_more(MSG_MORE_ROW, MSG_MORE_ROWS, table->row_count - part.rows);
  ctn_walk_print_more(MSG_MORE_COLUMN, MSG_MORE_COLUMNS, table->column_count - part.columns);
}

const char *const *ctn_walk_dimensions(void) {
  static const char *const names[WALK_SHOWN_COLUMNS] = {"d0", "d1", "d2",  "d3",  "d4",  "d5",  "d6",  "d7",
                                                        "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15"};
  return names;
}

void ctn_walk_format_shape(char *text, size_t size, int rank, const int64_t *shape) {
  size_t length = 0;
  for (int i = 0; i < rank; i++) {
    const int added = snprintf(text + length, size - length, "%s%lld", i == 0 ? "[" : ", ", (long long)shape[i]);
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
