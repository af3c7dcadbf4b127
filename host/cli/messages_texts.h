/* The messages: MESSAGE(id, English, Korean). Included by messages.[ch] with MESSAGE defined, hence without a guard. Formats
 * take the same conversions in the same order in both languages. */

/* --------------------------------------------------------------------------------------------------------------- the header */
MESSAGE(HEADER, "clattn %s walkthrough, example \"%s\": %s", "clattn %s 단계별 풀이, 예제 \"%s\": %s")
MESSAGE(SUMMARY_SENTENCES, "attention over four Korean sentences", "한국어 문장 네 개로 보는 어텐션")
MESSAGE(SUMMARY_OWN, "attention over your own sentences", "내 문장으로 보는 어텐션")
MESSAGE(HEADER_OWN, "clattn %s walkthrough, \"%s\": %s", "clattn %s 단계별 풀이, \"%s\": %s")
MESSAGE(MODEL, "model", "모델")
MESSAGE(MODEL_ONE_HEAD, "d_model %lld, one head", "d_model %lld, 헤드 1개")
MESSAGE(MODEL_HEADS, "d_model %lld, %d heads of %lld columns each", "d_model %lld, 헤드 %d개(헤드마다 열 %lld개)")
MESSAGE(MODEL_CAUSAL, "causal mask", "인과 마스크")
MESSAGE(MODEL_RANDOM, "embedding table and weights: random, from seed %llu", "임베딩 표와 가중치: 시드 %llu에서 만든 난수")
MESSAGE(MODEL_FILE, "embedding table and weights: %s", "임베딩 표와 가중치: %s")
MESSAGE(SUMMARY_WORDS, "attention over three Korean words, partly by hand", "한국어 단어 세 개로 보는 어텐션, 일부는 손계산")
MESSAGE(DEVICE, "device", "장치")
MESSAGE(PATH, "path", "경로")
MESSAGE(CHECK, "check", "검증")
MESSAGE(DEVICE_NONE, "none: the host's own processor computes, without OpenCL",
        "없음: OpenCL 없이 호스트의 프로세서가 계산합니다")
MESSAGE(DEVICE_NAME, "%s (%s, OpenCL platform %s)", "%s (%s, OpenCL 플랫폼 %s)")
MESSAGE(DEVICE_UNUSED, "opened, but not used: the host's own processor computes every step",
        "열었지만 쓰지 않음: 모든 단계를 호스트의 프로세서가 계산합니다")
MESSAGE(DEVICE_AND_HOST, "and the host's own processor for what \"path\" says",
        "\"경로\"에 적힌 연산은 호스트의 프로세서가 계산합니다")
MESSAGE(TYPE_DEVICE, "device", "장치")
MESSAGE(TYPE_GPU, "GPU", "GPU")
MESSAGE(TYPE_ACCELERATOR, "accelerator", "가속기")
MESSAGE(TYPE_CPU, "CPU", "CPU")
MESSAGE(TYPE_HOST, "host", "호스트")
MESSAGE(PATH_CPU, "float32 on the host's threads, no OpenCL", "호스트의 스레드에서 float32로 계산, OpenCL 없음")
MESSAGE(PATH_REFERENCE, "float64 on the host, plain loops", "호스트에서 단순한 반복문으로 float64 계산")
MESSAGE(PATH_STAGED, "OpenCL kernels, one for each step, so that every step can be read",
        "단계마다 별도의 OpenCL 커널을 실행하므로 모든 단계의 값을 읽을 수 있음")
MESSAGE(PATH_OPERATIONS, "for %s", "해당 연산: %s")
MESSAGE(CHECK_STORED,
        "each step is compared with the float64 reference, which the host computes from the same inputs, and with the "
        "example's stored values; up to %.0e apart they agree",
        "각 단계를 호스트가 같은 입력으로 계산한 float64 기준값, 그리고 예제에 저장된 값과 비교합니다. 차이가 %.0e 이하이면 "
        "일치로 봅니다")
