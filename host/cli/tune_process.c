/* Starting, asking and ending the processes of candidates. This side never touches OpenCL: what forks may not have used it. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "print.h"
#include "tune.h"

enum { LINE = 1300 };

/* One line from the process, before the deadline and an interrupt. */
static bool read_line(const struct tune_process *process, const struct tune *tune, char line[LINE], bool *late) {
  size_t length = 0;
  while (length < LINE - 1) {
    struct pollfd wait = {process->from, POLLIN, 0};
    const double left = tune->deadline - ctn_seconds();
    if (left <= 0 || ctn_bench_stopped()) {
      *late = true;
      return false;
    }
    const int ready = poll(&wait, 1, left > 0.2 ? 200 : (int)(1000 * left) + 1);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0 || read(process->from, &line[length], 1) != 1) return false;
    if (line[length] == '\n') {
      line[length] = '\0';
      return true;
    }
    length++;
  }
  return false;
}

/* The candidate as a file; its name, to be unlinked and freed, or NULL. */
static char *write_table(const struct tune *tune, const struct tune_candidate *candidate) {
  const char *folder = getenv("TMPDIR");
  struct text name = {0}, table = {0};
  ctn_text_printf(&name, "%s/clattn-tune-XXXXXX", folder && *folder ? folder : "/tmp");
  ctn_text_printf(&table, "clattn tuning 1\n");
  for (int i = 0; i < candidate->count; i++) {
    ctn_text_printf(&table, "device=\"%s\" family=%s : ", tune->device, candidate->sets[i].family->name);
    ctn_tuning_print_values(&candidate->sets[i], &table);
    ctn_text_printf(&table, "\n");
  }
  const int file = name.failed || table.failed ? -1 : mkstemp(name.data);
  const bool written = file >= 0 && write(file, table.data, table.length) == (ssize_t)table.length;
  if (file >= 0) close(file);
  if (file >= 0 && !written) unlink(name.data);
  if (!written) ctn_text_free(&name);
  ctn_text_free(&table);
  return name.data;
}

static bool spawn(struct tune_process *process, const struct tune *tune, const struct tune_problem *problem,
                  const char *table) {
  int down[2] = {-1, -1}, up[2] = {-1, -1};
  if (pipe(down) || pipe(up)) {
    if (down[0] >= 0) close(down[0]), close(down[1]);
    return false;
  }
  fflush(NULL);
  process->pid = fork();
  if (process->pid == 0) {
    setpgid(0, 0); /* an interrupt from the terminal is for the search, which ends us */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    close(down[1]);
    close(up[0]);
    _exit(ctn_tune_work(tune, problem, table, down[0], up[1]));
  }
  close(down[0]);
  close(up[1]);
  process->to = down[1];
  process->from = up[0];
  if (process->pid > 0) return true;
  process->pid = 0;
  close(down[1]);
  close(up[0]);
  return false;
}

/* "ready FAMILIES|DEVICE|DRIVER|SECONDS|FLOP" */
static bool read_ready(struct tune_process *process, char *line) {
  char *parts[5] = {line + strlen("ready ")}, *end = NULL;
  for (int i = 1; i < 5; i++) {
    char *bar = strchr(parts[i - 1], '|');
    if (!bar) return false;
    *bar = '\0';
    parts[i] = bar + 1;
  }
  snprintf(process->device, sizeof process->device, "%s", parts[1]);
  snprintf(process->driver, sizeof process->driver, "%s", parts[2]);
  process->seconds = strtod(parts[3], &end);
  process->flop = strtod(parts[4], &end);
  char *rest = NULL, *word = strtok_r(parts[0], " ", &rest);
  for (int i = 0; i < 3 && word; i++, word = strtok_r(NULL, " ", &rest))
    snprintf(process->families[i], sizeof process->families[i], "%s", word);
  return process->seconds > 0;
}

bool ctn_tune_start(struct tune_process *process, const struct tune *tune, const struct tune_problem *problem,
                    const struct tune_candidate *candidate, bool *late) {
  char line[LINE] = "";
  char *table = candidate ? write_table(tune, candidate) : NULL;
  bool ready = false;
  memset(process, 0, sizeof *process);
  *late = false;
  if ((candidate && !table) || !spawn(process, tune, problem, table)) {
    snprintf(process->reason, sizeof process->reason, "a file or process for it cannot be made: %s", strerror(errno));
  } else if (!read_line(process, tune, line, late)) {
    snprintf(process->reason, sizeof process->reason, "%s", *late ? "no time left" : "its process died");
  } else if (strncmp(line, "ready ", 6) == 0) {
    ready = read_ready(process, line);
  } else {
    snprintf(process->reason, sizeof process->reason, "%.*s", TUNE_TEXT - 1, strncmp(line, "no ", 3) == 0 ? line + 3 : line);
  }
  if (table) unlink(table);
  free(table);
  if (!ready) ctn_tune_stop(process);
  return ready;
}

double ctn_tune_time(struct tune_process *process, const struct tune *tune) {
  char line[LINE] = "";
  bool late = false;
  if (!process->pid || write(process->to, "r", 1) != 1 || !read_line(process, tune, line, &late)) return -1;
  const double seconds = strtod(line, NULL);
  return seconds > 0 ? seconds : -1;
}

void ctn_tune_stop(struct tune_process *process) {
  if (!process->pid) return;
  close(process->to);
  close(process->from);
  kill(process->pid, SIGKILL);
  while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
    continue;
  process->pid = 0;
}
