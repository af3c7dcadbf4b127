/* The names under which frameworks store a layer's weights, and the tensors of a file that bear them. */
#include <stdio.h>
#include <string.h>

#include "checkpoint.h"

enum { MOST_OUT_NAMES = 3, NAME_SIZE = 512 };

/* One framework's way. A weight's bias has ".bias" where the weight has ".weight", unless packed_bias names one for all three.
 */
struct naming {
  const char *in[3]; /* q, k and v; or the packed one alone */
  const char *packed_bias;
  const char *out[MOST_OUT_NAMES];
  bool transposed;
};

static const struct naming namings[] = {
    {{"in_proj_weight"}, "in_proj_bias", {"out_proj.weight"}, false},
    {{"q_proj_weight", "k_proj_weight", "v_proj_weight"}, "in_proj_bias", {"out_proj.weight"}, false},
    {{"q_proj.weight", "k_proj.weight", "v_proj.weight"}, NULL, {"o_proj.weight", "out_proj.weight", "dense.weight"}, false},
    {{"attention.self.query.weight", "attention.self.key.weight", "attention.self.value.weight"},
     NULL,
     {"attention.output.dense.weight"},
     false},
    {{"self.query.weight", "self.key.weight", "self.value.weight"}, NULL, {"output.dense.weight"}, false},
    {{"attention.query.weight", "attention.key.weight", "attention.value.weight"}, NULL, {"output.dense.weight"}, false},
    {{"query.weight", "key.weight", "value.weight"}, NULL, {"output.dense.weight", "out.weight"}, false},
    {{"q_lin.weight", "k_lin.weight", "v_lin.weight"}, NULL, {"out_lin.weight"}, false},
    {{"to_q.weight", "to_k.weight", "to_v.weight"}, NULL, {"to_out.0.weight", "to_out.weight"}, false},
    {{"to_qkv.weight"}, NULL, {"to_out.0.weight", "to_out.weight"}, false},
    {{"wq.weight", "wk.weight", "wv.weight"}, NULL, {"wo.weight"}, false},
    {{"q.weight", "k.weight", "v.weight"}, NULL, {"o.weight"}, false},
    {{"qkv_proj.weight"}, NULL, {"o_proj.weight", "out_proj.weight"}, false},
    {{"qkv.weight"}, NULL, {"proj.weight", "out_proj.weight"}, false},
    {{"Wqkv.weight"}, NULL, {"out_proj.weight", "Wo.weight"}, false},
    {{"c_attn.weight"}, NULL, {"c_proj.weight"}, true},
};

enum { NAMINGS = sizeof namings / sizeof namings[0] };

/* What the layer would have to compute otherwise. */
static const char *const unusable[] = {
    "bias_k",        "bias_v",        "q_norm.weight", "k_norm.weight", "q_layernorm.weight", "k_layernorm.weight",
    "norm_q.weight", "norm_k.weight", "sinks"};

/* The tensor of that name after the prefix, or NULL. */
static const struct st_tensor *look_up(const struct checkpoint *c, const char *name) {
  const char *prefix = c->prefix != NULL ? c->prefix : "";
  const size_t length = strlen(prefix);
  for (size_t i = 0; i < c->file.count; i++) {
    const char *at = c->file.tensors[i].name;
    if (strncmp(at, prefix, length) != 0) continue;
    at += length;
    if (length > 0 && prefix[length - 1] != '.' && *at++ != '.') continue;
    if (strcmp(at, name) == 0) return &c->file.tensors[i];
  }
  return NULL;
}

/* What is printed before a name: the prefix with its dot. */
#define PREFIX_FORMAT "%.200s%s"
static const char *dot(const struct checkpoint *c) {
  const size_t length = c->prefix != NULL ? strlen(c->prefix) : 0;
  return length > 0 && c->prefix[length - 1] != '.' ? "." : "";
}
#define PREFIX(c) ((c)->prefix != NULL ? (c)->prefix : ""), dot(c)

static int in_count(const struct naming *naming) {
  return naming->in[1] != NULL ? 3 : 1;
}

/* The first of a naming's input weights that is there, or NULL. */
static const char *present(const struct checkpoint *c, const struct naming *naming) {
  for (int i = 0; i < in_count(naming); i++) {
    if (look_up(c, naming->in[i]) != NULL) return naming->in[i];
  }
  return NULL;
}

/* A prefix under which some tensor of the file would be found, for the error's text. */
static bool suggest(const struct checkpoint *c, char text[NAME_SIZE]) {
  for (size_t i = 0; i < c->file.count; i++) {
    const char *name = c->file.tensors[i].name;
    for (int n = 0; n < NAMINGS; n++) {
      const size_t length = strlen(name), tail = strlen(namings[n].in[0]);
      if (length <= tail || length >= NAME_SIZE || strcmp(name + length - tail, namings[n].in[0]) != 0) continue;
      if (name[length - tail - 1] != '.') continue;
      snprintf(text, NAME_SIZE, "%.*s", (int)(length - tail), name);
      return true;
    }
  }
  return false;
}

