"""The search for a better placement: rules, targets and a budget in, replicas and leaders out. Pure, compiled."""
