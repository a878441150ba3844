"""`guardian plan`: a member makes plans, or Spark from the lake; what one would change is shown before anything is."""
