"""The port to remote stores: what really lies there, file by file. Nothing here changes anything.

stores.py   a URL -> the store behind it
local.py    file:///dir, the layout of Kafka's LocalTieredStorage
hdfs.py     hdfs://host/dir, read by the plugin's own HdfsTool, which knows Hadoop's settings and Kerberos
"""
