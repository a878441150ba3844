"""`guardian plan`: plans are made by Spark from the lake; what they would change is shown before anything is."""
