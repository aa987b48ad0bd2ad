// A child process that forwards messages over HTTP as other systems do: on each connection a request after the answer to the one before.
import { Agent, request } from 'node:http';
import { encodeMessage } from '@odograph/codec/encode-messages';
import { readSettings, serveParent } from './child-script.ts';

export interface SourceLoadSettings {
  httpUrl: string;
  /** Connections that are kept open; each forwards for devices of its own. */
  connections: number;
}

export interface SourceUpload {
  kind: 'upload';
  format: 'flespi' | 'traccar';
  messagesPerRequest: number;
  secret: string;
  deviceIds: readonly string[];
  /** A multiple of the connections and of the messages of a request. */
  records: number;
  /** UNIX ms of the first record of each device. */
  firstMs: number;
  /** Between two records of a device. */
  intervalMs: number;
}

const { httpUrl, connections } = readSettings<SourceLoadSettings>();
const agents = Array.from({ length: connections }, () => new Agent({ keepAlive: true, maxSockets: 1 }));

/** Sends a body and waits for the answer. @throws for any status but 200 */
function post(agent: Agent, path: string, secret: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${secret}`, 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, httpUrl), { agent, method: 'POST', headers }, (response) => {
      response.resume().once('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${path} answered ${response.statusCode}`));
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

/** A record as a device with a CAN adapter reports it: a position and seven values. */
function readingAt(timeMs: number) {
  const location = { latitude: 48.8566, longitude: 2.3522, altitude: 35, angle: 90, satellites: 11, speed: 50 };
  return {
    ...{ timestamp: timeMs / 1000, location, status: { ignition: true, movement: true, mileage: 12_345 } },
    can: [
      ...[
        { key: 'engine_rpm', value: '2071' },
        { key: 'external_voltage', value: '13.8' },
      ],
      ...[
        { key: 'gsm_signal', value: '4' },
        { key: 'battery_voltage', value: '4.1' },
      ],
    ],
  };
}

async function uploadAll(upload: SourceUpload): Promise<{ seconds: number; bytes: number }> {
  const { format, secret, deviceIds, records, messagesPerRequest: perRequest, firstMs, intervalMs } = upload;
  const perConnection = records / connections;
  let bytes = 0;
  const start = performance.now();
  const forward = async (agent: Agent, connection: number): Promise<void> => {
    const own = deviceIds.filter((_id, index) => index % connections === connection);
    for (let sent = 0; sent < perConnection; sent += perRequest) {
      const messages = Array.from({ length: perRequest }, (_message, index) => {
        const record = sent + index;
        const timeMs = firstMs + Math.floor(record / own.length) * intervalMs;
        return encodeMessage(format, own[record % own.length] ?? '', readingAt(timeMs));
      });
      const body = JSON.stringify(perRequest === 1 ? messages[0] : messages);
      bytes += body.length;
      await post(agent, `/in/${format}`, secret, body);
    }
  };
  await Promise.all(agents.map(forward));
  return { seconds: (performance.now() - start) / 1000, bytes };
}

serveParent({ upload: uploadAll });
