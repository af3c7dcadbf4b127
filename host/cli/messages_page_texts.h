/* The messages of `walkthrough --out`: those in the pictures, and those of the page. See messages_texts.h. */

/* ------------------------------------------------------------------------------------------------------------- pictures */
MESSAGE(PICTURE_QUERY, "query", "쿼리")
MESSAGE(PICTURE_KEY, "key", "키")
MESSAGE(PICTURE_WORD, "word", "단어")
MESSAGE(PICTURE_POSITION, "position", "위치")
MESSAGE(PICTURE_DIMENSION, "dimension", "차원")
MESSAGE(PICTURE_SENTENCE, "sentence %d", "문장 %d")
MESSAGE(PICTURE_HEAD, "head %d", "헤드 %d")
MESSAGE(PICTURE_SENTENCE_HEAD, "sentence %d, head %d", "문장 %d, 헤드 %d")
MESSAGE(PICTURE_PART_OF, "%s: %s", "%s: %s")
MESSAGE(PICTURE_FIRST, ", %d of %d matrices", ", 행렬 %d개(모두 %d개)")
MESSAGE(PICTURE_CUT, ", %d x %d of %d x %d cells", ", %d x %d칸(모두 %d x %d칸)")
MESSAGE(PICTURE_STRUCK, "excluded by the mask", "마스크로 제외됨")
MESSAGE(LEGEND_WEIGHT, "weight: the share of the query's attention that the key gets",
        "가중치: 쿼리가 키에 나눠 주는 주목의 비율")
MESSAGE(LEGEND_SCORE, "score: how well query and key fit", "점수: 쿼리와 키가 맞는 정도")
MESSAGE(LEGEND_NUMBER, "value of the vector's element", "벡터 원소의 값")
MESSAGE(LEGEND_POSITION, "value of sine or cosine", "사인 또는 코사인 값")
MESSAGE(PICTURE_COMPARED, "Attention weights, without and with the mask", "어텐션 가중치: 마스크가 없을 때와 있을 때")
MESSAGE(PICTURE_HEADS, "Attention weights of all heads", "모든 헤드의 어텐션 가중치")

/* ------------------------------------------------------------------------------------------------- names of the tensors */
MESSAGE(NAME_X, "The words' vectors, X", "단어 벡터 X")
MESSAGE(NAME_EMBEDDED, "Embeddings", "임베딩")
MESSAGE(NAME_POSITION, "Positional encoding", "위치 인코딩")
MESSAGE(NAME_SUM, "Embeddings with positions, X", "위치를 더한 임베딩 X")
MESSAGE(NAME_QUERY, "Queries, Q", "쿼리 Q")
MESSAGE(NAME_KEY, "Keys, K", "키 K")
MESSAGE(NAME_VALUE, "Values, V", "값 V")
MESSAGE(NAME_RAW, "Raw scores", "원점수")
MESSAGE(NAME_SCALED, "Scaled scores", "스케일한 점수")
MESSAGE(NAME_WEIGHTS, "Attention weights", "어텐션 가중치")
MESSAGE(NAME_OUTPUT, "Output", "출력")
MESSAGE(NAME_MASKED, "Masked scores", "마스크한 점수")
MESSAGE(NAME_WEIGHTS_MASKED, "Attention weights with the mask", "마스크를 적용한 어텐션 가중치")
MESSAGE(NAME_PROJECTED, "Output projection", "출력 투영")
MESSAGE(NAME_PROJECTED_MASKED, "Output projection with the mask", "마스크를 적용한 출력 투영")
MESSAGE(NAME_OUTPUT_MASKED, "Output with the mask", "마스크를 적용한 출력")

/* -------------------------------------------------------------------------------------------------------------- the page */
MESSAGE(PAGE_TITLE, "Attention, step by step", "한 단계씩 보는 어텐션")
MESSAGE(
    PAGE_LEAD,
    "This page tells one run of clattn in order, from the input to the attention's output. Every step shows its formula, "
    "its numbers as a picture and as a table, and how far they are from the same numbers computed in another way.",
    "이 페이지는 clattn을 한 번 실행한 과정을 입력부터 어텐션의 출력까지 순서대로 보여 줍니다. 단계마다 수식, 숫자를 나타낸 "
    "그림과 표, 그리고 다른 방법으로 계산한 숫자와의 차이가 나옵니다.")
