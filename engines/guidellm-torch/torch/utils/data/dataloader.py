from typing import Generic, TypeVar

Item = TypeVar("Item")


class DataLoader(Generic[Item]):
    def __init__(self, dataset, collate_fn, **_):
        self.dataset = dataset
        self.collate_fn = collate_fn

    def __iter__(self):
        return (self.collate_fn([item]) for item in self.dataset)
