"""What members say to each other, and how it gets there."""
