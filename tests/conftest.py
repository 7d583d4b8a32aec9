"""What holds for every test: how cases are named, and how hypothesis runs."""

from hypothesis import settings

settings.register_profile("focus", deadline=None)  # machines are shared, time tells nothing
settings.load_profile("focus")


def pytest_make_parametrize_id(config: object, val: object, argname: str) -> str | None:
    """Bytes (often packed, with a time in them) are named by their parameter."""
    return argname if isinstance(val, bytes) else None
