"""Stable-Baselines3 PPO on tessera/Mapping-v0. Needs `pip install stable-baselines3`."""
import sys

import gymnasium
import numpy as np

import tessera

try:
    from stable_baselines3 import PPO
except ImportError:
    sys.exit("stable-baselines3 is not installed")

env = gymnasium.make("tessera/Mapping-v0", objective="edp", reward="log", horizon=64)
env.action_space.seed(1)
env.reset(seed=1)
chance = np.mean([float(env.step(env.action_space.sample())[1]) for _ in range(64)])

model = PPO("MlpPolicy", env, n_steps=512, gamma=0.0, seed=1, device="cpu", verbose=0)
model.learn(total_timesteps=int(sys.argv[1]) if len(sys.argv) > 1 else 8192)
observation, _ = env.reset(seed=1)
action, _ = model.predict(observation, deterministic=True)
learned = float(env.step(action)[1])
print(f"reward of the learned mapping: {learned:.3f}, of random ones: {chance:.3f}, with tessera {tessera.__version__}")
