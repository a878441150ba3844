"""Make tickets for troubles that last, without a person."""
