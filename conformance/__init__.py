"""The proof: golden cases, their judges, and the run that no backend passes by doing nothing."""