static clattn_status fail_nothing(const struct checkpoint *c, clattn_error *error) {
  struct text names = {0};
  char prefix[NAME_SIZE];
  for (int n = 0; n < NAMINGS; n++)
    ctn_text_printf(&names, "%s%s", n > 0 ? ", " : "", namings[n].in[0]);
  const bool known = suggest(c, prefix);
  clattn_status status =
      ctn_fail(error, CLATTN_INVALID_ARGUMENT,
               "%.200s: no query weights under the prefix '%.100s' among its %zu tensors%s%.150s%s; accepted are %.450s",
               c->path, c->prefix != NULL ? c->prefix : "", c->file.count, known ? " (but under '" : "", known ? prefix : "",
               known ? "')" : "", names.data != NULL ? names.data : "");
  ctn_text_free(&names);
  return status;
}

static clattn_status choose(const struct checkpoint *c, const struct naming **chosen, clattn_error *error) {
  const char *found = NULL;
  for (int n = 0; n < NAMINGS; n++) {
    const char *name = present(c, &namings[n]);
    if (name != NULL && found != NULL) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                      "%.200s: both '" PREFIX_FORMAT "%s' and '" PREFIX_FORMAT
                      "%s' are there, each a name for the query weights: one is accepted",
                      c->path, PREFIX(c), found, PREFIX(c), name);
    }
    if (name == NULL) continue;
    found = name;
    *chosen = &namings[n];
  }
  return found != NULL ? CLATTN_OK : fail_nothing(c, error);
}

static clattn_status find_in(struct checkpoint *c, const struct naming *naming, clattn_error *error) {
  const int count = in_count(naming);
  for (int i = 0; i < count; i++) {
    const struct st_tensor *tensor = look_up(c, naming->in[i]);
    if (tensor == NULL) {
      return ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                      "%.200s: no tensor '" PREFIX_FORMAT "%s', but '%s' is there: accepted beside it are '%s', '%s' and '%s'",
                      c->path, PREFIX(c), naming->in[i], present(c, naming), naming->in[0], naming->in[1], naming->in[2]);
    }
    c->weight[count == 1 ? W_IN : i] = tensor;
  }
  return CLATTN_OK;
}

static clattn_status find_out(struct checkpoint *c, const struct naming *naming, const char **name, clattn_error *error) {
  struct text accepted = {0};
  clattn_status status = CLATTN_OK;
  *name = NULL;
  for (int i = 0; i < MOST_OUT_NAMES && naming->out[i] != NULL; i++) {
    const struct st_tensor *tensor = look_up(c, naming->out[i]);
    ctn_text_printf(&accepted, "%s'%s'", i > 0 ? " or " : "", naming->out[i]);
    if (tensor == NULL) continue;
    if (*name != NULL && status == CLATTN_OK) {
      status = ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                        "%.200s: both '" PREFIX_FORMAT "%s' and '" PREFIX_FORMAT
                        "%s' are there, each a name for the output weights: one is accepted",
                        c->path, PREFIX(c), *name, PREFIX(c), naming->out[i]);
    }
    *name = naming->out[i];
    c->weight[W_OUT] = tensor;
  }
  if (*name == NULL) {
    status = ctn_fail(error, CLATTN_INVALID_ARGUMENT,
                      "%.200s: no output weights under '" PREFIX_FORMAT "': with '%s' they are accepted as %s", c->path,
                      PREFIX(c), present(c, naming), accepted.data != NULL ? accepted.data : "");
  }
  ctn_text_free(&accepted);
  return status;
}

/* The bias beside a weight, or NULL. */
static const struct st_tensor *bias_of(const struct checkpoint *c, const char *weight) {
  char name[64];
  const size_t length = strlen(weight), tail = strlen("weight");
  if (length < tail + 1 || length >= sizeof name || weight[length - tail - 1] != '.') return NULL;
  snprintf(name, sizeof name, "%.*sbias", (int)(length - tail), weight);
  return look_up(c, name);
}

clattn_status ctn_checkpoint_find(struct checkpoint *c, clattn_error *error) {
  const struct naming *naming = NULL;
  const char *out = NULL;
  clattn_status status = choose(c, &naming, error);
  if (status == CLATTN_OK) status = find_in(c, naming, error);
  if (status == CLATTN_OK) status = find_out(c, naming, &out, error);
  if (status != CLATTN_OK) return status;
  for (size_t i = 0; i < sizeof unusable / sizeof unusable[0]; i++) {
    if (look_up(c, unusable[i]) == NULL) continue;
    return ctn_fail(error, CLATTN_UNSUPPORTED,
                    "%.200s: the layer has a tensor '" PREFIX_FORMAT "%s', which this one cannot use", c->path, PREFIX(c),
                    unusable[i]);
  }
  c->transposed = naming->transposed;
  if (naming->packed_bias != NULL) {
    c->bias[W_IN] = look_up(c, naming->packed_bias);
  } else {
    for (int i = 0; i < in_count(naming); i++)
      c->bias[in_count(naming) == 1 ? W_IN : i] = bias_of(c, naming->in[i]);
  }
  c->bias[W_OUT] = bias_of(c, out);
  return CLATTN_OK;
}
