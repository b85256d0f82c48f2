"""How a report is shown: on a terminal, or as JSON."""
