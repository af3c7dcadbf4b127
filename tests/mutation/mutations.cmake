# The table of mutations: kernels made wrong on purpose, each in one place, and the checks that must notice.
#
#   mutation(name device "what is wrong" file [==[text, once in the file]==] [==[its replacement]==] check...)
#
# device: vector (PoCL: the kernels for CPU devices), tile (Rusticl on llvmpipe: the kernels for GPUs), clblast (there too, with
# CLBlast); fused_vector and fused_tile (the same devices, one kernel instead of three). A check is a case below tests/cases; or
# walkthrough:STEP, a step of `clattn walkthrough`; or operations:TEST, merge:TEST, loops:TEST, fused_borders:TEST, a test of the file of
# that name in tests/numeric. Every check of a mutation must notice, and all are of one kind.

# Which keys count.
mutation(causal_edge vector "causal excludes the query's own position" common/mask.clh
  [==[p.causal && j > position]==] [==[p.causal && j >= position]==]
  extended/causal_top_left extended/gqa_causal)
mutation(causal_offset vector "the query's offset is forgotten" common/mask.clh
  [==[const long position = i + s.query_offset;]==] [==[const long position = i;]==]
  extended/causal_bottom_right extended/causal_offset_negative)
mutation(length_edge vector "one key past the length counts" common/mask.clh
  [==[j >= s.kv_len]==] [==[j > s.kv_len]==]
  extended/mqa_lengths extended/garbage_past_length)
mutation(window_left_edge vector "the window lacks its leftmost key" common/mask.clh
  [==[j < position - p.window_left]==] [==[j <= position - p.window_left]==]
  extended/window_left own/window_narrow)
mutation(window_right_edge vector "the window lacks its rightmost key" common/mask.clh
  [==[j > position + p.window_right]==] [==[j >= position + p.window_right]==]
  extended/window_both own/window_narrow)
mutation(mask_end vector "keys past a short mask's end are read" common/mask.clh
  [==[if (j >= p.mask_kv_len) return true;]==] [==[]==]
  own/mask_short)
mutation(mask_key_stride vector "a mask with one key is read as if it had all" common/mask.clh
  [==[mask_row + j * p.mask_key]==] [==[mask_row + j]==]
  own/mask_key_broadcast)
mutation(mask_row_stride vector "a mask broadcast over heads and batch is read as if it were not" softmax.cl
  [==[b * p.mask_batch + h * p.mask_head]==] [==[bh * p.mask_head]==]
  extended/bias_mask_broadcast)
mutation(mask_finite vector "false in a mask is a low score, not an exclusion" common/mask.clh
  [==[mask[index] ? 0.0f : -INFINITY]==] [==[mask[index] ? 0.0f : -1e4f]==]
  extended/bool_mask_dead_rows)
mutation(mask_bf16 vector "a bf16 mask's bits are taken for an integer" common/mask.clh
  [==[return widen_bf16(mask[index]);]==] [==[return (float)mask[index];]==]
  own/mask_bf16)

# Sequences, and the range of keys that a tile looks at.
mutation(length_batch vector "every batch element has the first one's length" common/attention.clh
  [==[clamp(kv_len[b], 0L, s.kv_rows)]==] [==[clamp(kv_len[0], 0L, s.kv_rows)]==]
  extended/mqa_lengths)
