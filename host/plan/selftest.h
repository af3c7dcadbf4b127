/*
 * The self-test of a kernel family at its first use on a device: a few small problems through the kernels that a plan is about
 * to use, compared with the reference. Drivers miscompile; a family that fails is out of service for the context.
 */
#ifndef CTN_SELFTEST_H
#define CTN_SELFTEST_H

#include "context.h"
#include "family.h"
#include "sha256.h"

/* Verdicts of one context; thread safe. */
clattn_status ctn_selftests_create(struct selftests **selftests, clattn_error *error);
void ctn_selftests_destroy(struct selftests *selftests);

/* Whether the family is out of service, with the reason. */
bool ctn_selftest_failed(struct selftests *selftests, const struct family *family, struct text *reason);

/*
 * Whether the device family, which takes the request, passes: remembered in the context and on disk by the programs that it was
 * prepared with (a trace of ctn_program_trace), tested where it is not. Failing is logged: it takes the lines of the tuning
 * table that gave the family its sizes out of service, or, where there are none, the family itself. A test that could not be
 * carried out for lack of memory passes, and is not remembered.
 */
bool ctn_selftest_passes(clattn_context *context, const struct request *request, const struct family *family,
                         const struct sha256 *programs);

/* Problem `index` of those that test a request like this one: small, and of the same types, so that it is made from the same
 * programs; all else that those may be told to do is in one or another. *title says what it is. stages: attention's stage
 * tensors may be wanted, which some families have not. False past the last. */
bool ctn_selftest_problem(struct problem *problem, const char **title, const struct request *request, int index, bool stages);
/* Fills the inputs of such a problem, whose memory is in arrays. */
void ctn_selftest_fill(const struct problem *problem, const clattn_arrays *arrays);

#endif
