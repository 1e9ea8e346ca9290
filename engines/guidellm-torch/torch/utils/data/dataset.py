from typing import Generic, TypeVar

Item = TypeVar("Item")


class IterableDataset(Generic[Item]):
    pass