MESSAGE(
    CHECK_OWN,
    "each step is compared with the float64 reference, which the host computes from the same inputs; there are no stored "
    "values for your own input. Up to %.0e apart they agree; where scores or results are larger than 1, up to that much "
    "in proportion",
    "각 단계를 호스트가 같은 입력으로 계산한 float64 기준값과 비교합니다. 직접 준 입력에는 저장된 값이 없습니다. 차이가 %.0e "
    "이하이면 일치로 봅니다. 점수나 결과가 1보다 크면 그 크기에 비례합니다")
MESSAGE(CHECK_CHANGED,
        "(the example's values are stored for one head and without a causal mask: the steps that --heads and --causal change "
        "are compared with the reference alone)",
        "(예제의 값은 헤드 하나에 인과 마스크 없이 저장된 것이므로 --heads와 --causal로 달라지는 단계는 기준값과만 비교합니다)")
MESSAGE(CHECK_NOTHING, "(the reference is the path that runs: nothing else checks it)",
        "(기준 구현 자체를 실행하므로 따로 검증되지 않습니다)")
MESSAGE(CHECK_ONLY_STORED, "(the reference is the path that runs: only the stored values check it)",
        "(기준 구현 자체를 실행하므로 저장된 값과의 비교만 검증이 됩니다)")

/* --------------------------------------------------------------------------------------------- checks and the closing line */
MESSAGE(DIFFERENCE_STORED, "largest difference: reference %.1e, stored values %.1e: %s",
        "최대 차이: 기준값 %.1e, 저장값 %.1e: %s")
MESSAGE(DIFFERENCE_REFERENCE, "largest difference: reference %.1e (no stored values): %s",
        "최대 차이: 기준값 %.1e (저장값 없음): %s")
MESSAGE(AGREES, "ok", "일치")
MESSAGE(TOO_FAR, "TOO FAR", "차이가 너무 큼")
MESSAGE(OTHER_DIGITS, "(%d of %lld figures end in another digit than the stored ones: float32 rounding)",
        "(%d/%lld개 숫자의 끝자리가 저장값과 다름: float32 반올림)")
MESSAGE(CLOSING, "Largest difference of all %d steps: %.1e (%s).", "전체 %d단계의 최대 차이: %.1e (%s).")
MESSAGE(CLOSING_OWN, "Of all %d steps %s comes closest to what is allowed, with a difference of %.1e.",
        "전체 %d단계 가운데 허용 범위에 가장 가까운 것은 %s 단계이며 차이는 %.1e입니다.")
MESSAGE(CLOSING_AGREES_OWN, "Every step agrees within what is allowed.", "모든 단계가 허용 범위 안에서 일치합니다.")
MESSAGE(CLOSING_AGREES, "Every step agrees within %.0e.", "모든 단계가 %.0e 이내로 일치합니다.")
MESSAGE(CLOSING_TOO_FAR, "That is MORE than the %.0e allowed.", "허용 범위(%.0e)를 넘었습니다.")

/* ------------------------------------------------------------------------------------------------------ what is left out */
MESSAGE(MORE_ROW, "... 1 more row (computed and checked, not printed)", "... 행 1개 더 있음 (계산하고 검증했으나 생략)")
MESSAGE(MORE_ROWS, "... %lld more rows (computed and checked, not printed)", "... 행 %lld개 더 있음 (계산하고 검증했으나 생략)")
MESSAGE(MORE_COLUMN, "... 1 more column (computed and checked, not printed)", "... 열 1개 더 있음 (계산하고 검증했으나 생략)")
MESSAGE(MORE_COLUMNS, "... %lld more columns (computed and checked, not printed)",
        "... 열 %lld개 더 있음 (계산하고 검증했으나 생략)")
MESSAGE(MORE_TABLE, "... 1 more table (computed and checked, not printed)", "... 표 1개 더 있음 (계산하고 검증했으나 생략)")
MESSAGE(MORE_TABLES, "... %lld more tables (computed and checked, not printed)",
        "... 표 %lld개 더 있음 (계산하고 검증했으나 생략)")
