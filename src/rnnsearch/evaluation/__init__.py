"""Measuring and showing what a model does: scores, alignment heatmaps, the training curve. Needs no torch."""
