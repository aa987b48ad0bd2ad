import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { afterEach, describe, expect, it } from 'vitest';

let device: ChildProcess | undefined;

const platform = await usePlatform([ingestService, brokerService, queryService, commandService]);
afterEach(() => device?.kill());

const example = (name: string): string => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

/** Waits for the first output line that starts with a word. @returns the rest of the line */
async function nextLine(child: ChildProcess, word: string): Promise<string> {
  if (!child.stdout) throw new Error('the example has no standard output');
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith(`${word} `)) return line.slice(word.length + 1);
  }
  throw new Error(`the example ended without printing '${word}'`);
}

/** Finds a Python with paho-mqtt: the one on the PATH, or Debian's. */
const python = ['python3', '/usr/bin/python3'].find(
  (command) => spawnSync(command, ['-c', 'import paho.mqtt.client']).status === 0,
);

const examples = [
  {
    name: 'device.mjs',
    missing: undefined,
    start: (url: URL, id: string, secret: string) =>
      spawn(process.execPath, [example('device.mjs'), url.href, id, secret], { stdio: ['ignore', 'pipe', 'inherit'] }),
  },
  {
    name: 'device.py',
    missing: python ? undefined : 'no python3 has paho-mqtt',
    start: (url: URL, id: string, secret: string) =>
      spawn(python ?? 'python3', [example('device.py'), url.hostname, url.port, id, secret], {
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
  },
];

describe.each(examples)('examples/$name', ({ missing, start }) => {
  it.skipIf(missing !== undefined)(
    `stores readings that the history returns, and acknowledges a command${missing ? ` (skipped: ${missing})` : ''}`,
    async () => {
      const application = await createApplication(platform.db);
      const vehicle = await createVehicle(platform.db, application);
      const api = platform.as(application.token);
      device = start(new URL(platform.mqttUrl), vehicle.deviceId, vehicle.secret);
      const timestamp = Number(await nextLine(device, 'stored'));
      await eventually(async () => {
        const { body } = await api.get(
          `/v1/vehicle/${vehicle.id}/history?from=${timestamp - 1}&until=${timestamp + 60}`,
        );
        expect(body.status[0].timestamp).toBeCloseTo(timestamp, 3);
      });
      const { status, body } = await api.post('/v1/vehicle/lock', { vehicleId: vehicle.id });
      expect({ status, body }).toEqual({ status: 200, body: { Status: 'CLOSED' } });
    },
  );
});
