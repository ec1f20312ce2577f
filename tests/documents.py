"""Of documents in Markdown, in the tree or where they were installed."""
import re


def dead_links(root, below=True):
    """["PAGE: TARGET"] of links between files that lead nowhere, in the pages of a directory, also of those below it."""
    pages = root.rglob("*.md") if below else root.glob("*.md")
    return [f"{page}: {target}" for page in pages for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())
            if not (page.parent / target).exists()]
