/* What the walkthrough tells people, in English and Korean: one table of texts (messages_texts.h), looked up by id. */
#ifndef CTN_MESSAGES_H
#define CTN_MESSAGES_H

#include <stdbool.h>

enum language { LANGUAGE_ENGLISH, LANGUAGE_KOREAN, LANGUAGES };

enum message {
#define MESSAGE(id, english, korean) MSG_##id,
#include "messages_texts.h"
#undef MESSAGE
  MESSAGES
};

/* The text in the chosen language; some are formats for printf, whose conversions are the same in both languages. */
const char *ctn_message(enum message id);
const char *ctn_message_in(enum language language, enum message id);

/* English until another is chosen. */
void ctn_language_choose(enum language language);
enum language ctn_language(void);
/* By its name in --lang: "en" or "ko". */
bool ctn_language_find(const char *name, enum language *language);
const char *ctn_language_name(enum language language);
/* The locale's, from the first of LC_ALL, LC_MESSAGES and LANG that is set and not empty; English where it is no other. */
enum language ctn_language_of_locale(void);

#endif