mutation(packed_first vector "a packed sequence starts a row late" common/attention.clh
  [==[s.q_first = clamp(cu_q[b], ]==] [==[s.q_first = clamp(cu_q[b] + 1, ]==]
  extended/packed_causal)
mutation(packed_end vector "a packed sequence goes on into the next" common/attention.clh
  [==[s.kv_rows = clamp(cu_kv[b + 1] - s.kv_first, ]==] [==[s.kv_rows = clamp(cu_kv[b + 1], ]==]
  own/packed_stages)
mutation(range_causal vector "the last key of a block of rows is left out" common/attention.clh
  [==[last + s.query_offset + 1)]==] [==[last + s.query_offset)]==]
  extended/causal_top_left)
mutation(range_left_vector vector "the first key of a window is left out" common/attention.clh
  [==[first + s.query_offset - p.window_left]==] [==[first + s.query_offset - p.window_left + 1]==]
  extended/window_left)
mutation(range_left_tile tile "the first key of a window is left out" common/attention.clh
  [==[first + s.query_offset - p.window_left]==] [==[first + s.query_offset - p.window_left + 1]==]
  own/window_narrow)

# Scores.
mutation(scores_vector_scale vector "the scale is left out of a block's edge" scores_vector.cl
  [==[p.scale * lanes[r * COLUMNS + c] : 0.0f]==] [==[lanes[r * COLUMNS + c] : 0.0f]==]
  extended/plain_edges)
mutation(scores_vector_group vector "heads of a group take turns instead of sharing" scores_vector.cl
  [==[h / p.group * p.k.head]==] [==[h % p.group * p.k.head]==]
  extended/gqa_causal)
mutation(scores_vector_rows vector "the last block of rows is dropped" common/product_vector_nt.clh
  [==[for (int r = 0; r < rows; r += ROW_BLOCK)]==] [==[for (int r = 0; r + ROW_BLOCK <= rows; r += ROW_BLOCK)]==]
  extended/plain_edges extended/one_query)
mutation(scores_vector_depth vector "only the first piece of the terms counts" common/product_vector_nt.clh
  [==[first < terms; first += DEPTH]==] [==[first < 1; first += DEPTH]==]
  own/deep own/deep_bf16)
mutation(scores_tile_rows tile "the last tile of rows is dropped" scores_tile.cl
  [==[if (i < chunk.row + chunk.rows && ]==] [==[if (i < chunk.row + chunk.rows / TILE * TILE && ]==]
  extended/plain_edges)
mutation(scores_tile_depth tile "the last, partial pass over the terms is dropped" common/product_tile.clh
  [==[first < terms; first += DEPTH]==] [==[first + DEPTH <= terms; first += DEPTH]==]
  extended/odd_head_dim own/deep)
mutation(scores_tile_flush tile "a partial sum replaces the sum" common/product_tile.clh
  [==[total[0] += part[0];]==] [==[total[0] = part[0];]==]
  own/deep)

# Softmax.
mutation(softmax_maximum vector "the maximum is not subtracted" softmax.cl
  [==[exp(as_float(bits) - maximum)]==] [==[exp(as_float(bits))]==]
  extended/large_logits extended/plain_edges)
mutation(softmax_sink vector "the sink is left out of the sum" softmax.cl
  [==[sum += sink == maximum ? 1.0f : exp(sink - maximum);]==] [==[sum += 0.0f;]==]
  extended/sinks)
mutation(softmax_sink_row vector "a row that attends nothing forgets its sink" softmax.cl
  [==[p.has_sinks ? sink : -INFINITY;
    lse]==] [==[-INFINITY;
    lse]==]
  own/sinks_edges)
mutation(softmax_lse vector "lse is in powers of two" softmax.cl
  [==[maximum + log(sum)]==] [==[maximum + log2(sum)]==]
  extended/plain_edges)
mutation(softmax_softcap vector "the softcap does not scale back" softmax.cl
  [==[score = p.softcap * tanh(]==] [==[score = tanh(]==]
  extended/softcap)
mutation(softmax_alibi vector "keys after the query come nearer instead of farther" softmax.cl
  [==[(float)abs(i + s.query_offset - j)]==] [==[(float)(i + s.query_offset - j)]==]
  own/alibi_both_sides)
mutation(softmax_reduction tile "a step of the work-group's sum is left out" softmax.cl
  [==[scratch[item] += scratch[item + half_count];]==] [==[scratch[item] += half_count > 1 ? scratch[item + half_count] : 0.0f;]==]
  extended/plain_edges)
mutation(softmax_nan_bits vector "a NaN is taken for the mark of an excluded key" softmax.cl
  [==[isnan(score) ? USUAL_NAN : as_uint(score)]==] [==[as_uint(score)]==]
  own/nan_bits)

# Dropout.
mutation(dropout_scale vector "kept weights are not scaled up" softmax.cl
  [==[? p.keep_scale : 0.0f]==] [==[? 1.0f : 0.0f]==]
  extended/dropout)
mutation(dropout_rounds vector "seven rounds instead of ten" common/philox.clh
  [==[round < 10]==] [==[round < 7]==]
  extended/dropout)
mutation(dropout_edge vector "a number equal to the probability is dropped" common/philox.clh
  [==[* 0x1p-24f >= probability]==] [==[* 0x1p-24f > probability]==]
  own/dropout_counters)
mutation(dropout_seed vector "the upper half of the seed is ignored" common/philox.clh
  [==[(uint2)((uint)seed, (uint)(seed >> 32))]==] [==[(uint2)((uint)seed, 0u)]==]
  own/dropout_counters)

# Values.
mutation(values_vector_excluded vector "excluded NaN counts" values_vector.cl
  [==[if (as_uint(weights[t]) != EXCLUDED_WEIGHT) {]==] [==[{]==]
  extended/nan_only_where_attended own/garbage_in_one_column)
mutation(values_vector_zero vector "an attended NaN is skipped where its weight is 0" values_vector.cl
  [==[as_uint(weights[t]) != EXCLUDED_WEIGHT]==] [==[weights[t] != 0.0f]==]
  own/nan_underflow)
mutation(values_vector_check vector "half of the columns are not looked at for NaN" common/product_vector.clh
  [==[check = fma(packed[2 * t + 1], (vec)(0.0f), check);]==] [==[]==]
  own/garbage_in_one_column)
mutation(values_tile_columns tile "the last, partial tile of columns is dropped" values_tile.cl
  [==[if (j0 + t < high && e0 + e < p.head_dim_v) value]==] [==[if (j0 + t < high && e0 + TILE <= p.head_dim_v) value]==]
  extended/odd_head_dim)
mutation(values_tile_excluded tile "excluded NaN counts" values_tile.cl
  [==[as_uint(weight) != EXCLUDED_WEIGHT ? fma]==] [==[true ? fma]==]
  extended/nan_only_where_attended)
mutation(values_tile_infinite tile "infinities are not looked for" values_tile.cl
  [==[!isfinite(value)]==] [==[isnan(value)]==]
  own/garbage_in_one_column)
mutation(values_tile_flush tile "a partial sum replaces the sum" values_tile.cl
  [==[if ((j0 + DEPTH) % FLUSH == 0) patch]==] [==[if ((j0 + DEPTH) % FLUSH == 0) patch_clear(total), patch]==]
  own/many_keys)
mutation(values_clblast_group clblast "NaN is looked for in another group's values" values_finish.cl
  [==[(b * kv_heads + kv_head) * p.kv_len]==] [==[(b * kv_heads + h % kv_heads) * p.kv_len]==]
  own/nan_groups)
mutation(values_clblast_excluded clblast "excluded NaN counts" values_finish.cl
  [==[ && as_uint(weight[j]) != EXCLUDED_WEIGHT]==] [==[]==]
  extended/nan_only_where_attended)

# Rounding to storage types.
mutation(bf16_cut vector "bf16 is cut instead of rounded" common/types.clh
  [==[bits + 0x7fffu + ((bits >> 16) & 1u)]==] [==[bits]==]
  own/rounding_bf16)
mutation(bf16_ties vector "bf16 ties go up instead of to even" common/types.clh
  [==[bits + 0x7fffu + ((bits >> 16) & 1u)]==] [==[bits + 0x8000u]==]
  own/rounding_bf16)
mutation(f16_cut vector "f16 is cut instead of rounded" common/types.clh
  [==[vstore_half_rte]==] [==[vstore_half_rtz]==]
  own/rounding_f16)

# The layer around attention.
mutation(projection_vector_weight vector "rows of the weight overlap" projection_vector.cl
  [==[(f0 + n * COLUMNS) * in_features + first, in_features,]==] [==[(f0 + n * COLUMNS) * in_features + first, in_features - 1,]==]
  walkthrough:query)
mutation(projection_vector_panel vector "the second panel has the first one's features" projection_vector.cl
  [==[rows, f0 + n * COLUMNS, min]==] [==[rows, f0, min]==]
  operations:test_projection)
mutation(projection_tile_batch tile "every batch element has the first one's rows" projection_tile.cl
  [==[x_offset + b * x_layout.batch]==] [==[x_offset]==]
  walkthrough:query)
mutation(projection_clblast_batch clblast "every batch element has the first one's rows" projection_finish.cl
  [==[(b * length + s) * features]==] [==[s * features]==]
  walkthrough:query)
mutation(projection_vector_bias vector "every vector of features takes the first one's bias" projection_vector.cl
  [==[load_vector(bias, f)]==] [==[load_vector(bias, 0)]==]
  operations:test_projection)
mutation(projection_vector_bias_edge vector "the bias of a panel's last features is left out" projection_vector.cl
  [==[has_bias ? load(bias, feature) : 0.0f]==] [==[0.0f]==]
  operations:test_projection)
mutation(projection_tile_bias tile "every tile of features takes the first one's bias" projection_tile.cl
  [==[load(bias, bias_offset + f)]==] [==[load(bias, bias_offset + f - f0)]==]
  operations:test_projection)
mutation(embedding_tokens vector "64-bit tokens are read as 32-bit ones" embedding.cl
  [==[typedef long token;]==] [==[typedef int token;]==]
  operations:test_embedding)
mutation(embedding_padding vector "padding is looked up" embedding.cl
  [==[} else if (id != padding_id) {]==] [==[} else {]==]
  operations:test_embedding)
mutation(embedding_scale vector "the scale is left out" embedding.cl
  [==[+ id * dim + d) * scale]==] [==[+ id * dim + d)]==]
  walkthrough:embedded)
mutation(position_swapped vector "sine and cosine are swapped" position.cl
  [==[(d & 1) ? cospi]==] [==[!(d & 1) ? cospi]==]
  walkthrough:positional_encoding)
mutation(position_start vector "positions count from 1" position.cl
  [==[(ulong)(start + s)]==] [==[(ulong)(start + s + 1)]==]
  walkthrough:positional_encoding walkthrough:embedded_plus_position)
mutation(position_forgotten vector "the start is forgotten" position.cl
  [==[(ulong)(start + s)]==] [==[(ulong)s]==]
  operations:test_position operations:test_position_far_and_in_place)
mutation(position_angle vector "a large angle is reduced in float32" position.cl
  [==[(float)(long)turn * 0x1p-63f]==] [==[(float)(start + s) * ((float)(long)frequency[d / 2] * 0x1p-63f)]==]
  operations:test_position_far_and_in_place)

# Merging.
mutation(merge_dead vector "parts that attended nothing count" merge.cl
  [==[    if (l != -INFINITY) {]==] [==[    {]==]
  merge:test_special_values)
mutation(merge_maximum vector "the largest lse is not subtracted" merge.cl
  [==[exp(l - largest)]==] [==[exp(l)]==]
  merge:test_special_values)
mutation(merge_sum vector "the parts are not divided by the sum of their weights" merge.cl
  [==[attends ? value / sum : 0.0f]==] [==[attends ? value : 0.0f]==]
  merge:test_split_keys)
mutation(merge_lse vector "the largest lse is left out of the whole's" merge.cl
  [==[largest + log(sum)]==] [==[log(sum)]==]
  merge:test_split_keys)
mutation(merge_first vector "every part has the first one's values" merge.cl
  [==[part_out_offset + (n * rows + row) * dim + d]==] [==[part_out_offset + row * dim + d]==]
  merge:test_split_keys)

# Fused attention.
mutation(fused_vector_rescale fused_vector "earlier blocks are not rescaled to a new maximum" common/lane_block.inc
  [==[ot[WIDTH * r + i] = fma(ot[WIDTH * r + i], factor[i], x[r][i]);]==] [==[ot[WIDTH * r + i] += x[r][i];]==]
  fused_borders:test_rising)
mutation(fused_vector_sum fused_vector "earlier sums are not rescaled to a new maximum" common/lane_block.inc
  [==[g->sum[i] = fma(g->sum[i], factor[i], sum[i]);]==] [==[g->sum[i] += sum[i];]==]
  fused_borders:test_rising)
mutation(fused_vector_below fused_vector "scores may fall below the reference as far as they like" common/lane_group.clh
  [==[bound + g->most <= BOUNDED_BELOW]==] [==[true]==]
  fused_borders:test_rising)
mutation(fused_vector_length fused_vector "only a vector's first lane counts for the length of a key" common/lane_block.clh
  [==[lane < VEC; lane++) last += lanes[lane]]==] [==[lane < 1; lane++) last += lanes[lane]]==]
  fused_borders:test_rising)
mutation(fused_vector_edge fused_vector "a block that a window begins in is taken for plain" fused_vector.cl
  [==[masked || j0 < g->all_low || j0 + count > g->all_high]==] [==[masked || j0 + count > g->all_high]==]
  own/window_left_open)
mutation(fused_vector_excluded fused_vector "excluded NaN counts" common/lane_block.clh
  [==[as_ivec(weight) == (ivec)((int)EXCLUDED_WEIGHT) ? x : ]==] [==[]==]
  extended/nan_only_where_attended)
mutation(fused_vector_group fused_vector "a narrow lane group begins where a wide one would" common/lane_group.clh
  [==[n * LANES - max(n - wide, 0L) * VEC]==] [==[n * LANES]==]
  extended/f16)
mutation(fused_vector_mask_end fused_vector "keys past a short mask's end are read" common/lane_block.clh
  [==[key < p.mask_kv_len ? load_mask]==] [==[true ? load_mask]==]
  own/mask_short)
mutation(fused_vector_mask_four fused_vector "four keys are read where only the stride of one is known" common/lane_block.clh
  [==[p.mask_key == 1 && j + 4]==] [==[p.mask_key <= 1 && j + 4]==]
  own/mask_key_broadcast)
mutation(fused_vector_head fused_vector "every lane has the first row of its group" common/lane_group.clh
  [==[        i++;]==] [==[        i += 0;]==]
  extended/gqa_causal)
mutation(fused_sink fused_vector "a row that attends nothing forgets its sink" common/online.clh
  [==[dead = has_sinks ? sink : nothing;]==] [==[dead = nothing;]==]
  own/sinks_edges)
mutation(fused_tile_sum fused_tile "half of a row is left out of its sum" fused_tile.cl
  [==[(partial[item] + partial[item ^ 1])]==] [==[partial[item]]==]
  extended/plain_edges)
mutation(fused_tile_mask_end fused_tile "keys past a short mask's end are read" fused_tile.cl
  [==[excluded = j >= p.mask_kv_len;]==] [==[excluded = false;]==]
  own/mask_short)
mutation(fused_tile_columns fused_tile "every chunk of columns takes the first one's values" fused_tile.cl
  [==[s.kv_first * p.v.row + e0;]==] [==[s.kv_first * p.v.row;]==]
  extended/wide_head_dim)
mutation(fused_tile_carry_sum fused_tile "a launch forgets the sums of those before" fused_tile.cl
  [==[resumes ? rows[TILE + item] : 0.0f]==] [==[0.0f]==]
  loops:test_launches)
mutation(fused_tile_carry_total fused_tile "a launch forgets the values of those before" fused_tile.cl
  [==[resumes ? carry[(r * COLUMNS + c) * SIDE * SIDE + item] : 0.0f]==] [==[0.0f]==]
  loops:test_launches)
mutation(fused_tile_last_key fused_tile "a launch goes on into the next one's keys" fused_tile.cl
  [==[(int)min(to, last_key)]==] [==[(int)to]==]
  loops:test_launches)
