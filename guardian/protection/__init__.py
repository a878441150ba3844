"""Hold back what harms an unhealthy disk until it recovers."""
