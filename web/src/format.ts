// Numbers for people: the same digits as in the terminal's tables.

export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return value.toLocaleString("en-US");
  const text = value.toPrecision(4);
  return text.includes("e") ? Number(text).toExponential(3) : String(Number(text));
}

// Numbers along an axis: as many digits as tell neighbours apart, and no more.
export function ticks(values: number[]): string[] {
  const size = Math.max(...values.map(Math.abs), 1e-300), sorted = [...values].sort((a, b) => a - b);
  const step = Math.min(...sorted.slice(1).map((value, i) => value - (sorted[i] as number)).filter((gap) => gap > 0), size);
  const digits = Math.min(12, Math.max(1, Math.ceil(Math.log10(size / step) - 1e-9) + 1));
  return values.map((value) => {
    const rounded = Number(value.toPrecision(digits));
    if (rounded !== 0 && (Math.abs(rounded) >= 1e7 || Math.abs(rounded) < 1e-4)) return rounded.toExponential().replace("e+", "e");
    return rounded.toLocaleString("en-US", { maximumFractionDigits: 10 });
  });
}

// Even numbers from low to high, about four of them.
export function niceSteps(low: number, high: number): number[] {
  const rough = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10);
  const steps: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) steps.push(i * step);
  return steps;
}

export function percent(part: number | null | undefined): string {
  if (part === null || part === undefined || !Number.isFinite(part)) return "–";
  return `${(100 * part).toFixed(part !== 0 && Math.abs(part) < 0.1 ? 2 : 1)} %`;
}

const kUnits: [number, string][] = [
  [1e12, "J"],
  [1e9, "mJ"],
  [1e6, "µJ"],
  [1e3, "nJ"],
];

export function energy(pj: number): string {
  for (const [size, unit] of kUnits) {
    if (Math.abs(pj) >= size) return `${Number((pj / size).toPrecision(4))} ${unit}`;
  }
  return `${Number(pj.toPrecision(4))} pJ`;
}
