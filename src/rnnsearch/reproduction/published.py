"""The numbers that the paper prints, to stand beside ours: WMT '14 English-French, another corpus than the user's."""

#: Of Table 1: tokenised BLEU on news-test-2014, of all sentences and of those without unknown words.
BLEU = {
    "RNNencdec-30": (13.93, 24.19),
    "RNNsearch-30": (21.50, 31.44),
    "RNNencdec-50": (17.82, 26.71),
    "RNNsearch-50": (26.75, 34.16),
    "RNNsearch-50*": (28.45, 36.15),
    "Moses": (33.30, 35.63),
}

#: Of Table 2: updates, epochs, hours, graphics card, nats a sentence of the training and of the development text.
TRAINING = {
    "RNNencdec-30": (846_000, 6.4, 109, "Titan Black", 28.1, 53.0),
    "RNNsearch-30": (471_000, 3.6, 113, "Titan Black", 26.7, 47.2),
    "RNNencdec-50": (600_000, 4.5, 108, "Quadro K-6000", 44.0, 43.6),
    "RNNsearch-50": (288_000, 2.2, 111, "Quadro K-6000", 40.7, 38.1),
    "RNNsearch-50*": (667_000, 5.0, 252, "Quadro K-6000", 36.7, 35.2),
}
