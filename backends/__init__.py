"""How operations are computed: one folder for each built-in backend."""
