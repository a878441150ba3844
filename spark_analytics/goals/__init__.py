"""What a good placement is: one goal a file. Pure."""
