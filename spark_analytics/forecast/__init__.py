"""When a disk will be full and a broker hot, from the trend. Pure."""
