"""The lens on models of `transformers`, beside the weights that eager attention stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from models import MODELS, words

import spanwise
import spanwise.transformers

spanwise.transformers.register()
# What each model calls the weights of its layers, in the order of its modules.
WEIGHTS = {
    "bert": ["attentions"],
    "gpt2": ["attentions"],
    "llama": ["attentions"],
    "gemma2": ["attentions"],
    "mistral": ["attentions"],
    "gpt_oss": ["attentions"],
    "vit": ["attentions"],
    "t5": ["encoder_attentions", "decoder_attentions", "cross_attentions"],
    "whisper": ["encoder_attentions", "decoder_attentions", "cross_attentions"],
    "clip": ["text_model_output", "vision_model_output"],
}


def _weights(name: str, output: Any) -> dict[str, list[np.ndarray]]:
    """Weights (B, H, N, M) of the layers by where they belong: a stack of layers, and self- or cross-attention."""
    found = {}
    for key in WEIGHTS[name]:
        part = getattr(output, key)
        found[key] = [one.double().numpy() for one in (part.attentions if name == "clip" else part)]
    return found


def _place(name: str, layer: str) -> str:
    """Which of the model's lists of weights a layer's name belongs to."""
    if name == "clip":
        return "text_model_output" if layer.startswith("text") else "vision_model_output"
    if len(WEIGHTS[name]) == 1:
        return "attentions"
    if "EncDecAttention" in layer or "encoder_attn" in layer:
        return "cross_attentions"
    return "encoder_attentions" if ".encoder." in f".{layer}" else "decoder_attentions"


def _counted(name: str, place: str, inputs: dict[str, torch.Tensor], weights: np.ndarray) -> np.ndarray:
    """Which rows count, (B, 1, N): not those of padding, where the model's mask tells of the queries."""
    mask = inputs.get("attention_mask")
    if mask is None or place in ("decoder_attentions", "cross_attentions", "vision_model_output"):
        return np.ones((weights.shape[0], 1, weights.shape[2]), bool)
    return mask.numpy()[:, None].astype(bool)


# SDPA knows no soft caps and no sinks, and padding is seen once.
OF_EVERY_KIND = [
    *((name, False, "sdpa") for name in MODELS if name not in ("gemma2", "gpt_oss")),
    *((name, False, "eager") for name in MODELS),
    *((name, True, "eager") for name in MODELS if MODELS[name].padding),
]


@pytest.mark.parametrize(("name", "padded", "implementation"), OF_EVERY_KIND)
def test_statistics_are_those_of_the_weights_that_eager_attention_stores(
    name: str, padded: bool, implementation: str
) -> None:
    inputs = words(True) if padded and name not in ("t5", "clip") else MODELS[name].inputs(padded)
    model = MODELS[name].fresh(implementation)
    with torch.no_grad():
        plain = getattr(model(**inputs), MODELS[name].result)
        with spanwise.lens(model, cells=5) as lens:
            seen = getattr(model(**inputs), MODELS[name].result)
        assert torch.equal(getattr(model(**inputs), MODELS[name].result), plain)
        eager = MODELS[name].fresh("eager")(**inputs, output_attentions=True)
    if not padded:
        torch.testing.assert_close(seen, plain, atol=1e-4, rtol=0)
    stored = _weights(name, eager)
    assert len(lens.layers) == sum(len(layers) for layers in stored.values())
    table = lens.table()
    for at, layer in enumerate(lens.layers):
        place = _place(name, layer)
        weights = stored[place].pop(0)
        counted = _counted(name, place, inputs, weights)

        def mean(numbers: np.ndarray, counted: np.ndarray = counted) -> np.ndarray:
            return np.where(counted, numbers, 0).sum((0, 2)) / counted.sum()

        rows = table[table["layer"] == layer]
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = -np.where(weights > 0, weights * np.log(weights), 0).sum(-1)
        assert (rows["rows"] == counted.sum()).all()
        np.testing.assert_allclose(rows["entropy"], mean(entropy), atol=1e-4)
        np.testing.assert_allclose(rows["max"], mean(weights.max(-1)), atol=1e-4)
        np.testing.assert_allclose(lens.received(at), (weights * counted[..., None]).sum((0, 2)), atol=1e-3)
        np.testing.assert_allclose(rows["sink_mass"], 1 - mean(weights.sum(-1)), atol=1e-4)
        seen_keys = (weights > 0).sum(-1)
        share = np.where((seen_keys > 1) & counted, entropy / np.log(np.maximum(seen_keys, 2)), np.nan)
        np.testing.assert_allclose(rows["entropy_share"], np.nanmean(share, axis=(0, 2)), atol=1e-4)
        if name == "gpt_oss":
            assert rows["sink_mass"].min() > 0.01
        head = weights.shape[1] - 1
        pooled = lens.map(layer, head)
        assert pooled.max.max() == pytest.approx(weights[:, head].max(), abs=1e-4)
        assert lens.map(at, head, batch=1).max.max() == pytest.approx(weights[1, head].max(), abs=1e-4)
    assert all(not layers for layers in stored.values())


def test_the_implementation_is_restored_also_after_an_error() -> None:
    for name in ("t5", "clip"):
        model = MODELS[name].fresh("sdpa")
        kinds = [config._attn_implementation for config in spanwise.transformers.configs_of(model)]
        with pytest.raises(RuntimeError), spanwise.lens(model):
            assert {config._attn_implementation for config in spanwise.transformers.configs_of(model)} == {"spanwise"}
            raise RuntimeError
        assert [config._attn_implementation for config in spanwise.transformers.configs_of(model)] == kinds
        assert not spanwise.transformers.watchers


