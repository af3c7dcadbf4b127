/* CLBlast's parameters from the tuning table: checked, and set once a process and device. */
#include "gemm.h"
#include "tuned.h"

#ifdef CLATTN_WITH_CLBLAST
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <clblast_c.h>

/* gemm.c reckons with tiles of that many rows or columns at most. */
enum { LARGEST_TILE = 128 };

/* One set of CLBlast's parameters; the tuning family's parameters are all of them. */
struct set {
  const char *family, *kernel;
  const char *(*fault)(const struct tuning_entry *entry, const clattn_device_info *info);
};

static long get(const struct tuning_entry *entry, const char *name) {
  return ctn_tuning_value(entry, name, 0);
}

static bool power_of_two(long value) {
  return value > 0 && (value & (value - 1)) == 0;
}

/* Whether the entry's values of these names (ended by NULL) are powers of two up to most. */
static bool powers(const struct tuning_entry *entry, const char *const *names, long most) {
  for (; *names != NULL; names++) {
    if (!power_of_two(get(entry, *names)) || get(entry, *names) > most) return false;
  }
  return true;
}

/* A work-group of m x n work-items loads a tile in rows of `loads`: whether that comes out even over `terms` terms. */
static bool loads_fit(long m, long n, long loads, long terms) {
  return m * n % loads == 0 && terms % (m * n / loads) == 0;
}

static const char *routine_fault(const struct tuning_entry *entry, const clattn_device_info *info) {
  (void)entry;
  (void)info;
  return NULL;
}

/* Kernel 0 alone: the other one would read all three matrices in place, see gemm.c. */
static const char *xgemm_fault(const struct tuning_entry *e, const clattn_device_info *info) {
  static const char *const tiles[] = {"MWG", "NWG", "KWG", "MDIMC", "NDIMC", "MDIMA", "NDIMB", "KWI", NULL};
  static const char *const vectors[] = {"VWM", "VWN", NULL};
  if (get(e, "GEMMK") != 0 || get(e, "KREG") != 1) return "GEMMK has to be 0 and KREG 1";
  if (!powers(e, tiles, LARGEST_TILE) || !powers(e, vectors, 16)) return "a size is no power of two up to 128 (VWM, VWN: 16)";
  if (get(e, "SA") > 1 || get(e, "SB") > 1 || get(e, "STRM") > 1 || get(e, "STRN") > 1) {
    return "SA, SB, STRM and STRN are 0 or 1";
  }
  const long m = get(e, "MDIMC"), n = get(e, "NDIMC"), terms = get(e, "KWG");
  if (get(e, "MWG") % (m * get(e, "VWM")) != 0 || get(e, "MWG") % (get(e, "MDIMA") * get(e, "VWM")) != 0) {
    return "MDIMC * VWM and MDIMA * VWM have to divide MWG";
  }
  if (get(e, "NWG") % (n * get(e, "VWN")) != 0 || get(e, "NWG") % (get(e, "NDIMB") * get(e, "VWN")) != 0) {
    return "NDIMC * VWN and NDIMB * VWN have to divide NWG";
  }
  if (terms % get(e, "KWI") != 0 || terms % get(e, "VWM") != 0) return "KWI and VWM have to divide KWG";
  if (!loads_fit(m, n, get(e, "MDIMA"), terms) || !loads_fit(m, n, get(e, "NDIMB"), terms)) {
    return "MDIMC * NDIMC / MDIMA and MDIMC * NDIMC / NDIMB have to be whole and divide KWG";
  }
  if ((uint64_t)(m * n) > info->max_work_group) return "MDIMC * NDIMC work-items are more than the device's work-groups have";
  const long bytes = 4 * terms * (get(e, "SA") * get(e, "MWG") + get(e, "SB") * get(e, "NWG"));
  return (uint64_t)bytes > info->local_memory ? "the tiles need more local memory than the device has" : NULL;
}

static const char *direct_fault(const struct tuning_entry *e, const clattn_device_info *info) {
  static const char *const tiles[] = {"WGD", "MDIMCD", "NDIMCD", "MDIMAD", "NDIMBD", "KWID", NULL};
  static const char *const vectors[] = {"VWMD", "VWND", NULL};
  if (!powers(e, tiles, LARGEST_TILE) || !powers(e, vectors, 8)) return "a size is no power of two up to 128 (VWMD, VWND: 8)";
  if (get(e, "PADA") > 1 || get(e, "PADB") > 1) return "PADA and PADB are 0 or 1";
  const long tile = get(e, "WGD"), m = get(e, "MDIMCD"), n = get(e, "NDIMCD");
  if (tile % get(e, "KWID") != 0) return "KWID has to divide WGD";
  if (tile % (m * get(e, "VWMD")) != 0 || tile % (get(e, "MDIMAD") * get(e, "VWMD")) != 0 || tile % (n * get(e, "VWND")) != 0 ||
      tile % (get(e, "NDIMBD") * get(e, "VWND")) != 0) {
    return "MDIMCD * VWMD, MDIMAD * VWMD, NDIMCD * VWND and NDIMBD * VWND have to divide WGD";
  }
  if (!loads_fit(m, n, get(e, "MDIMAD"), tile) || !loads_fit(m, n, get(e, "NDIMBD"), tile)) {
    return "MDIMCD * NDIMCD / MDIMAD and MDIMCD * NDIMCD / NDIMBD have to be whole and divide WGD";
  }
  if ((uint64_t)(m * n) > info->max_work_group) return "MDIMCD * NDIMCD work-items are more than the device's work-groups have";
  const long bytes = 4 * tile * (2 * tile + get(e, "PADA") + get(e, "PADB"));
  return (uint64_t)bytes > info->local_memory ? "the tiles need more local memory than the device has" : NULL;
}

