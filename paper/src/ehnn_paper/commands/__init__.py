"""Commands that this package adds to `ehnn` (entry points of the group ``ehnn.commands``)."""
