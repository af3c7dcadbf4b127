/* Spells out sums of products, so that a table's cell can be followed by hand. */
#include <stdio.h>

#include "messages.h"
#include "print.h"
#include "walkthrough.h"

enum { TERM_SIZE = 2 * WALK_NUMBER_SIZE + 8 };

/* Negative numbers in brackets, as they stand behind an operator. */
static void format_factor(char text[WALK_NUMBER_SIZE], double value, int decimals) {
  char number[WALK_NUMBER_SIZE - 2];
  snprintf(number, sizeof number, "%.*f", decimals, value);
  snprintf(text, WALK_NUMBER_SIZE, number[0] == '-' ? "(%s)" : "%s", number);
}

/* Prints text behind what stands in *column columns, on a new line below the first term where it would not fit. */
static void print_wrapped(const char *text, int indent, int *column) {
  const int width = ctn_display_width(text);
  if (*column + width > WALK_WIDTH && *column > indent) {
    printf("\n%*s", indent, "");
    *column = indent;
  }
  printf("%s", text);
  *column += width;
}

void ctn_walk_print_hand_label(void) {
  printf("    ");
  ctn_print_padded(stdout, ctn_message(MSG_BY_HAND), WALK_HAND_INDENT - 4, false);
}

void ctn_walk_print_by_hand(const char *cell, const struct walk_factors *a, const struct walk_factors *b, int count,
                            const float *bias, int decimals) {
  const int indent = WALK_HAND_INDENT + ctn_display_width(cell);
  int column = indent;
  double sum = 0;
  char term[TERM_SIZE], left[WALK_NUMBER_SIZE], right[WALK_NUMBER_SIZE];
  ctn_walk_print_hand_label();
  printf("%s", cell);
  for (int i = 0; i < count; i++) {
    const double x = (double)a->values[i * a->stride], y = (double)b->values[i * b->stride];
    format_factor(left, x, a->decimals);
    format_factor(right, y, b->decimals);
    snprintf(term, sizeof term, " %c %s * %s", i == 0 ? '=' : '+', left, right);
    if (i < WALK_SHOWN_TERMS) print_wrapped(term, indent, &column);
    sum += x * y;
  }
  if (count > WALK_SHOWN_TERMS) {
    char more[WALK_NUMBER_SIZE];
    snprintf(more, sizeof more, ctn_message(MSG_MORE_TERMS), count - WALK_SHOWN_TERMS);
    snprintf(term, sizeof term, " + %s", more);
    print_wrapped(term, indent, &column);
  }
  if (bias) {
    format_factor(left, (double)*bias, b->decimals);
    snprintf(term, sizeof term, " + %s", left);
    print_wrapped(term, indent, &column);
    sum += (double)*bias;
  }
  snprintf(term, sizeof term, " = %.*f", decimals, sum);
  print_wrapped(term, indent, &column);
  putchar('\n');
}