static const struct set sets[] = {{"clblast_routine", "GemmRoutine", routine_fault},
                                  {"clblast_xgemm", "Xgemm", xgemm_fault},
                                  {"clblast_xgemm_direct", "XgemmDirect", direct_fault}};
enum { SETS = sizeof sets / sizeof sets[0] };

/* What is set for a device and kernel, for as long as the process lives. */
struct applied {
  struct applied *next;
  cl_device_id device;
  const struct set *set;
  long values[TUNING_VALUES];
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct applied *first;

/* The values in the family's order. */
static void list_values(const struct tuning_entry *entry, size_t values[TUNING_VALUES], int *count) {
  for (*count = 0; entry->family->parameters[*count] != NULL; ++*count)
    values[*count] = (size_t)get(entry, entry->family->parameters[*count]);
}

static const struct applied *find(cl_device_id device, const struct set *set) {
  const struct applied *at = first;
  while (at != NULL && (at->device != device || at->set != set))
    at = at->next;
  return at;
}

static bool equal(const struct applied *applied, const size_t *values, int count) {
  for (int i = 0; i < count; i++) {
    if (applied->values[i] != (long)values[i]) return false;
  }
  return true;
}

/* Whether CLBlast now has the entry's values; otherwise it is refused. With the lock held. */
static bool apply(struct runtime *runtime, const struct set *set, struct tuning_entry *entry) {
  size_t values[TUNING_VALUES];
  int count = 0;
  if (entry->count == 0) return true; /* CLBlast's own, in place of a line of lower rank */
  list_values(entry, values, &count);
  const char *fault = entry->count < count ? "not all of its parameters are there" : set->fault(entry, &runtime->device.info);
  if (fault != NULL) {
    ctn_tuned_refuse(runtime, entry, fault);
    return false;
  }
  const struct applied *before = find(runtime->device.id, set);
  if (before != NULL) {
    const bool same = equal(before, values, count);
    if (!same) {
      ctn_tuned_refuse(runtime, entry, "CLBlast has other parameters for this device already, and keeps them for the process");
    }
    return same;
  }
  struct applied *made = calloc(1, sizeof *made);
  if (made == NULL) {
    ctn_tuned_refuse(runtime, entry, "no memory");
    return false;
  }
  const CLBlastStatusCode code =
      CLBlastOverrideParameters(runtime->device.id, set->kernel, CLBlastPrecisionSingle, (size_t)count,
                                (const char **)(uintptr_t)entry->family->parameters, values);
  if (code != CLBlastSuccess) {
    ctn_tuned_refuse(runtime, entry, "CLBlast does not take the parameters");
    free(made);
    return false;
  }
  made->device = runtime->device.id;
  made->set = set;
  for (int i = 0; i < count; i++)
    made->values[i] = (long)values[i];
  made->next = first;
  first = made;
  return true;
}

void ctn_gemm_tune(struct runtime *runtime) {
  if (atomic_load(&runtime->tuned_clblast)) return;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < SETS && !atomic_load(&runtime->tuned_clblast); i++) {
    struct tuning_entry *entry = NULL;
    do {
      entry = ctn_tuning_find(&runtime->tuning, sets[i].family, CLATTN_F32, 0);
    } while (entry != NULL && !apply(runtime, &sets[i], entry));
  }
  atomic_store(&runtime->tuned_clblast, true);
  pthread_mutex_unlock(&lock);
}

void ctn_gemm_describe_tuning(const struct runtime *runtime, struct text *text) {
  for (int i = 0; i < SETS; i++) {
    const struct tuning_entry *entry = ctn_tuning_find(&runtime->tuning, sets[i].family, CLATTN_F32, 0);
    if (entry == NULL) continue;
    ctn_text_printf(text, "tuned: %s ", sets[i].family);
    ctn_tuned_print(entry, text);
    ctn_text_printf(text, "\n");
  }
}

#else

void ctn_gemm_tune(struct runtime *runtime) {
  (void)runtime;
}

void ctn_gemm_describe_tuning(const struct runtime *runtime, struct text *text) {
  (void)runtime;
  (void)text;
}

#endif
