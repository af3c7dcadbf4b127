/* Links what includes each public header alone, and holds the linked library's version to the headers'. */
#include <stdio.h>
#include <string.h>

#include <clattn/clattn.h>

int includes_clattn_h(void);
int includes_clattn_layer_h(void);
int includes_clattn_opencl_h(void);

int main(void) {
  char version[64];
  snprintf(version, sizeof version, "%d.%d.%d", includes_clattn_h(), CLATTN_VERSION_MINOR, CLATTN_VERSION_PATCH);
  if (strcmp(version, clattn_version_string()) != 0 || includes_clattn_opencl_h() != CLATTN_VERSION_MAJOR ||
      includes_clattn_layer_h() != CLATTN_VERSION_MAJOR) {
    fprintf(stderr, "the library says %s, its headers %s\n", clattn_version_string(), version);
    return 1;
  }
  return 0;
}