MESSAGE(MORE_WORD, "... 1 more word", "... 단어 1개 더 있음")
MESSAGE(MORE_WORDS, "... %lld more words", "... 단어 %lld개 더 있음")
MESSAGE(MORE_WORD_OF_EACH, "... 1 more word of each sentence", "... 문장마다 단어 1개 더 있음")
MESSAGE(MORE_WORDS_OF_EACH, "... %lld more words of each sentence", "... 문장마다 단어 %lld개 더 있음")
MESSAGE(MORE_SENTENCE, "... 1 more sentence", "... 문장 1개 더 있음")
MESSAGE(MORE_SENTENCES, "... %lld more sentences", "... 문장 %lld개 더 있음")
MESSAGE(MORE_TERMS, "... (%d more terms)", "... (항 %d개 더)")

/* --------------------------------------------------------------------------------------------------- words used in tables */
MESSAGE(HEAD, "head %d", "헤드 %d")
MESSAGE(SENTENCE_HEAD, "sentence %d, head %d", "문장 %d, 헤드 %d")
MESSAGE(BY_HAND, "by hand", "손계산")
MESSAGE(SUM, "sum", "합")
MESSAGE(QUERY_KEY, "query \\ key", "쿼리 \\ 키")
MESSAGE(QUERY, "query", "쿼리")
MESSAGE(SENTENCE, "sentence", "문장")
MESSAGE(WORD, "word", "단어")
MESSAGE(TOKEN_ID, "token id", "토큰 번호")
MESSAGE(ATTENDED, "attended to", "주목 대상")
MESSAGE(YES, "yes", "예")
MESSAGE(NO, "NO", "아니요")
MESSAGE(POSITION, "position %d", "위치 %d")
MESSAGE(WITHOUT, "without", "없이")
MESSAGE(WITH, "with", "적용")
MESSAGE(CHANGE, "change", "변화")
MESSAGE(WITHOUT_MASK, "without mask", "마스크 없이")
MESSAGE(WITH_MASK, "with mask", "마스크 적용")
MESSAGE(SHAPE, "shape", "형상")

/* ---------------------------------------------------------------------------------------- the sentences: sections 1 to 5 */
MESSAGE(TITLE_INPUT, "Input: sentences become numbers", "입력: 문장을 숫자로")
MESSAGE(TEXT_INPUT,
        "Every word of the vocabulary has a number, its token id. A sentence that is shorter than the others is filled up "
        "with [PAD] (id %d), so that all of them fit one rectangle: the batch.",
        "어휘의 모든 단어에는 번호, 곧 토큰 번호가 있습니다. 다른 문장보다 짧은 문장은 [PAD](번호 %d)로 채워서 모든 문장이 "
        "하나의 직사각형, 곧 배치에 들어가게 합니다.")
MESSAGE(SHAPE_TOKENS, "tokens [%d, %d]: %d sentences (B) of %d words (S)",
        "tokens [%d, %d]: 문장 %d개(B), 문장마다 단어 %d개(S)")
MESSAGE(TITLE_EMBEDDING, "Embedding: numbers become vectors", "임베딩: 숫자를 벡터로")
MESSAGE(TEXT_EMBEDDING,
        "A token id picks its row of the embedding table E: %d numbers (d_model, D) that stand for the word. The row is "
        "multiplied by sqrt(d_model), so that the positions added next do not drown it. [PAD] is all zeros.",
        "토큰 번호로 임베딩 표 E에서 행 하나를 고릅니다. 그 행에 있는 숫자 %d개(d_model, D)가 단어를 나타냅니다. 다음에 더할 "
        "위치 정보에 묻히지 않도록 행에 sqrt(d_model)을 곱합니다. [PAD]는 모두 0입니다.")
MESSAGE(PART_EMBEDDING, "Embedding", "임베딩")
MESSAGE(HAND_ID, "id", "번호")
MESSAGE(TITLE_POSITION, "Positional encoding: where a word stands", "위치 인코딩: 단어가 놓인 자리")
MESSAGE(TEXT_POSITION,
        "Attention itself does not see the order of the words. Waves of different lengths, one pair of dimensions each, give "
        "every position its own pattern, which is added to the word's vector.",
        "어텐션 자체는 단어의 순서를 알지 못합니다. 파장이 서로 다른 파동을 차원 두 개마다 하나씩 써서 위치마다 고유한 무늬를 "
        "만들고, 이를 단어의 벡터에 더합니다.")