MESSAGE(PAGE_WHOLE, "The whole computation in one line:", "전체 계산을 한 줄로 쓰면 다음과 같습니다.")
MESSAGE(PAGE_CONTENTS, "Contents", "차례")
MESSAGE(PAGE_TENSOR, "tensor", "텐서")
MESSAGE(PAGE_SHAPE, "shape", "형상")
MESSAGE(PAGE_NUMBERS, "The numbers as a table", "숫자를 표로 보기")
MESSAGE(PAGE_VOCABULARY, "The vocabulary, with each word's token id", "어휘와 단어마다의 토큰 번호")
MESSAGE(PAGE_IMAGE, "Heat map: %s", "히트맵: %s")
MESSAGE(
    PAGE_HOW_TO_READ,
    "How to read a picture of weights: each row is a word that asks (query), each column a word that is asked (key). A "
    "row's cells add up to 1: they say how the query shares its attention among the keys.",
    "가중치 그림을 읽는 법: 각 행은 묻는 단어(쿼리), 각 열은 질문을 받는 단어(키)입니다. 한 행의 칸을 모두 더하면 1이 되며, "
    "쿼리가 자신의 주목을 키들에 어떻게 나누는지를 나타냅니다.")
MESSAGE(
    PAGE_TEXT_MASKED,
    "The same once more with the mask: before the softmax the score of an excluded key becomes minus infinity, so that "
    "exp() makes its weight exactly 0. Rows without excluded keys keep their numbers.",
    "이번에는 마스크를 적용해 같은 계산을 합니다. 소프트맥스를 하기 전에 제외할 키의 점수를 음의 무한대로 바꾸면 exp()를 거쳐 "
    "가중치가 정확히 0이 됩니다. 제외된 키가 없는 행의 숫자는 그대로입니다.")
MESSAGE(PAGE_TEXT_OUTPUT, "Each word's output is a mixture of all words' values: each value counts as much as its weight says.",
        "각 단어의 출력은 모든 단어의 값을 섞은 것입니다. 값마다 가중치만큼 들어갑니다.")
MESSAGE(PAGE_POSITIONS, "The picture has all %d positions that are computed; the run uses the first %d.",
        "그림에는 계산한 위치 %d개가 모두 나오며, 이 실행에서는 처음 %d개를 씁니다.")
MESSAGE(PAGE_COMPARED, "Without and with the mask, side by side", "마스크가 없을 때와 있을 때, 나란히 보기")
MESSAGE(
    PAGE_TEXT_COMPARED,
    "On the left the weights without the mask, on the right those with it. Where the mask excludes a key, the cell is "
    "struck out, and what it had goes to the row's other keys in proportion.",
    "왼쪽은 마스크가 없을 때의 가중치, 오른쪽은 마스크를 적용한 가중치입니다. 마스크로 제외된 키의 칸은 지워지고, 그 몫은 같은 "
    "행의 나머지 키에 비례하여 나뉩니다.")
MESSAGE(PAGE_TEXT_PADDING_ROWS, "The rows of [PAD] are computed, too, but nobody reads their output.",
        "[PAD] 행도 계산되지만 그 출력을 읽는 곳은 없습니다.")
MESSAGE(PAGE_HEADS, "All heads", "모든 헤드")
MESSAGE(PAGE_TEXT_HEADS, "Every head has queries, keys and values of its own, so that each can attend to something else.",
        "헤드마다 쿼리, 키, 값이 따로 있으므로 저마다 다른 곳에 주목할 수 있습니다.")
MESSAGE(PAGE_FOOT, "Written by clattn %s. The same pictures lie beside this page as PNG and SVG files.",
        "clattn %s 작성. 이 페이지와 같은 폴더에 그림이 PNG와 SVG 파일로도 있습니다.")
MESSAGE(PAGE_WRITTEN, "%s: %d pictures as PNG and SVG, and index.html to read",
        "%s: PNG와 SVG 그림 %d개, 읽을 페이지는 index.html")
MESSAGE(
    PAGE_CUT,
    "Of large tensors the pictures show the first %d numbers at most, and say in their titles what they leave out: --cells N "
    "draws more of them, and --json has every number.",
    "큰 텐서는 그림에 처음 숫자를 최대 %d개까지만 보여 주고, 생략한 부분은 그림 제목에 적습니다. --cells N으로 더 많이 그릴 수 "
    "있고, --json에는 모든 숫자가 있습니다.")
MESSAGE(PAGE_NO_FONT,
        "note: no installed font has some of the letters in the pictures, so they show boxes there; install one for Korean, "
        "for example Debian's package fonts-nanum",
        "알림: 설치된 글꼴에 없는 글자가 있어 그림에 네모로 나옵니다. 한글 글꼴을 설치하세요(예: 데비안 패키지 fonts-nanum)")
