"""The difference of two places as a page that stands alone: no script, nothing from elsewhere."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from api.pages.state_values import said


def difference_page(difference: dict[str, Any], title: str) -> str:
    """The page for the answer of `difference`, in HTML. All story text is escaped."""
    environment = Environment(
        loader=PackageLoader("api", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("difference.html.j2").render(title=title, said=said, **difference)
