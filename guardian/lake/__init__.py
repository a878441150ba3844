"""Write the metrics lake and keep it tidy."""
