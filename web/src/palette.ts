// Colours that people with any kind of colour vision tell apart (Okabe and Ito), by what they
// stand for, so that a tensor has one colour on the whole page.

const kColours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f", "#882255", "#44aa99"];
const kFixed: Record<string, number> = {
  Weights: 0, filter: 0, B: 0,
  Inputs: 1, input: 1, A: 1,
  Outputs: 2, output: 2, Z: 2,
  MACs: 3,
};
const seen = new Map<string, number>();

export function colourOf(name: string): string {
  let index = kFixed[name] ?? seen.get(name);
  if (index === undefined) {
    index = 3 + (seen.size % (kColours.length - 3));
    seen.set(name, index);
  }
  return kColours[index] as string;
}

export function colourAt(index: number): string {
  return kColours[index % kColours.length] as string;
}
