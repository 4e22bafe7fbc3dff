"""The run-time type checker that jaxtyping uses in tests: whole numbers pass as floats."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
