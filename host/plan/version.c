/* The version that is linked. */
#include <clattn/clattn.h>

#define TEXT_OF(x) #x
#define VERSION(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *clattn_version_string(void) {
  return VERSION(CLATTN_VERSION_MAJOR, CLATTN_VERSION_MINOR, CLATTN_VERSION_PATCH);
}
