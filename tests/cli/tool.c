/* Running the tool from a test: see tool.h. */
#include "tool.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

char *join_path(const char *folder, const char *name) {
  size_t room = strlen(folder) + strlen(name) + 2;
  char *path = malloc(room);
  assert_non_null(path);
  snprintf(path, room, "%s/%s", folder, name);
  return path;
}

char *make_folder(void) {
  const char *base = getenv("TMPDIR");
  char *folder = join_path(base && *base ? base : "/tmp", "clattn-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  return folder;
}

static void remove_all(const char *path) {
  struct stat about;
  if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
    DIR *stream = opendir(path);
    const struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
      if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
      char *inside = join_path(path, entry->d_name);
      remove_all(inside);
      free(inside);
    }
    if (stream) closedir(stream);
  }
  remove(path);
}

void remove_folder(char *folder) {
  remove_all(folder);
  free(folder);
}

size_t count_files(const char *folder) {
  size_t count = 0;
  DIR *stream = opendir(folder);
  assert_non_null(stream);
  const struct dirent *entry;
  while ((entry = readdir(stream)))
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(stream);
  return count;
}

void write_file(const char *path, const void *bytes, size_t length) {
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  if (length) assert_int_equal(fwrite(bytes, 1, length, stream), length);
  assert_int_equal(fclose(stream), 0);
}

char *read_whole(const char *path, size_t *length) {
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  assert_int_equal(fseek(stream, 0, SEEK_END), 0);
  long size = ftell(stream);
  assert_true(size >= 0);
  rewind(stream);
  char *bytes = malloc((size_t)size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, (size_t)size, stream), size);
  bytes[size] = '\0';
  fclose(stream);
  if (length) *length = (size_t)size;
  return bytes;
}

bool file_exists(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0;
}

void write_case(const char *path, const char *header, size_t data_bytes, const int64_t *values, size_t value_count) {
  size_t length = strlen(header), total = 8 + length + data_bytes;
  unsigned char *bytes = calloc(total + 1, 1);
  assert_non_null(bytes);
  for (int i = 0; i < 8; i++)
    bytes[i] = (unsigned char)((uint64_t)length >> (8 * i));
  memcpy(bytes + 8, header, length);
  for (size_t i = 0; i + 4 <= data_bytes; i += 4) {
    float value = (float)(i % 64) / 16;
    memcpy(bytes + 8 + length + i, &value, sizeof value);
  }
  if (value_count) memcpy(bytes + total - value_count * 8, values, value_count * 8);
  write_file(path, bytes, total);
  free(bytes);
}

/* In the child: streams, limits and surroundings, then the tool. */
static void start(const char *const *argv, const struct tool_options *options, const char *out, const char *err) {
  static const char *const ours[] = {"CLATTN_DEVICE",      "CLATTN_KERNEL_DIR",
                                     "CLATTN_CACHE_DIR",   "CLATTN_NO_SELFTEST",
                                     "CLATTN_TUNING_FILE", "LC_ALL",
                                     "LC_MESSAGES",        "LANG"};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    unsetenv(ours[i]);
  for (const char *const *e = options->environment; e && *e; e++) {
    const char *equals = strchr(*e, '=');
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(equals - *e), *e);
    setenv(name, equals + 1, 1);
  }
  int fd = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd >= 0) dup2(fd, 2);
  if (fd > 2) close(fd);
  const char *to = options->stdout_path ? options->stdout_path : out;
  fd = *to ? open(to, O_WRONLY | O_CREAT, 0600) : -1;
  if (fd >= 0)
    dup2(fd, 1);
  else
    close(1);
  if (options->file_limit) {
    const struct rlimit limit = {(rlim_t)options->file_limit, (rlim_t)options->file_limit};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  char *words[32] = {(char *)(uintptr_t)CLATTN_TOOL};
  for (int i = 0; i < 30 && argv[i]; i++)
    words[i + 1] = (char *)(uintptr_t)argv[i];
  execv(CLATTN_TOOL, words);
  _exit(127);
}

struct tool_result tool_run(const char *const *argv, const struct tool_options *options) {
  const struct tool_options none = {NULL, NULL, 0};
  char *folder = make_folder(), *out = join_path(folder, "out"), *err = join_path(folder, "err");
  write_file(out, "", 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) start(argv, options ? options : &none, out, err);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  struct tool_result result = {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_whole(out, NULL), read_whole(err, NULL)};
  remove_folder(folder);
  free(out);
  free(err);
  return result;
}

void tool_free(struct tool_result *result) {
  free(result->out);
  free(result->err);
}

void tool_assert_error(const struct tool_result *result, int code, const char *command, const char *fragment) {
  char start_text[64];
  snprintf(start_text, sizeof start_text, "clattn%s%s: ", command ? " " : "", command ? command : "");
  const char *end = strchr(result->err, '\n');
  bool one_line = end && end[1] == '\0';
  if (result->code != code || !one_line || strncmp(result->err, start_text, strlen(start_text)) != 0 ||
      (fragment && !strstr(result->err, fragment))) {
    fail_msg("exit code %d (not %d), or not one line of error with '%s': %s", result->code, code, fragment ? fragment : "",
             result->err);
  }
}
