import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { brokerService } from '@odograph/broker/service';
import { childEnvironment } from '@odograph/runtime/config';
import { connectDevice } from '@odograph/simulator/device-connection';
import { settingsFrom } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { report } from './parts/testbed.fixture.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const timeoutMs = 300_000;
const connectionsAtOnce = 200;

/** Starts a broker process with a limit of `descriptors` open files. */
async function spawnLimited(settings: Record<string, string>, descriptors: number) {
  const command = [process.execPath, join(root, 'scripts/run.mjs'), 'services/platform/main.ts', 'broker'];
  const limited = ['-c', 'ulimit -n "$0" && exec "$@"', String(descriptors), ...command];
  const child = spawn('sh', limited, { cwd: root, env: childEnvironment(settings), stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const url = `http://127.0.0.1:${settings['HTTP_PORT']}/health`;
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(output);
    expect((await fetch(url)).status).toBe(200);
  }, timeoutMs / 2);
  return { child, url, output: () => output };
}

/** Opens connections that never send anything, from several addresses because one would run out of ports. */
async function openSilent(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let opened = 0; opened < count; opened += connectionsAtOnce) {
    const some = Array.from({ length: Math.min(connectionsAtOnce, count - opened) }, (_, index) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (index % 16)}` });
      socket.on('error', () => undefined);
      return socket;
    });
    sockets.push(...some);
    await Promise.all(some.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
  }
  return sockets;
}

it.skipIf(process.platform === 'win32')(
  'a process survives more silent connections than it has file descriptors, and devices still connect',
  async () => {
    const fixture = await startTestPlatform([brokerService]);
    const mqttPort = await freePort();
    const settings = { ...(await settingsFrom(fixture.config)), MQTT_PORT: String(mqttPort), LOG_LEVEL: 'warn' };
    const { child, url, output } = await spawnLimited(settings, scale.strangerDescriptors);
    try {
      const identity = await createDevice(fixture.db);
      const early = await connectDevice(`mqtt://127.0.0.1:${mqttPort}`, await createDevice(fixture.db));
      const sockets = await openSilent(mqttPort, scale.strangerConnections);
      // Timers of the process that need a descriptor run within a second.
      await delay(2000);
      if (child.exitCode !== null) throw new Error(output());
      expect((await fetch(url)).status).toBe(200);
      const begunMs = performance.now();
      const device = await connectDevice(`mqtt://127.0.0.1:${mqttPort}`, identity);
      await device.upload({ timestamp: 1 });
      const connectMs = Math.round(performance.now() - begunMs);
      await early.upload({ timestamp: 1 });
      const open = sockets.filter((socket) => !socket.closed).length;
      await report('silent connections', { attempted: sockets.length, open, connectMs });
      for (const socket of sockets) socket.destroy();
      await Promise.all([device.close(), early.close()]);
    } finally {
      child.kill('SIGKILL');
      await fixture.stop();
    }
  },
  timeoutMs,
);
