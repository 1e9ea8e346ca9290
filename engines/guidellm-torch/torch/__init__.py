# Stands in for the parts of PyTorch that guidellm and its requirements touch.

from . import utils


class Generator:
    def manual_seed(self, seed):
        return self


class Tensor:
    pass


class nn:
    class Module:
        pass
