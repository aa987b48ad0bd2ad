"""Client of Odograph's HTTP interface. `operations.py` and `models.py` are generated when the platform is built."""

from .client import Client, OdographError
from .operations import Operations

__all__ = ["Odograph", "OdographError"]


class Odograph(Operations, Client):
    """Calls a platform: one method for each operation. It signs in with its first call."""
