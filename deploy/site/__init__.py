"""The documentation as a site: pages of docs/, of the folders whose matter they are, and what code says of itself."""
