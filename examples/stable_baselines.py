"""Stable-Baselines3 PPO on tessera/Mapping-v0. Needs `pip install stable-baselines3`."""
import sys

import gymnasium

import tessera

try:
    from stable_baselines3 import PPO
except ImportError:
    sys.exit("stable-baselines3 is not installed")

env = gymnasium.make("tessera/Mapping-v0", objective="edp", reward="log", horizon=64)
model = PPO("MlpPolicy", env, n_steps=256, seed=1, device="cpu", verbose=0)
model.learn(total_timesteps=int(sys.argv[1]) if len(sys.argv) > 1 else 2048)
observation, _ = env.reset(seed=1)
action, _ = model.predict(observation, deterministic=True)
print("reward of the learned mapping:", env.step(action)[1], "with tessera", tessera.__version__)