MESSAGE(PART_POSITION, "3a  Positional encoding", "3a  위치 인코딩")
MESSAGE(PART_SUM, "3b  Sum", "3b  합")
MESSAGE(POSITIONS_IN_USE, "(%lld positions are computed and checked; these are the %d in use)",
        "(위치 %lld개를 계산하고 검증했으며, 여기에는 쓰이는 %d개만 보입니다)")
MESSAGE(TITLE_PROJECTIONS, "Query, key and value: three views of each word", "쿼리, 키, 값: 단어를 보는 세 가지 시선")
MESSAGE(TEXT_PROJECTIONS,
        "Three learned matrices turn each word's vector into what it looks for (query), what it can be found by (key), and "
        "what it has to say (value). All three are stored as [out, in], hence ^T.",
        "학습된 행렬 세 개가 단어의 벡터를 그 단어가 찾는 것(쿼리), 그 단어를 찾게 해 주는 것(키), 그 단어가 전하는 것(값)으로 "
        "바꿉니다. 세 행렬 모두 [out, in] 순서로 저장되어 있으므로 ^T가 붙습니다.")
MESSAGE(
    TEXT_HEADS,
    "Their %d columns are split among %d heads, %d columns each: head 1 has the columns h1.d0, h1.d1, and so on. Each head "
    "attends for itself, and the outputs of all heads stand side by side again.",
    "%d개의 열을 헤드 %d개가 %d개씩 나누어 가집니다. 헤드 1의 열은 h1.d0, h1.d1, ...입니다. 헤드마다 따로 어텐션을 계산하고, "
    "모든 헤드의 출력을 다시 나란히 놓습니다.")
MESSAGE(PART_4_QUERY, "4a  Query", "4a  쿼리")
MESSAGE(PART_4_KEY, "4b  Key", "4b  키")
MESSAGE(PART_4_VALUE, "4c  Value", "4c  값")
MESSAGE(TITLE_PADDING_MASK, "Padding mask: [PAD] is no word", "패딩 마스크: [PAD]는 단어가 아님")
MESSAGE(TITLE_MASKS, "Masks: which keys may be attended to", "마스크: 주목해도 되는 키")
MESSAGE(NO_PADDING, "No sentence has [PAD], so this mask excludes nothing.",
        "[PAD]가 있는 문장이 없으므로 이 마스크는 아무것도 제외하지 않습니다.")
MESSAGE(PART_5_PADDING, "5a  Padding mask", "5a  패딩 마스크")
MESSAGE(PART_5_CAUSAL, "5b  Causal mask", "5b  인과 마스크")
MESSAGE(FORMULA_CAUSAL_MASK, "attended to = (key <= query)", "주목 대상 = (키 위치 <= 쿼리 위치)")
MESSAGE(TEXT_CAUSAL_MASK,
        "A word may attend to itself and to the words before it, not to later ones. By position, the same for every sentence "
        "and every head. A key counts where both masks allow it.",
        "단어는 자기 자신과 앞선 단어에만 주목할 수 있고 뒤에 오는 단어에는 주목할 수 없습니다. 위치로만 정해지므로 모든 "
        "문장과 모든 "
        "헤드에 똑같이 적용됩니다. 두 마스크가 모두 허용하는 키만 주목 대상입니다.")
MESSAGE(
    TEXT_PADDING_MASK,
    "The mask says which keys may be attended to. It has the shape [B, 1, 1, S] = [%d, 1, 1, %d]: the same for every head "
    "and every query row of a sentence, so it strikes out whole columns of the scores.",
    "마스크는 어떤 키에 주목해도 되는지를 나타냅니다. 형상은 [B, 1, 1, S] = [%d, 1, 1, %d]입니다. 한 문장의 모든 헤드와 모든 "
    "쿼리 행에 똑같이 적용되므로 점수 행렬의 열 전체를 지우게 됩니다.")
MESSAGE(PART_PADDING_MASK, "Padding mask", "패딩 마스크")
MESSAGE(FORMULA_PADDING_MASK, "attended to = (token is not [PAD])", "주목 대상 = ([PAD]가 아닌 토큰)")

