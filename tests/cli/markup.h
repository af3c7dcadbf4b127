/* Whether every tag of an XML or HTML text is closed where it was opened. */
#ifndef TEST_MARKUP_H
#define TEST_MARKUP_H

/* Fails the test, naming what and the tag, where one is not. html: elements that HTML never closes need no end. */
void assert_well_formed(const char *what, const char *text, int html);

#endif
