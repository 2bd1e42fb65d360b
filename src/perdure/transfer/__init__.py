"""Moving house: a whole space as a file, and a space from one."""

from perdure.transfer.exporting import Exported, export_space
from perdure.transfer.format import LEFT_OUT, Manifest, is_export
from perdure.transfer.importing import Imported, import_space

__all__ = ["LEFT_OUT", "Exported", "Imported", "Manifest", "export_space", "import_space", "is_export"]
