"""From a placement found to a plan that says why, in which order, how long and over which lines. Pure."""
