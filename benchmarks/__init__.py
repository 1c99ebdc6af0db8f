"""How fast this package is beside others, on one machine, in one run: `make benchmark`, or `python -m benchmarks`."""
