"""Where the five models begin: vocabularies that all share, and random weights that are equal for equal networks.

Each training would count the words of its own pairs, of up to 30 or of up to 50 words, and the models would not know
the same ones; so they are counted once, on the longer text, and each training begins from a model that knows them.
"""

import logging
import shutil
from pathlib import Path

from rnnsearch.config import Settings
from rnnsearch.model import Model
from rnnsearch.model_folder import CONFIG, save_model
from rnnsearch.reproduction.plan import LONGEST, VARIANTS, Plan
from rnnsearch.text.prepare import CorpusFiles, Sides, prepare

logger = logging.getLogger("rnnsearch")


def begin(plan: Plan) -> dict[str, Path]:
    """The model folder that each architecture begins with, made once. Raises UserError for text that cannot be read."""
    first = {variant.architecture: plan.output / "beginning" / variant.architecture for variant in VARIANTS}
    if not all((path / CONFIG).exists() for path in first.values()):
        logger.info("counting the words that all models share")
        sides = _shared_sides(plan)
        for variant in VARIANTS[:2]:
            _save(first[variant.architecture], plan.settings(variant), sides, plan.seed)
    return first


def _shared_sides(plan: Plan) -> Sides:
    """Tokenisers and vocabularies of the pairs of up to 50 words."""
    folder = plan.output / "beginning" / "text"
    folder.parent.mkdir(parents=True, exist_ok=True)
    data = plan.settings(max(VARIANTS, key=lambda variant: variant.longest)).data
    assert data.max_length == LONGEST
    corpus, dev = CorpusFiles(tuple(plan.corpus)), CorpusFiles(tuple(plan.dev))
    sides = prepare(corpus, dev, data, folder, plan.languages, None, plan.seed).sides
    shutil.rmtree(folder, ignore_errors=True)  # each training encodes its own
    return sides


def _save(path: Path, settings: Settings, sides: Sides, seed: int) -> None:
    model = Model(settings.model, len(sides[0].vocabulary), len(sides[1].vocabulary))
    model.initialise(settings.training.initialisation, seed)
    weights = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    save_model(
        path, model=settings.model, search=settings.search, max_length=LONGEST, source=sides[0], target=sides[1],
        weights=weights, about={}, metadata={},
    )  # fmt: skip
