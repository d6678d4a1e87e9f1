"""What if the buffer were larger? The same layer on machines that differ in one size."""
import tessera

machine = tessera.load_accelerator("eyeriss-256")
buffer = next(level for level in reversed(machine.levels) if level.entries)
words = buffer.entries or 0
print(f"{machine.name}: level {buffer.name} has {words:,} words")

for factor in (0.25, 0.5, 1, 2, 4):
    entries = int(words * factor)
    other = machine.replace(name=f"{buffer.name}-{entries}", levels={buffer.name: {"entries": entries}})
    result = tessera.map("alexnet", other, layer=3, objective="energy", method="ga", samples=300)
    energy = result.total["energy_pj"] / 1e6
    print(f"  {entries:8,} words: {energy:8.2f} uJ, {result.total['cycles']:,} cycles, {result.status}")

# The same as one command: every point is mapped to its proof within the time.
found = tessera.sweep("alexnet", "simple3", layer=5, vary={"levels.GLB.entries": ["16K", "64K"]}, time_limit=20)
print(found.to_pandas().to_string())
