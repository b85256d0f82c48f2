"""How golden values are made, from sources that share nothing with the backends."""
