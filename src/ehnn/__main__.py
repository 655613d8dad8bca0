"""``python -m ehnn`` is ``ehnn``."""

from ehnn.cli import main

if __name__ == "__main__":
    main()
