"""Text: cleaning, parallel corpora, tokenisers, vocabularies, the encoded store and batches. No torch here."""
