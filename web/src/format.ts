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
