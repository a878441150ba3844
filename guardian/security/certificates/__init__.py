"""X.509 certificates: whose they are and until when, and an authority of our own for trying things out.

    facts.py      what a certificate or a list of revoked ones says
    authority.py  makes authorities, certificates and lists of revoked ones; no files, no clock
    folder.py     the same as PEM files in a folder: what `guardian certs` and `guardian local up --tls` do

A company has an authority already: then only `facts` is of use, and Guardian is given files that others make.
"""