def test_padding_on_either_side_does_not_count() -> None:
    model = MODELS["bert"].fresh("sdpa")
    for left in (False, True):
        padded = words(True, left=left)
        kept = padded["attention_mask"][1].bool()
        places = torch.arange(kept.numel())
        with torch.no_grad(), spanwise.lens(model) as both:
            model(**padded, position_ids=torch.stack([places, places - (3 if left else 0)]).clamp(0))
        with torch.no_grad(), spanwise.lens(model) as each:
            model(input_ids=padded["input_ids"][:1])
            model(input_ids=padded["input_ids"][1:, kept])
        for column in ("rows", "entropy", "entropy_share", "max", "saturated"):
            np.testing.assert_allclose(both.table()[column], each.table()[column], atol=1e-5, err_msg=column)
        assert both.received(0).sum() == pytest.approx(each.received(0).sum(), rel=1e-5)
        assert "padding" in both.explain().to_json()


def test_masks_that_do_not_tell_of_queries_leave_every_query_in() -> None:
    model, inputs = MODELS["bert"].fresh("sdpa"), words(True)
    full = inputs["attention_mask"][:, None, None, :].bool().expand(2, 1, 12, 12)
    with torch.no_grad(), spanwise.lens(model) as lens:
        model(input_ids=inputs["input_ids"], attention_mask=full)
    assert (lens.table()["rows"] == 24).all()
    # Cross-attention with as many queries as keys: the padding is the encoder's.
    model = MODELS["t5"].fresh("eager")
    with torch.no_grad(), spanwise.lens(model) as lens:
        model(**inputs, decoder_input_ids=words(False)["input_ids"])
    table = lens.table()
    rows = table.groupby("layer")["rows"].first()
    assert {name.split(".")[0]: int(count) for name, count in rows.items()} == {"encoder": 21, "decoder": 24}


def test_keys_of_a_sliding_cache_keep_their_places() -> None:
    model, tokens = MODELS["mistral"].fresh("sdpa"), words(False)["input_ids"][:1]
    with torch.no_grad(), spanwise.lens(model) as lens:
        made = model.generate(tokens, max_new_tokens=12, min_new_tokens=12, do_sample=False)
    received = lens.received(0)
    # The last token was never a key; every other one has seen at least itself.
    assert received.shape[1] == made.shape[1] - 1 > model.config.sliding_window
    assert (received > 0).all()


def test_calls_add_up() -> None:
    model, inputs = MODELS["llama"].fresh("sdpa"), words(False)
    with torch.no_grad(), spanwise.lens(model) as once:
        model(**inputs)
    with torch.no_grad(), spanwise.lens(model) as twice:
        model(**inputs)
        model(**inputs)
    assert (twice.table()["rows"] == 2 * once.table()["rows"]).all()
    np.testing.assert_allclose(twice.table()["entropy"], once.table()["entropy"])
    with torch.no_grad(), spanwise.lens(model) as steps:
        model.generate(**inputs, max_new_tokens=5, do_sample=False)
    assert steps.received(0).shape[1] == inputs["input_ids"].shape[1] + 4


def test_a_lens_leaves_gradients_as_they_are() -> None:
    found = []
    for looks in (False, True):
        model = MODELS["llama"].fresh("spanwise")
        if looks:
            with spanwise.lens(model) as lens:
                model(**words(False)).logits.square().mean().backward()
            assert len(lens.layers) == 3
        else:
            model(**words(False)).logits.square().mean().backward()
        found.append(model.model.layers[0].self_attn.q_proj.weight.grad)
    torch.testing.assert_close(*found)


def test_other_models_are_not_looked_at() -> None:
    model, other = MODELS["llama"].fresh("sdpa"), MODELS["gpt2"].fresh("spanwise")
    with torch.no_grad(), spanwise.lens(model) as lens:
        other(**words(False))
    assert lens.layers == []
    with pytest.raises(spanwise.errors.NumberError, match="no attention layer was called"):
        lens.report("never.html")


def test_what_is_no_model_and_a_model_that_did_not_run_are_named() -> None:
    for other, name in ((torch.nn.Linear(2, 2), "Linear"), ("bert", "str")):
        with pytest.raises(spanwise.errors.DtypeError, match=f"`model` is a {name}"), spanwise.lens(other):
            pass
    with spanwise.lens(MODELS["bert"].fresh("sdpa")) as lens:
        pass
    assert repr(lens) == "Lens(BertForMaskedLM): 0 layers and 0 heads seen"
    assert list(lens.table().columns)[:5] == ["layer", "head", "rows", "keys", "entropy"]
    for call in (lambda: lens.map(0, 0), lambda: lens.received("a"), lens.explain):
        with pytest.raises(spanwise.errors.NumberError, match="no attention layer was called"):
            call()


def test_the_report_is_one_page_with_every_layer(tmp_path: Path) -> None:
    model = MODELS["gemma2"].fresh("eager")
    with torch.no_grad(), spanwise.lens(model) as lens:
        model(**words(False))
    for call, word in ((lambda: lens.map(1.0, 0), "layer"), (lambda: lens.map(0, "a"), "head")):
        with pytest.raises(spanwise.errors.DtypeError, match=f"lens: `{word}` is .*; expected a whole number"):
            call()
    lens.report(tmp_path / "lens.html")
    page = (tmp_path / "lens.html").read_text()
    assert page.startswith("<!doctype html>") and "https:" not in page
    assert "Where 12 heads of 3 attention layers look" in page
    for layer in lens.layers:
        assert layer in page
    found = lens.explain()
    assert found.json["subject"]["layers"] == 3
    assert [figure["id"] for figure in found.json["figures"]] == ["entropy", "heads", "received", "map"]
