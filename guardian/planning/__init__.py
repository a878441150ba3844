"""Make plans on request, beside Spark: the commands, the pages and the planner inside a member."""
