// Receives events of Odograph over a webhook, and verifies that they are genuine.
// node webhook-receiver.mjs whsec_SECRET 8787
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

const [secret, port] = process.argv.slice(2);
const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
const handled = new Set(); // in a database, so that it outlives this process

function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers;
  if (!(Math.abs(Date.now() / 1000 - timestamp) < 300)) return false; // recorded by someone and sent again
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  return signatures.split(' ').some((one) => {
    const given = Buffer.from(one.replace('v1,', ''), 'base64'); // two of them while the secret is rotated
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

async function receive(request, response) {
  const body = await buffer(request); // the bytes as they came: other JSON of the same event has another signature
  if (!isGenuine(request.headers, body)) return response.writeHead(400).end();
  const event = JSON.parse(body.toString());
  if (!handled.has(event.id)) console.log('event', event.type, event.id); // an event may come twice
  handled.add(event.id);
  response.writeHead(204).end(); // only now: without a 2xx it is sent again
}

const server = createServer((request, response) => {
  receive(request, response).catch(() => response.destroy());
});
server.listen(Number(port), () => console.log('listening', port));
