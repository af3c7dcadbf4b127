/* The command table's rows, the options that commands share, and how a command opens a context from them. */
#ifndef CTN_ARGS_H
#define CTN_ARGS_H

#include <stdbool.h>

#include <popt.h>

#include <clattn/clattn.h>

/* Which shared options a command takes; combine with |. --help is always there. */
enum {
  ARGS_CONTEXT = 1, /* --device, --threads, --verbose */
  ARGS_PLAN = 2,    /* --path, --product, --vector-width, --no-host */
  ARGS_JSON = 4     /* --json */
};

/* One command. Each cmd_*.c defines its own row; main.c lists them. */
struct command {
  const char *name;
  int (*run)(const struct command *self, int argc, const char **argv); /* argv[0] is the command's name; gives the exit code */
  unsigned shared;                                                     /* ARGS_... */
  const char *synopsis;                                                /* "run IN.safetensors -o OUT.safetensors [options]" */
  const char *summary;                                                 /* half a line for the table of commands */
  const char *options; /* a line for each option of its own, "  --strict              ...\n"; "" where there is none */
  const char *example; /* command lines with a word about each, whole lines */
};

extern const struct command ctn_cmd_bench;
extern const struct command ctn_cmd_devices;
extern const struct command ctn_cmd_run;
extern const struct command ctn_cmd_tune;
extern const struct command ctn_cmd_verify;
extern const struct command ctn_cmd_walkthrough;

/* The shared options after parsing, with the environment's CLATTN_DEVICE, CLATTN_KERNEL_DIR and others behind them. */
struct common_options {
  clattn_context_options context;
  clattn_plan_options plan;
  bool json;
  bool verbose;
};

/* A parsed command line. Operands are what is no option, ended by NULL; valid until ctn_args_clear. */
struct args {
  struct common_options common;
  const char **operands;
  int operand_count;
  poptContext popt;
  char *device, *path, *product, *vector_width, *threads; /* as given; behind common */
};

/*
 * Parses argv by own (the command's table, ended by POPT_TABLEEND; strings it fills in belong to the command: free them) and
 * the shared options. Returns -1 to go on, or an exit code when the command is done: its help was printed, or a mistake was
 * told.
 *
 *     char *example = NULL;
 *     const struct poptOption own[] = {{"example", 0, POPT_ARG_STRING, &example, 0, NULL, NULL}, POPT_TABLEEND};
 *     struct args args;
 *     int code = ctn_args_parse(&args, self, argc, argv, own);
 *     if (code >= 0) goto cleanup;
 *     ...
 *     code = ctn_finish(self->name, CTN_EXIT_OK);
 *   cleanup:
 *     ctn_args_clear(&args);
 *     free(example);
 *     return code;
 */
int ctn_args_parse(struct args *args, const struct command *command, int argc, const char **argv, const struct poptOption *own);
void ctn_args_clear(struct args *args);

/* With --path cpu or reference and no --device the context is the host's, so that no OpenCL is needed. Plans take
 * &options->plan. */
clattn_status ctn_open_context(const struct common_options *options, clattn_context **context, clattn_error *error);

/* Prints the command's help on standard output: synopsis, options, example. */
void ctn_print_help(const struct command *command);

#endif
