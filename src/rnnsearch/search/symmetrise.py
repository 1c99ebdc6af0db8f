"""Links of two models, one for each direction, made into one set of links for a sentence pair.

Och and Ney (2003) for intersection and union; Koehn, Och and Marcu (2003) for growing between the two, in the order in
which Moses does it, which decides between links that exclude each other. Where the weights of both are at hand, their
product says more than the links of each (Liang, Taskar and Klein, 2006, decode with it): `agreed`.
"""

from collections.abc import Iterable
from heapq import heappop, heappush

import numpy as np

from rnnsearch.search.alignment import Matrix, links_from

Link = tuple[int, int]

#: From which mean of both weights `agreed` links. Between 0.35 and 0.5 the error rate hardly changes (docs/results.md).
AGREED = 0.4

METHODS = ("intersection", "union", "grow-diag-final-and")

#: Steps (target, source) to the eight neighbours of a link, in Moses' order: those beside it first, then the diagonal.
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrise(forward: Iterable[Link], reverse: Iterable[Link], method: str) -> list[Link]:
    """One set of links (source, target), in order of the source, made by one of METHODS.

    forward: those of the model that writes the target; reverse: those of the model that writes the source, turned round
    to (source, target). Intersection and union treat both alike. grow-diag-final-and walks along the target and prefers
    `forward` in the end, so the same sentence pair with its sides exchanged may get other links.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    one, other = set(forward), set(reverse)
    if method == "intersection":
        return sorted(one & other)
    return sorted(one | other if method == "union" else _grow_diag_final_and(one, other))


def agreed(forward: Matrix, reverse: Matrix, threshold: float = AGREED) -> list[Link]:
    """The (source, target) for which the geometric mean of both directions' weights is at least `threshold`.

    forward: [target words, source words], of the model that writes the target; reverse: [source words, target words].
    A word may have no link, or several.
    """
    return links_from(np.sqrt(forward * reverse.T), threshold)


def _grow_diag_final_and(forward: set[Link], reverse: set[Link]) -> set[Link]:
    """The intersection, grown to links of the union beside it, then links of words that are both without one yet."""
    one, other = ({(target, source) for source, target in links} for links in (forward, reverse))
    found = one & other
    targets, sources = {target for target, _ in found}, {source for _, source in found}
    _grow_diag(found, one | other, targets, sources)
    for links in (one, other):
        for target, source in sorted(links):
            if target not in targets and source not in sources:
                found.add((target, source))
                targets.add(target)
                sources.add(source)
    return {(source, target) for target, source in found}


def _grow_diag(found: set[Link], union: set[Link], targets: set[int], sources: set[int]) -> None:
    """Add to `found` its neighbours in `union` of which a word has no link yet, until there are none; all (target,
    source), and `targets` and `sources` the words with a link.

    In rounds, each in order of the links: one that is added further on is visited in the same round, as in Moses.
    """
    grown = True
    while grown:
        grown = False
        queue = sorted(found)  # which is a heap
        while queue:
            target, source = heappop(queue)
            for down, right in _NEIGHBOURS:
                link = target + down, source + right
                if link in union and not (link[0] in targets and link[1] in sources):
                    found.add(link)
                    targets.add(link[0])
                    sources.add(link[1])
                    grown = True
                    if link > (target, source):
                        heappush(queue, link)
