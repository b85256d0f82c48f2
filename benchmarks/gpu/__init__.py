"""What one run on a GPU does: `gpu_run.py` calls these sections one after the other.

Each section is a function of a `Machine` and of the time that it may take, and returns what goes
into the JSON file. A machine is a GPU or, for a dry run, the emulator in its place.
"""
