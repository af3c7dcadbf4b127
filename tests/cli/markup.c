/* Reads tags, and nothing else, of an XML or HTML text: see markup.h. */
#include "markup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { DEPTH = 64, NAME = 32 };

static bool is_void(const char *name) {
  static const char *const names[] = {"meta", "br", "img", "source", "link", "hr", "input"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return false;
}

/* Past the tag's '>'; quotes may hold any. NULL where it never ends, or a '<' stands in it. */
static const char *end_of_tag(const char *at) {
  char quote = '\0';
  for (; *at; at++) {
    if (quote) {
      if (*at == quote) quote = '\0';
    } else if (*at == '"' || *at == '\'') {
      quote = *at;
    } else if (*at == '<') {
      return NULL;
    } else if (*at == '>') {
      return at + 1;
    }
  }
  return NULL;
}

static void assert_entities(const char *what, const char *from, const char *to) {
  for (const char *at = from; at < to; at++) {
    if (*at != '&') continue;
    const size_t length = strspn(at + 1, "#abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    if (length == 0 || at[1 + length] != ';') fail_msg("%s: a bare & at \"%.20s\"", what, at);
  }
}

void assert_well_formed(const char *what, const char *text, int html) {
  char open[DEPTH][NAME];
  int depth = 0, elements = 0;
  for (const char *at = text, *tag; (tag = strchr(at, '<'));) {
    assert_entities(what, at, tag);
    const char *end = end_of_tag(tag + 1);
    if (!end) fail_msg("%s: a tag that does not end at \"%.40s\"", what, tag);
    at = end;
    if (tag[1] == '?' || tag[1] == '!') continue;
    const bool closes = tag[1] == '/';
    char name[NAME];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(tag + 1 + closes, " \n/>"), tag + 1 + closes);
    if (closes) {
      if (depth == 0 || strcmp(open[depth - 1], name) != 0) {
        fail_msg("%s: </%s> closes <%s>", what, name, depth ? open[depth - 1] : "nothing");
      }
      depth--;
    } else if (end[-2] != '/' && !(html && is_void(name))) {
      assert_true(depth < DEPTH);
      snprintf(open[depth++], NAME, "%s", name);
    }
    elements++;
  }
  if (depth > 0) fail_msg("%s: <%s> is not closed", what, open[depth - 1]);
  assert_true(elements > 0);
}
