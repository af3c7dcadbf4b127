/* Runs the tool and keeps what it said, and makes files for it. */
#ifndef TEST_TOOL_H
#define TEST_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_result {
  int code;  /* exit code; -1 where a signal ended it */
  char *out; /* standard output and error, terminated */
  char *err;
};

struct tool_options {
  const char *const *environment; /* "NAME=VALUE"s, ended by NULL; or NULL */
  const char *stdout_path;        /* where standard output goes instead of into the result; "" closes it */
  long file_limit;                /* bytes that a file may grow to; 0: no limit */
};

/* argv[0] is the command; ends with NULL. options may be NULL. CLATTN_* and the locale of the surroundings are not passed on.
 */
struct tool_result tool_run(const char *const *argv, const struct tool_options *options);
void tool_free(struct tool_result *result);

/* Asserts a failure as the tool tells it: the exit code, one line "clattn COMMAND: ..." on standard error that holds fragment.
 */
void tool_assert_error(const struct tool_result *result, int code, const char *command, const char *fragment);

/* A fresh folder for the test's files, and removal of it with all in it. */
char *make_folder(void);
void remove_folder(char *folder);
size_t count_files(const char *folder);
/* folder/name, to be freed. */
char *join_path(const char *folder, const char *name);
void write_file(const char *path, const void *bytes, size_t length);
char *read_whole(const char *path, size_t *length);
bool file_exists(const char *path);

/* A safetensors file: the length of header, header, data_bytes bytes of data that count up in float32 quarters; the last
 * value_count * 8 bytes are values instead. */
void write_case(const char *path, const char *header, size_t data_bytes, const int64_t *values, size_t value_count);

/* One tensor's entry in a header. */
#define TENSOR(name, dtype, shape, from, to) \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"

#endif
