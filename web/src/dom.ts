// Elements from values. Text is always a text node, never markup, so that no name of a layer, a
// network or a file can become code.

type Child = Node | string | number | null | undefined;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;

function fill<T extends Element>(element: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name, value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// About as wide as a text of a picture is.
export function textWidth(texts: string[]): number {
  return 6.8 * Math.max(...texts.map((text) => text.length), 0);
}

// A picture with a description for those who do not see it.
export function picture(width: number, height: number, label: string, ...children: Child[]): SVGSVGElement {
  return s(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    ...children,
  ) as SVGSVGElement;
}
