"""Charts as SVG: panels of curves side by side, with one legend. For the scripts that draw results."""
import math

COLORS = ["#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#e377c2", "#17becf",
          "#bcbd22", "#555555"]


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def dot(x, y, color):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{color}" stroke="white"/>'


class Panel:
    """One chart: curves of (x, y) over a logarithmic x axis; y logarithmic or linear."""

    width, height, left, top, bottom = 330, 220, 62, 30, 42

    def __init__(self, title, x_label, y_label, log_x=True, log_y=True, x_ticks=()):
        if 7.5 * len(title) > self.width:  # a bold letter is seldom wider
            raise ValueError(f"'{title}' is cut off: {len(title)} letters do not fit over a panel")
        self.title, self.x_label, self.y_label = title, x_label, y_label
        self.log_x, self.log_y, self.x_ticks = log_x, log_y, x_ticks  # no ticks: round numbers
        self.curves = []  # name, points, steps, thin, dots
        self.bands = []  # name, (x, low, high)

    def add(self, name, points, steps=True, thin=False, dots=False):
        if points:
            self.curves.append((name, points, steps, thin, dots))

    def add_band(self, name, points):
        """An interval of every x, (x, low, high), behind the curve of that name."""
        self.bands.append((name, points))

    @staticmethod
    def ticks(least, most, log):
        if log and most / least > 20:
            first, last = math.ceil(math.log10(least) - 1e-9), math.floor(math.log10(most) + 1e-9)
            every = max(1, round((last - first) / 5))
            return [10.0 ** e for e in range(first, last + 1, every)]
        rough = (most - least) / 4
        power = 10 ** math.floor(math.log10(rough))
        step = next(power * s for s in (1, 2, 5, 10) if power * s >= rough)
        return [step * i for i in range(math.ceil(least / step - 1e-9), int(most / step + 1e-9) + 1)]

    def svg(self, x0, y0, colors):
        xs = [x for _, points, *_ in self.curves for x, _ in points]
        ys = [y for _, points, *_ in self.curves for _, y in points]
        ys += [y for _, points in self.bands for _, *both in points for y in both]
        limits = []
        for values, log in ((xs, self.log_x), (ys, self.log_y)):
            least, most = min(values), max(values)
            if least == most:
                least, most = least * 0.9 if log else least - 1, most * 1.1 if log else most + 1
            room = (most / least) ** 0.03 if log else (most - least) * 0.04
            limits.append((least / room, most * room) if log else (least - room, most + room))
        (x_least, x_most), (y_least, y_most) = limits

        def place(value, least, most, log):
            if log:
                return math.log(value / least) / math.log(most / least)
            return (value - least) / (most - least)

        def at_x(x):
            return x0 + self.left + self.width * place(x, x_least, x_most, self.log_x)

        def at_y(y):
            return y0 + self.top + self.height * (1 - place(y, y_least, y_most, self.log_y))

        left, top = x0 + self.left, y0 + self.top
        out = [f'<text x="{left}" y="{top - 10}" font-size="13" font-weight="bold">'
               f'{escaped(self.title)}</text>']
        for tick in self.x_ticks or self.ticks(x_least, x_most, self.log_x):
            x = at_x(tick)
            out.append(f'<path d="M{x:.1f} {top}v{self.height}" stroke="#e4e4e4"/><text x="{x:.1f}" '
                       f'y="{top + self.height + 15}" text-anchor="middle">{tick:,.5g}</text>')
        for tick in self.ticks(y_least, y_most, self.log_y):
            y = at_y(tick)
            label = f"{tick:.3g}" if abs(tick) >= 1e5 or 0 < abs(tick) < 1e-3 else f"{tick:,.4g}"
            out.append(f'<path d="M{left} {y:.1f}h{self.width}" stroke="#e4e4e4"/><text '
                       f'x="{left - 5}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
        for name, points in self.bands:
            ring = [(x, high) for x, _, high in points] + [(x, low) for x, low, _ in reversed(points)]
            out.append(f'<path d="M{"L".join(f"{at_x(x):.1f} {at_y(y):.1f}" for x, y in ring)}Z" '
                       f'fill="{colors[name]}" opacity="0.13"/>')
        for name, points, steps, thin, dots in self.curves:
            color = colors[name]
            if dots:
                out += [dot(at_x(x), at_y(y), color) for x, y in points]
                continue
            path = ""
            for x, y in points:
                x, y = at_x(x), at_y(y)
                path += (f"M{x:.1f} {y:.1f}" if not path else
                         f"H{x:.1f}V{y:.1f}" if steps else f"L{x:.1f} {y:.1f}")
            out.append(f'<path d="{path}" fill="none" stroke="{color}" '
                       f'stroke-width="{1 if thin else 1.8}" opacity="{0.6 if thin else 1}"/>')
        out.append(f'<rect x="{left}" y="{top}" width="{self.width}" height="{self.height}" '
                   'fill="none" stroke="#888"/>')
        out.append(f'<text x="{left + self.width / 2}" y="{top + self.height + 32}" '
                   f'text-anchor="middle">{escaped(self.x_label)}</text>')
        out.append(f'<text transform="translate({x0 + 11},{top + self.height / 2}) rotate(-90)" '
                   f'text-anchor="middle">{escaped(self.y_label)}</text>')
        return "\n".join(out)


def figure(panels, columns):
    """Panels side by side, with one legend below."""
    names, dotted = [], set()
    for panel in panels:
        names += [name for name, *_ in panel.curves if name not in names]
        dotted |= {name for name, *_, dots in panel.curves if dots}
    colors = {name: COLORS[i % len(COLORS)] for i, name in enumerate(names)}
    cell_w = Panel.width + Panel.left + 22
    cell_h = Panel.height + Panel.top + Panel.bottom + 8
    rows = -(-len(panels) // columns)
    width = columns * cell_w + 6
    lines, x, y = [], 12, rows * cell_h + 16
    for name in names:
        room = 34 + 7 * len(name)
        if x + room > width:
            x, y = 12, y + 18
        sign = dot(x + 9, y, colors[name]) if name in dotted else \
            f'<path d="M{x} {y}h18" stroke="{colors[name]}" stroke-width="3"/>'
        lines.append(f'{sign}<text x="{x + 24}" y="{y + 4}">{escaped(name)}</text>')
        x += room
    body = [panel.svg((i % columns) * cell_w, (i // columns) * cell_h, colors)
            for i, panel in enumerate(panels)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 14}" '
            'font-family="sans-serif" font-size="11">\n'
            f'<rect width="{width}" height="{y + 14}" fill="white"/>\n'
            + "\n".join(body + lines) + "\n</svg>\n")
