// The frame of every chart: a title, the data behind it as CSV, and the picture as SVG or PNG.
import { h } from "./dom";

export type Row = (string | number | null)[];

function csvCell(value: string | number | null): string {
  const text = value === null ? "" : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv(rows: Row[]): string {
  return rows.map((row) => row.map(csvCell).join(",")).join("\n") + "\n";
}

function save(name: string, type: string, content: BlobPart): void {
  const link = h("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const kInlined = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "opacity", "fill-opacity", "stroke-opacity", "paint-order"];

// A copy that looks the same without the page's style.
function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const originals = [svg, ...svg.querySelectorAll<SVGElement>("*")];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  originals.forEach((original, i) => {
    const style = getComputedStyle(original);
    for (const name of kInlined) copies[i]?.setAttribute(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}

function savePng(name: string, svg: SVGSVGElement): void {
  const scale = 2;
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = svg.viewBox.baseVal.width * scale;
    canvas.height = svg.viewBox.baseVal.height * scale;
    const context = canvas.getContext("2d");
    if (context === null) return;
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && save(`${name}.png`, "image/png", blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg))}`;
}

// How to draw as SVG what a canvas shows.
const makers = new WeakMap<Element, () => SVGSVGElement>();
export function drawnBy(body: Element, make: () => SVGSVGElement): void {
  makers.set(body, make);
}

// `body` is the picture, or what holds a canvas or a table.
export function chart(title: string, rows: Row[], body: Element, note = ""): HTMLElement {
  const name = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const maker = makers.get(body);
  const svg = body instanceof SVGSVGElement ? body : body.querySelector<SVGSVGElement>('svg[role="img"]');
  const buttons = h("div", { class: "buttons" });
  const add = (label: string, action: () => void) =>
    buttons.append(h("button", { type: "button", click: action, "aria-label": `${title} as ${label}` }, label));
  add("CSV", () => save(`${name}.csv`, "text/csv", toCsv(rows)));
  if (svg) {
    add("SVG", () => save(`${name}.svg`, "image/svg+xml", standalone(svg)));
    add("PNG", () => savePng(name, svg));
  } else if (maker) {
    // Drawn for a moment where nobody sees it, so that the page's style applies.
    add("SVG", () => {
      const drawn = maker();
      document.body.append(drawn);
      save(`${name}.svg`, "image/svg+xml", standalone(drawn));
      drawn.remove();
    });
    add("PNG", () => {
      body.querySelector("canvas")?.toBlob((blob) => blob && save(`${name}.png`, "image/png", blob));
    });
  }
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", {}, h("h3", {}, title), buttons),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": title }, body),
    note ? h("p", { class: "note" }, note) : null,
  );
}
