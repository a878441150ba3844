"""One member at work on its tick thread."""