/* --------------------------------------------------------------------------------------- the sentences: sections 6 to 10 */
MESSAGE(TITLE_UNMASKED, "Attention without the mask, step by step", "마스크 없는 어텐션, 한 단계씩")
MESSAGE(TEXT_UNMASKED,
        "Every word (query) asks every word (key) of its sentence how well they fit. The answers become weights, and the "
        "output is the weighted mean of the values.",
        "각 단어(쿼리)가 같은 문장의 모든 단어(키)에게 서로 얼마나 잘 맞는지 묻습니다. 그 답이 가중치가 되고, 출력은 값의 가중 "
        "평균입니다.")
MESSAGE(PART_6_RAW, "6a  Raw scores", "6a  원점수")
MESSAGE(PART_6_SCALED, "6b  Scaled scores", "6b  스케일한 점수")
MESSAGE(TEXT_SCALED,
        "Long vectors give large products, which would make the softmax all or nothing: so divide by sqrt(%d) = %.*f.",
        "벡터가 길면 내적이 커져서 소프트맥스가 한쪽으로 완전히 쏠립니다. 그래서 sqrt(%d) = %.*f로 나눕니다.")
MESSAGE(PART_6_WEIGHTS, "6c  Weights", "6c  가중치")
MESSAGE(FORMULA_WEIGHTS, "weights = softmax(scaled), row by row", "weights = softmax(scaled), 행마다")
MESSAGE(TEXT_SOFTMAX, "softmax(s)_j = exp(s_j - m) / sum_k exp(s_k - m) with m = max(s): positive, with the sum 1.",
        "softmax(s)_j = exp(s_j - m) / sum_k exp(s_k - m), m = max(s): 모두 양수이고 합은 1입니다.")
MESSAGE(HAND_MAXIMUM, "query %s: the largest score of its row is m = %.4f, so exp(s - m) =",
        "쿼리 %s: 행에서 가장 큰 점수가 m = %.4f이므로 exp(s - m) =")
MESSAGE(HAND_HEAD, " (head %d)", " (헤드 %d)")
MESSAGE(HAND_SUM, "their sum is %.*f,", "그 합은 %.*f,")
MESSAGE(HAND_WEIGHT, "so the weight of %s = ", "따라서 '%s'의 가중치 = ")
MESSAGE(PART_6_OUTPUT, "6d  Output", "6d  출력")
MESSAGE(TITLE_MASKED, "Attention with the padding mask", "패딩 마스크를 적용한 어텐션")
MESSAGE(
    TEXT_MASKED,
    "The same with the mask of section 5: before the softmax the score of an excluded key is replaced by a very negative "
    "number, so that exp() makes its weight 0. It is printed as %.4e; clattn itself computes with -infinity. Sentences "
    "without [PAD] keep their numbers from section 6.",
    "5절의 마스크를 적용해 같은 계산을 합니다. 소프트맥스를 하기 전에 제외할 키의 점수를 아주 작은 음수로 바꾸면 exp()를 거쳐 "
    "가중치가 0이 됩니다. 여기에는 %.4e로 찍히지만 clattn은 실제로 음의 무한대로 계산합니다. [PAD]가 없는 문장의 숫자는 6절과 "
    "같습니다.")
MESSAGE(TITLE_MASKED_CAUSAL, "Attention with the causal mask", "인과 마스크를 적용한 어텐션")
MESSAGE(TITLE_MASKED_BOTH, "Attention with the padding and causal masks", "패딩 마스크와 인과 마스크를 적용한 어텐션")
MESSAGE(
    TEXT_MASKED_CAUSAL,
    "The same with the masks of section 5: before the softmax the score of an excluded key is replaced by a very negative "
    "number, so that exp() makes its weight 0. It is printed as %.4e; clattn itself computes with -infinity.",
    "5절의 마스크를 적용해 같은 계산을 합니다. 소프트맥스를 하기 전에 제외할 키의 점수를 아주 작은 음수로 바꾸면 exp()를 거쳐 "
    "가중치가 0이 됩니다. 여기에는 %.4e로 찍히지만 clattn은 실제로 음의 무한대로 계산합니다.")
