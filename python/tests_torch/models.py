"""Tiny models with random weights, one of each kind, and inputs for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import transformers as t

WORDS = 60
TOKENS = 12

_DECODER = dict(
    vocab_size=WORDS,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=3,
    num_attention_heads=4,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=None,
)
_GROUPED = dict(_DECODER, num_key_value_heads=2)


@dataclass(frozen=True)
class Model:
    """How to make a model, its inputs, and what its result is called."""

    make: Callable[[], t.PreTrainedModel]
    inputs: Callable[[bool], dict[str, torch.Tensor]]
    """Of whether there is padding."""
    result: str = "logits"
    padding: bool = True
    """Whether it knows padding."""
    generates: bool = False
    stretch: float = 6.0
    """What weights are multiplied by, so that attention matters: they start out near 0."""

    def fresh(self, implementation: str) -> t.PreTrainedModel:
        """The model, the same weights each time."""
        torch.manual_seed(3)
        model = self.make().eval()
        with torch.no_grad():
            for weights in model.parameters():
                if weights.dim() > 1:
                    weights.mul_(self.stretch)
        model.set_attn_implementation(implementation)
        return model


def words(padded: bool, left: bool = False, name: str = "input_ids") -> dict[str, torch.Tensor]:
    """Two sentences; the second one shorter, if there is padding."""
    ids = torch.randint(2, WORDS, (2, TOKENS), generator=torch.Generator().manual_seed(5))
    if not padded:
        return {name: ids}
    kept = torch.ones_like(ids)
    kept[1, slice(0, 3) if left else slice(-3, None)] = 0
    return {name: ids * kept, "attention_mask": kept}


def _left(padded: bool) -> dict[str, torch.Tensor]:
    return words(padded, left=True)


def _picture(padded: bool) -> dict[str, torch.Tensor]:
    return {"pixel_values": torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(6))}


def _seq2seq(padded: bool) -> dict[str, torch.Tensor]:
    return words(padded) | {"decoder_input_ids": words(False)["input_ids"][:, :7]}


def _sound(padded: bool) -> dict[str, torch.Tensor]:
    sound = torch.randn(2, 8, 40, generator=torch.Generator().manual_seed(7))
    return {"input_features": sound, "decoder_input_ids": words(False)["input_ids"][:, :7]}


def _both(padded: bool) -> dict[str, torch.Tensor]:
    return words(padded) | _picture(padded)


def _gemma2() -> t.PreTrainedModel:
    window = dict(sliding_window=4, attn_logit_softcapping=5.0, query_pre_attn_scalar=8, head_dim=8)
    return t.Gemma2ForCausalLM(t.Gemma2Config(**_GROUPED, **window))


def _gpt_oss() -> t.PreTrainedModel:
    experts = dict(num_local_experts=2, num_experts_per_tok=1, sliding_window=4, head_dim=8)
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    model = t.GptOssForCausalLM(t.GptOssConfig(**_GROUPED, **experts, layer_types=kinds))
    for layer in model.model.layers:
        torch.nn.init.normal_(layer.self_attn.sinks)
    return model


def _t5() -> t.PreTrainedModel:
    sizes = dict(vocab_size=WORDS, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
    return t.T5ForConditionalGeneration(
        t.T5Config(**sizes, decoder_start_token_id=0, pad_token_id=0, eos_token_id=None)
    )


def _whisper() -> t.PreTrainedModel:
    sizes = dict(vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2, num_mel_bins=8)
    heads = dict(encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48)
    places = dict(max_source_positions=20, max_target_positions=30)
    special = dict(pad_token_id=0, bos_token_id=1, eos_token_id=None, decoder_start_token_id=1, suppress_tokens=None)
    return t.WhisperForConditionalGeneration(t.WhisperConfig(**sizes, **heads, **places, **special))


_VISION = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=16, patch_size=4)


def _clip() -> t.PreTrainedModel:
    text = {name: value for name, value in _DECODER.items() if name != "eos_token_id"} | {"eos_token_id": 2}
    return t.CLIPModel(t.CLIPConfig(text_config=text, vision_config=_VISION, projection_dim=16))


MODELS = {
    "bert": Model(lambda: t.BertForMaskedLM(t.BertConfig(**_DECODER)), words),
    "gpt2": Model(
        lambda: t.GPT2LMHeadModel(
            t.GPT2Config(
                vocab_size=WORDS, n_embd=32, n_layer=3, n_head=4, n_positions=64,
                bos_token_id=1, eos_token_id=None, pad_token_id=0,
            )
        ),
        _left,
        generates=True,
    ),
    "llama": Model(lambda: t.LlamaForCausalLM(t.LlamaConfig(**_GROUPED)), _left, generates=True),
    "gemma2": Model(_gemma2, _left, generates=True),
    "mistral": Model(
        lambda: t.MistralForCausalLM(t.MistralConfig(**_GROUPED, sliding_window=4)), _left, generates=True
    ),
    "gpt_oss": Model(_gpt_oss, _left, generates=True),
    "t5": Model(_t5, _seq2seq, generates=True, stretch=1.0),
    "whisper": Model(_whisper, _sound, padding=False),
    "vit": Model(
        lambda: t.ViTForImageClassification(t.ViTConfig(**_VISION)), _picture, padding=False
    ),
    "clip": Model(_clip, _both, result="logits_per_text"),
}
