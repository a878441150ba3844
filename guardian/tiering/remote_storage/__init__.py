"""The port to remote stores: what really lies there, file by file, and the deletion of files that were listed.

stores.py   a URL -> the store behind it
local.py    file:///dir, the layout of Kafka's LocalTieredStorage
hdfs.py     hdfs://host/dir, through the plugin's own HdfsTool, which knows Hadoop's settings and Kerberos
"""
