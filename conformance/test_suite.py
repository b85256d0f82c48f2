"""What ``pytest --pyargs opspec.conformance`` finds: its tests come from `pytest_plugin`."""
