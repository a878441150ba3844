"""Keep what people tell Guardian: clusters, machines, tenants, topics, IDC policies, exclusions."""
