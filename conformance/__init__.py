"""The proof: golden cases, what judges them, and the run that no backend passes by doing nothing."""