MESSAGE(TEXT_MASKED_NOTHING,
        "The mask of section 5 excludes no key here, so all numbers are those of section 6. They are computed and checked once "
        "more.",
        "5절의 마스크가 여기서는 아무 키도 제외하지 않으므로 모든 숫자가 6절과 같습니다. 그래도 다시 계산하고 검증합니다.")
MESSAGE(PART_7_PROJECTED, "7d  Output projection", "7d  출력 투영")
MESSAGE(PART_6_PROJECTED, "6e  Output projection", "6e  출력 투영")
MESSAGE(PART_7_SCORES, "7a  Masked scores", "7a  마스크한 점수")
MESSAGE(FORMULA_MASKED, "masked = attended to ? scaled : -1e9", "masked = 주목 대상 ? scaled : -1e9")
MESSAGE(PART_7_WEIGHTS, "7b  Weights", "7b  가중치")
MESSAGE(FORMULA_WEIGHTS_MASKED, "weights = softmax(masked), row by row", "weights = softmax(masked), 행마다")
MESSAGE(PART_7_OUTPUT, "7c  Output", "7c  출력")
MESSAGE(TITLE_LAST, "The last sentence (%d) without and with the mask", "마지막 문장(%d): 마스크 적용 전과 후")
MESSAGE(
    TEXT_LAST,
    "Side by side, from sections 6 and 7. With the mask the column of [PAD] is 0, and what it had goes to the real words "
    "in proportion. The row of the query [PAD] is computed, too, but nobody reads its output.",
    "6절과 7절의 값을 나란히 놓았습니다. 마스크를 적용하면 [PAD] 열이 0이 되고, 그 몫은 실제 단어들에 비례하여 나뉩니다. 쿼리 "
    "[PAD]의 행도 계산되지만 그 출력을 읽는 곳은 없습니다.")
MESSAGE(TITLE_ONE, "Sentence %d without and with the mask", "문장 %d: 마스크 적용 전과 후")
MESSAGE(TEXT_LAST_CAUSAL,
        "Side by side, from sections 6 and 7. With the mask an excluded key has the weight 0, and what it had goes to the "
        "query's other keys in proportion.",
        "6절과 7절의 값을 나란히 놓았습니다. 마스크를 적용하면 제외된 키의 가중치가 0이 되고, 그 몫은 같은 쿼리의 나머지 키에 "
        "비례하여 나뉩니다.")
MESSAGE(SAME_WITH_MASK, "The mask excludes nothing: both are the same, see section 6.",
        "마스크가 아무것도 제외하지 않아 둘이 같습니다. 6절을 보십시오.")
MESSAGE(PART_8_WEIGHTS, "8a  Weights", "8a  가중치")
MESSAGE(PART_8_OUTPUT, "8b  Output", "8b  출력")
MESSAGE(TITLE_PADDING, "Attention to [PAD], compared", "[PAD]에 쏠린 어텐션 비교")
MESSAGE(TEXT_PADDING, "How much of its weight each query spends on [PAD] keys (0 where its sentence has none).",
        "각 쿼리가 가중치 가운데 얼마를 [PAD] 키에 쓰는지 봅니다([PAD]가 없는 문장은 0).")
MESSAGE(TEXT_PADDING_NONE, "Skipped: no sentence has [PAD], so there is nothing to compare.",
        "건너뜁니다. [PAD]가 있는 문장이 없어 비교할 것이 없습니다.")
MESSAGE(
    TEXT_PADDING_LOSS_HEAD,
    "Without the mask a real word loses up to %.2f %% of its attention to [PAD] (sentence %d, query %s, head %d); with the "
    "mask %.2f %%.",
    "마스크가 없으면 실제 단어가 어텐션의 최대 %.2f %%를 [PAD]에 빼앗깁니다(문장 %d, 쿼리 %s, 헤드 %d). 마스크를 적용하면 %.2f "
    "%%입니다.")
MESSAGE(TEXT_PADDING_LOSS,
        "Without the mask a real word loses up to %.2f %% of its attention to [PAD] (sentence %d, query %s); with the mask "
        "%.2f %%.",
        "마스크가 없으면 실제 단어가 어텐션의 최대 %.2f %%를 [PAD]에 빼앗깁니다(문장 %d, 쿼리 %s). 마스크를 적용하면 %.2f "
        "%%입니다.")
