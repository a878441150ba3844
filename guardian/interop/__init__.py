"""Files of other tools, and our own: text in, values out. Pure: whoever calls reads and writes the files.

    json_file.py, yaml_tree.py   what every file has in common: whatever is wrong is one sentence with field, value, fix
    capacity_json.py             Cruise Control: what each broker has to give
    broker_sets_json.py          Cruise Control: brokers that stay among themselves, which are labels here
    confluent_placement.py       Confluent: how many replicas where, which is an IDC policy here
    topicctl_yaml.py             topicctl: a topic as it shall be
    federation_yaml.py           ours: the federation as it shall be (guardian apply); federation_*.py are its parts

The JSON of kafka-reassign-partitions is in guardian/interop/reassignment_json.py.
"""
