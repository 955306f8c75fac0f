"""A network of jubango's in torch: on a CPU with AMX it evaluates and learns in bfloat16. See torch_training.py."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch.nn import functional

from jubango.bots.networks.model import USUAL_SIDE
from jubango.bots.networks.shape import Shape

TOWER = "stem", "blocks", "policy_planes", "value_planes"  # layers in bfloat16
CORES = ThreadPoolExecutor(2)

Tensors = dict[str, torch.Tensor]


def pool(x: torch.Tensor) -> torch.Tensor:
    """[B, C, H, W] -> [B, 3 C], as :func:`jubango.bots.networks.model.pool`; the mean as a product, which is fast."""
    points = x.permute(0, 2, 3, 1).flatten(1, 2)
    number = points.shape[1]
    mean = (torch.ones(1, 1, number, dtype=x.dtype) @ points)[:, 0] / number
    return torch.cat([mean, mean * (math.sqrt(number) / USUAL_SIDE - 1), points.amax(1)], -1)


def layer(weights: Tensors, name: str, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return weights[f"{name}.kernel"].to(x.dtype), weights[f"{name}.bias"].to(x.dtype)


def convolved(weights: Tensors, name: str, x: torch.Tensor) -> torch.Tensor:
    kernel, bias = layer(weights, name, x)
    return functional.conv2d(x, kernel, bias, padding=kernel.shape[-1] // 2)


def linear(weights: Tensors, name: str, x: torch.Tensor) -> torch.Tensor:
    return functional.linear(x, *layer(weights, name, x))


def apply(shape: Shape, weights: Tensors, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The network: [B, C, H, W] -> what :func:`jubango.bots.networks.model.apply` says, as far as it has heads."""
    relu, side = functional.relu, x.shape[2:]
    ones = torch.ones(1, side.numel(), 1, dtype=x.dtype)
    x = convolved(weights, "stem", x)
    for i in range(shape.blocks):
        inner = convolved(weights, f"blocks.{i}.first", relu(x))
        told = ones @ linear(weights, f"blocks.{i}.pooled", pool(inner))[:, None]  # its gradient is a product, too
        inner = relu(inner + told.unflatten(1, side).permute(0, 3, 1, 2))
        x = x + convolved(weights, f"blocks.{i}.second", inner)
    x = relu(x)
    seen = convolved(weights, "value_planes", x).float()
    hidden = relu(linear(weights, "value_hidden", pool(relu(seen))))
    policy = policy_of(shape, weights, convolved(weights, "policy_planes", x).float())
    outcome = linear(weights, "outcome", hidden)
    if not shape.scores:
        return policy, outcome
    ownership = torch.tanh(convolved(weights, "ownership", seen)[:, 0])
    return policy, outcome, ownership, linear(weights, "score", hidden)[:, 0]


def policy_of(shape: Shape, weights: Tensors, planes: torch.Tensor) -> torch.Tensor:
    """The logits, of points and a pass or of columns."""
    seen = functional.relu(planes)
    if shape.head == "columns":
        columns = torch.cat([seen.mean(2), seen.amax(2)], 1)
        return linear(weights, "policy", columns.permute(0, 2, 1))[..., 0]
    pooled = pool(seen)
    told = functional.relu(planes + linear(weights, "policy_pooled", pooled)[:, :, None, None])
    points = convolved(weights, "policy", told).flatten(1)
    return torch.cat([points, linear(weights, "policy_pass", pooled)], -1)


def to_torch(weights: Mapping[str, jax.Array]) -> Tensors:
    """Kernels in torch's order of axes."""
    found = {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}
    for name, value in found.items():
        if value.ndim == 4:
            found[name] = value.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
        elif value.ndim == 2:
            found[name] = value.t().contiguous()
    return found


