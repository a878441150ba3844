"""The command line: a thin client. One module per command group; exit code 2 and one sentence for what is wrong."""
