# An S3 and CloudWatch server that checks signatures and policies: moto, with an owner that has all permissions and a reader that may not write.
# Prints their keys as one line of JSON once it listens. Its data is in memory and is lost when it stops.
import json
import os
import sys
import time

port = int(sys.argv[1])
# Moto names CloudWatch's actions after the service name in the signature, which is monitoring.
users = {"owner": ["s3:*", "monitoring:*"], "reader": ["s3:Get*", "s3:List*"]}
# Creating a user takes three calls; all later ones must be signed by a user and allowed by its policy.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = str(3 * len(users))

import boto3
from moto.server import ThreadedMotoServer

ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False).start()
iam = boto3.client(
    "iam",
    endpoint_url=f"http://127.0.0.1:{port}",
    region_name="us-east-1",
    aws_access_key_id="nobody",
    aws_secret_access_key="nobody",
)
keys = {}
for name, actions in users.items():
    rule = {"Effect": "Allow", "Action": actions, "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [rule]})
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=policy)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    keys[name] = {"accessKeyId": key["AccessKeyId"], "secretAccessKey": key["SecretAccessKey"]}
print("keys", json.dumps(keys), flush=True)
while True:
    time.sleep(3600)