def to_jax(weights: Tensors) -> dict[str, jax.Array]:
    """The inverse of :func:`to_torch`."""
    back = {4: (2, 3, 1, 0), 2: (1, 0), 1: (0,)}
    return {name: jnp.asarray(value.permute(back[value.ndim]).contiguous().numpy()) for name, value in weights.items()}


class Network:
    """A network that learns, and the average of its weights, which plays."""

    def __init__(self, shape: Shape, weights: Mapping[str, jax.Array], rate: float) -> None:
        self.shape, self.rate, self.steps = shape, rate, 0
        self.weights = {name: value.requires_grad_(True) for name, value in to_torch(weights).items()}
        self.average = to_torch(weights)
        self.optimizer = torch.optim.AdamW(self.weights.values(), lr=rate, weight_decay=1e-4)
        self.publish()

    def publish(self) -> None:
        """From now on the weights of this moment play."""
        bf16 = torch.bfloat16
        self.playing = {k: v.to(bf16) if k.startswith(TOWER) else v.clone() for k, v in self.average.items()}

    def evaluate(self, planes: np.ndarray) -> Sequence[np.ndarray]:
        """float32 [B, H, W, C] -> the network's outputs."""
        x = torch.from_numpy(np.asarray(planes)).to(torch.bfloat16).permute(0, 3, 1, 2)
        with torch.inference_mode():
            return [found.numpy() for found in apply(self.shape, self.playing, x)]

    def gradients(self, batch: Sequence[torch.Tensor]) -> tuple[Sequence[torch.Tensor], list[float]]:
        """Of the loss of :func:`jubango.bots.learning.learner.loss`, with weight 2 for the score; and its parts."""
        planes, target, result, value, counted, owners, margin = batch
        policy, outcome, *points = apply(self.shape, self.weights, planes)
        chances = torch.softmax(outcome, -1)
        losses = [
            -(target * torch.log_softmax(policy, -1)).sum(-1).mean(),
            -(result * torch.log_softmax(outcome, -1)).sum(-1).mean(),
            ((chances[:, 2] - chances[:, 0] - value) ** 2).mean(),
        ]
        if points:
            (ownership, score), known = points, counted / counted.sum().clamp(min=1)
            losses.append((known * ((ownership.flatten(1) - owners) ** 2).mean(1)).sum())
            losses.append((known * (score - margin) ** 2).sum())
        total = sum(weight * loss for weight, loss in zip((1, 1, 0.5, 0.5, 2), losses, strict=False))
        return torch.autograd.grad(total, list(self.weights.values())), [float(loss.detach()) for loss in losses]

    def learn(self, batch: Sequence[torch.Tensor], pace: float) -> list[float]:
        """One step, half of the batch on each core."""
        middle = len(batch[0]) // 2
        (one, losses), (other, more) = CORES.map(
            self.gradients, ([x[:middle] for x in batch], [x[middle:] for x in batch])
        )
        weights = list(self.weights.values())
        for weight, x, y in zip(weights, one, other, strict=True):
            weight.grad = (x + y) / 2
        if torch.isfinite(torch.nn.utils.clip_grad_norm_(weights, 1.0)):
            self.optimizer.param_groups[0]["lr"] = self.rate * pace * min(1, self.steps / 50)
            self.optimizer.step()
            keep = min(0.999, self.steps / (self.steps + 10))
            with torch.no_grad():
                torch._foreach_lerp_(list(self.average.values()), [x.detach() for x in weights], 1 - keep)
            self.steps += 1
        return [(x + y) / 2 for x, y in zip(losses, more, strict=True)]

    def state(self) -> dict:
        own = {name: value.detach() for name, value in self.weights.items()}
        return {"w": own, "avg": self.average, "opt": self.optimizer.state_dict(), "steps": self.steps}

    def restore(self, state: dict) -> None:
        with torch.no_grad():
            for name, value in self.weights.items():
                value.copy_(state["w"][name])
                self.average[name].copy_(state["avg"][name])
        self.optimizer.load_state_dict(state["opt"])
        self.steps = state["steps"]
        self.publish()