MESSAGE(TITLE_SHAPES, "Shapes", "형상")
MESSAGE(TEXT_SHAPES, "B = %d sentences, S = %d words each, D = %d numbers a word (d_model; the only head is as wide).",
        "B = 문장 %d개, S = 문장마다 단어 %d개, D = 단어마다 숫자 %d개(d_model; 하나뿐인 헤드의 크기도 같음).")
MESSAGE(TEXT_SHAPES_HEADS,
        "B = %d sentences, S = %d words each, D = %d numbers a word (d_model), H = %d heads of d = D / H = %d columns each.",
        "B = 문장 %d개, S = 문장마다 단어 %d개, D = 단어마다 숫자 %d개(d_model), H = 헤드 %d개, d = D / H = 헤드마다 열 %d개.")
MESSAGE(COLUMN_TENSOR, "tensor", "텐서")
MESSAGE(COLUMN_DIMENSIONS, "dimensions", "차원")
MESSAGE(COLUMN_IS, "is", "내용")
MESSAGE(COLUMN_DIFFERENCES, "difference from", "최대 차이")
MESSAGE(COLUMN_REFERENCE, "reference", "기준값")
MESSAGE(COLUMN_STORED, "stored", "저장값")
MESSAGE(IS_SENTENCES, "the sentences", "문장들")
MESSAGE(IS_MASKED, "scaled, -1e9 at [PAD]", "scaled, [PAD]는 -1e9")
MESSAGE(IS_MASKED_CAUSAL, "scaled, -1e9 if masked", "scaled, 제외되면 -1e9")
MESSAGE(IS_INPUT, "(input)", "(입력)")

/* ----------------------------------------------------------------------------------------------------------- the words */
MESSAGE(TITLE_VECTORS, "X: the words as vectors", "X: 단어를 벡터로")
MESSAGE(TEXT_VECTORS, "Each row is one word, each column one of the %d numbers that stand for it.",
        "각 행은 단어 하나이고, 각 열은 그 단어를 나타내는 숫자 %d개 가운데 하나입니다.")
MESSAGE(IN_ENGLISH, "In English:", "영어로는:")
MESSAGE(PART_INPUT, "Input", "입력")
MESSAGE(PART_2_QUERY, "2a  Query", "2a  쿼리")
MESSAGE(PART_2_KEY, "2b  Key", "2b  키")
MESSAGE(PART_2_VALUE, "2c  Value", "2c  값")
MESSAGE(TITLE_SCORES, "Scores: how well does a word's query fit a word's key", "점수: 단어의 쿼리와 키가 얼마나 잘 맞는가")
MESSAGE(PART_3_SCORES, "3a  Scores", "3a  점수")
MESSAGE(PART_3_SCALED, "3b  Scaled scores", "3b  스케일한 점수")
MESSAGE(TITLE_WEIGHTS, "Weights: scores become shares", "가중치: 점수를 몫으로")
MESSAGE(TEXT_SOFTMAX_PLAIN, "softmax(s)_j = exp(s_j) / sum_k exp(s_k): positive numbers, and each row's sum is 1.",
        "softmax(s)_j = exp(s_j) / sum_k exp(s_k): 모두 양수이고 각 행의 합은 1입니다.")
MESSAGE(PART_WEIGHTS, "Weights", "가중치")
MESSAGE(HAND_EXPONENTIALS, "query %s: exp(s) = ", "쿼리 %s: exp(s) = ")
MESSAGE(TITLE_MOST, "The most attended word of each row", "행마다 가장 주목하는 단어")
MESSAGE(TEXT_MOST, "Which key does each query give the most weight?", "각 쿼리는 어떤 키에 가장 큰 가중치를 줄까요?")
MESSAGE(MOST_WEIGHT, "with weight %.3f", "가중치 %.3f")
MESSAGE(MOST_ITSELF, "(itself)", "(자기 자신)")
MESSAGE(TITLE_OUTPUT, "Output: each word as a mean of the values, by the weights", "출력: 단어마다 값을 가중치로 평균한 벡터")
MESSAGE(PART_OUTPUT, "Output", "출력")

#include "messages_page_texts.h"
