"""How reports are shown: on a terminal, as JSON, JUnit XML, a page, or a badge."""
