/* The tool's entry: the table of commands, the usage text, the way into a command. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "print.h"

enum { COMMANDS = 6 };

static const struct command *const commands[COMMANDS] = {&ctn_cmd_walkthrough, &ctn_cmd_run,  &ctn_cmd_verify,
                                                         &ctn_cmd_bench,       &ctn_cmd_tune, &ctn_cmd_devices};

static const struct command *find_command(const char *name) {
  for (size_t i = 0; i < COMMANDS; i++) {
    if (strcmp(commands[i]->name, name) == 0) return commands[i];
  }
  return NULL;
}

static int usage(void) {
  printf("clattn %s: transformer attention on any OpenCL device\n\nusage: clattn COMMAND [options]\n\nCommands:\n",
         clattn_version_string());
  for (size_t i = 0; i < COMMANDS; i++) {
    printf("  ");
    ctn_print_padded(stdout, commands[i]->name, 14, false);
    printf("%s\n", commands[i]->summary);
  }
  printf(
      "  help COMMAND  a command's options, with an example\n\n"
      "Start with `clattn walkthrough`: attention step by step on a small example.\n"
      "`clattn --version` prints the version. Exit codes: 0 done, 1 the job failed, 2 wrong usage.\n");
  return ctn_finish(NULL, CTN_EXIT_OK);
}

static int help(int argc, const char **argv) {
  if (argc < 2) return usage();
  if (argc > 2) return ctn_fail_usage(NULL, "help: takes one command, not %d", argc - 1);
  const struct command *command = find_command(argv[1]);
  if (!command) return ctn_fail_usage(NULL, "%s: no such command", argv[1]);
  ctn_print_help(command);
  return ctn_finish(command->name, CTN_EXIT_OK);
}

/* A closed standard stream would lend its number to the next file that is opened, and prints would end up in there. A stream
 * that cannot be written to takes its place, so that printing fails as it should. */
static void hold_standard_streams(void) {
  for (int stream = 0; stream < 3; stream++) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    if (open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

int main(int argc, char **arguments) {
  hold_standard_streams();
  const char **argv = (const char **)(void *)arguments;
  if (argc < 2) return usage();
  if (strcmp(argv[1], "help") == 0) return help(argc - 1, argv + 1);
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return usage();
  if (strcmp(argv[1], "--version") == 0) {
    printf("clattn %s\n", clattn_version_string());
    return ctn_finish(NULL, CTN_EXIT_OK);
  }
  const struct command *command = find_command(argv[1]);
  if (command) return command->run(command, argc - 1, argv + 1);
  return ctn_fail_usage(NULL, "%s: no such %s", argv[1], argv[1][0] == '-' ? "option" : "command");
}
