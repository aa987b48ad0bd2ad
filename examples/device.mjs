// A device: publishes its position once a second and acknowledges commands.
// npm install mqtt && node device.mjs mqtt://127.0.0.1:1883 DEVICEID SECRET
import mqtt from 'mqtt';

const [url, deviceId, secret] = process.argv.slice(2);
const topic = (channel) => `v1/devices/${deviceId}/${channel}`;
const client = await mqtt.connectAsync(url, { clientId: deviceId, username: deviceId, password: secret });
await client.subscribeAsync(topic('commands'), { qos: 1 });

client.on('message', (_topic, payload) => {
  const { id, action, expiresAt } = JSON.parse(payload.toString());
  if (Date.now() / 1000 >= expiresAt) return; // never execute an expired command
  console.log('executing', action);
  client.publish(topic('acks'), JSON.stringify({ id, ok: true }), { qos: 1 });
});

for (let sequence = 1; ; sequence += 1) {
  const location = { latitude: 48.8566 + sequence / 10_000, longitude: 2.3522, speed: 40 };
  const reading = { timestamp: Date.now() / 1000, sequence, location, status: { ignition: true } };
  await client.publishAsync(topic('telemetry'), JSON.stringify(reading), { qos: 1 });
  console.log('stored', reading.timestamp); // the PUBACK has arrived: the platform has the reading on disk
  await new Promise((resolve) => setTimeout(resolve, 1000));
}
