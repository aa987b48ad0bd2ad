"""A device: publishes its position once a second and acknowledges commands.

pip install paho-mqtt && python device.py 127.0.0.1 1883 DEVICEID SECRET
"""
import itertools
import json
import sys
import time

import paho.mqtt.client as mqtt

host, port, device_id, secret = sys.argv[1:5]
topic = f"v1/devices/{device_id}/%s"


def on_message(client, userdata, message):
    command = json.loads(message.payload)
    if time.time() >= command["expiresAt"]:
        return  # never execute an expired command
    print("executing", command["action"], flush=True)
    client.publish(topic % "acks", json.dumps({"id": command["id"], "ok": True}), qos=1)


# paho-mqtt 2 asks for the version of its callbacks, paho-mqtt 1 has none
version = [mqtt.CallbackAPIVersion.VERSION2] if hasattr(mqtt, "CallbackAPIVersion") else []
client = mqtt.Client(*version, client_id=device_id)
client.username_pw_set(device_id, secret)
client.on_connect = lambda client, *_: client.subscribe(topic % "commands", qos=1)
client.on_message = on_message
client.connect(host, int(port))
client.loop_start()

for sequence in itertools.count(1):
    location = {"latitude": 48.8566 + sequence / 10_000, "longitude": 2.3522, "speed": 40}
    reading = {"timestamp": time.time(), "sequence": sequence, "location": location, "status": {"ignition": True}}
    client.publish(topic % "telemetry", json.dumps(reading), qos=1).wait_for_publish()
    print("stored", reading["timestamp"], flush=True)  # the PUBACK has arrived: the platform has the reading on disk
    time.sleep(1)
