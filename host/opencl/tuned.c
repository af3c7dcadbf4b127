/* Loading what the tuning tables have for a device. */
#include "tuned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

#define FILE_LIMIT ((size_t)4 << 20)
static const char shipped_name[] = "the built-in table";

static void report(void *user, const char *source, int line, const char *text) {
  const struct runtime *runtime = user;
  if (line > 0) {
    ctn_runtime_log(runtime, CLATTN_LOG_WARNING, "tuning: %s:%d: %s", source, line, text);
  } else {
    ctn_runtime_log(runtime, CLATTN_LOG_WARNING, "tuning: %s %s; it is ignored", source, text);
  }
}

static clattn_status no_memory(clattn_error *error) {
  return ctn_fail(error, CLATTN_OUT_OF_MEMORY, "context: no memory for its tuning table");
}

static clattn_status read_file(struct runtime *runtime, const char *path, clattn_error *error) {
  const clattn_device_info *info = &runtime->device.info;
  unsigned char *bytes = NULL;
  size_t size = 0;
  const int code = ctn_file_read(path, FILE_LIMIT, false, &bytes, &size);
  if (code == ENOENT || code == ENOTDIR) return CLATTN_OK;
  if (code != 0) {
    ctn_runtime_log(runtime, CLATTN_LOG_WARNING, "tuning: %s cannot be read: %s; it is ignored", path, strerror(code));
    return CLATTN_OK;
  }
  const bool read = ctn_tuning_read(&runtime->tuning, (const char *)bytes, size, path, false, info->name, info->driver_version,
                                    report, runtime);
  free(bytes);
  return read ? CLATTN_OK : no_memory(error);
}

clattn_status ctn_tuned_load(struct runtime *runtime, const clattn_context_options *options, clattn_error *error) {
  static const clattn_context_options defaults = CLATTN_CONTEXT_OPTIONS_INIT;
  const clattn_device_info *info = &runtime->device.info;
  if (options == NULL) options = &defaults;
  if (options->no_tuning) return CLATTN_OK;
  size_t length = 0;
  const char *shipped = ctn_tuning_shipped(&length);
  if (!ctn_tuning_read(&runtime->tuning, shipped, length, shipped_name, true, info->name, info->driver_version, report,
                       runtime)) {
    return no_memory(error);
  }
  if (options->tuning_file != NULL && options->tuning_file[0] != '\0') return read_file(runtime, options->tuning_file, error);
  char *path = ctn_tuning_default_path();
  const clattn_status status = path != NULL ? read_file(runtime, path, error) : CLATTN_OK;
  free(path);
  return status;
}

void ctn_tuned_refuse(struct runtime *runtime, struct tuning_entry *entry, const char *why) {
  if (atomic_exchange(&entry->refused, true)) return;
  ctn_runtime_log(runtime, CLATTN_LOG_WARNING, "tuning: %s:%d: %s is not used: %s", entry->source, entry->line,
                  entry->family->name, why);
}

void ctn_tuned_print(const struct tuning_entry *entry, struct text *text) {
  ctn_tuning_print_values(entry, text);
  ctn_text_printf(text, " (%s:%d)", entry->source, entry->line);
}
