"""Tables of result pages that are made of kept runs: written into their pages, or checked against them.

A table stands in its page between two lines of HTML comments with its name; nothing else may change it.
"""
import os
import re


def table(head, body):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in body]) + "\n"


def put_table(page, name, made, source, check):
    """Writes a table into its page; with `check` returns what is wrong instead, or an empty text."""
    text = open(page).read()
    marks = re.compile(rf"(<!-- table {name} -->\n\n).*?(\n<!-- end of {name} -->)", re.S)
    if not marks.search(text):
        return f"{page}: no place for table {name}"
    new = marks.sub(lambda found: found[1] + made + found[2], text)
    if new == text:
        return ""
    if check:
        return f"{page}: table {name} is not what {source} gives"
    open(page, "w").write(new)
    return ""


def put_file(path, made, source, check):
    """The same for a file as a whole: a figure."""
    if check:
        same = os.path.exists(path) and open(path).read() == made
        return "" if same else f"{path} is not what {source} gives"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write(made)
    return ""
