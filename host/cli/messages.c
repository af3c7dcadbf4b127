/* The language that messages are told in, and their lookup: see messages.h. */
#include "messages.h"

#include <stdlib.h>
#include <string.h>

static const char *const texts[MESSAGES][LANGUAGES] = {
#define MESSAGE(id, english, korean) {english, korean},
#include "messages_texts.h"
#undef MESSAGE
};

static const char *const names[LANGUAGES] = {"en", "ko"};

static enum language chosen = LANGUAGE_ENGLISH;

const char *ctn_message_in(enum language language, enum message id) {
  return texts[id][language];
}

const char *ctn_message(enum message id) {
  return texts[id][chosen];
}

void ctn_language_choose(enum language language) {
  chosen = language;
}

enum language ctn_language(void) {
  return chosen;
}

const char *ctn_language_name(enum language language) {
  return names[language];
}

bool ctn_language_find(const char *name, enum language *language) {
  for (int i = 0; i < LANGUAGES; i++) {
    if (strcmp(names[i], name) != 0) continue;
    *language = (enum language)i;
    return true;
  }
  return false;
}

enum language ctn_language_of_locale(void) {
  static const char *const variables[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
  const char *locale = "";
  for (size_t i = 0; i < sizeof variables / sizeof *variables && !*locale; i++) {
    const char *value = getenv(variables[i]);
    if (value) locale = value;
  }
  /* "ko", "ko_KR", "ko_KR.UTF-8", "ko@..." */
  for (int i = 0; i < LANGUAGES; i++) {
    const size_t length = strlen(names[i]);
    if (strncmp(locale, names[i], length) == 0 && strchr("_.@", locale[length])) return (enum language)i;
  }
  return LANGUAGE_ENGLISH;
}
