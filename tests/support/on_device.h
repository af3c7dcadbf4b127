/* Running problems on the device under test through the public API. */
#ifndef CTN_SUPPORT_ON_DEVICE_H
#define CTN_SUPPORT_ON_DEVICE_H

#include <stdbool.h>

#include <clattn/clattn_opencl.h>

#include "setup.h"

/*
 * One context for the whole program, on the first device whose name or platform contains $CLATTN_TEST_DEVICE (default: PoCL's
 * platform). Without such a device the test is skipped, or fails where $CLATTN_TEST_REQUIRE_DEVICES is set.
 * $CLATTN_TEST_KERNEL_DIR replaces the embedded kernels; with it or $CLATTN_TEST_NO_SELFTEST there is no self-test.
 */
clattn_context *support_device(void);
/* A group's teardown: closes that context. */
int support_close_device(void **state);
/* Whether the device under test is Oclgrind's, which runs a thousand times slower than it checks. */
bool support_on_oclgrind(void);

/* An unsigned number from the environment, or the default. */
uint64_t support_environment(const char *name, uint64_t otherwise);

/* Fails the test where the problem is refused. */
clattn_plan *support_attention_plan(clattn_context *context, const clattn_problem *problem, const clattn_plan_options *options);

/* The plan on the setup's host arrays; fails the test on an error. */
void support_execute(clattn_plan *plan, struct setup *setup, const char *what);

/*
 * The plan, made with user_workspace, on buffers: each tensor lies in the middle of one of its own, at an offset that is only
 * as aligned as its type, between margins that are NaN for inputs and must stay as they are for results. Results and workspace
 * are poison before. Copies the results back into setup. Fails the test on an error. On Oclgrind there are no margins and
 * nothing is poisoned, so that it sees every access outside and every read of what was not written.
 */
void support_enqueue(clattn_context *context, clattn_plan *plan, struct setup *setup, const char *what);

#endif
