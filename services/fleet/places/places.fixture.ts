import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { onTestFinished } from 'vitest';
import { fleetService } from '../service.ts';

/** The map file of the demo: Liechtenstein. */
export const streets = fileURLToPath(new URL('../../platform/demo/map/streets.pmtiles', import.meta.url));

/** Starts a platform, and connects to its Redis. */
export async function startWith(environment: Record<string, string>) {
  const platform = await startTestPlatform([fleetService], environment);
  const redis = connectRedis(platform.config.REDIS_URL, createLogger('silent'));
  await once(redis, 'ready');
  const stop = async () => {
    redis.disconnect();
    await platform.stop();
  };
  onTestFinished(stop);
  return { platform, redis, stop };
}

/** Starts a local stub of a geocoder or router. @returns its URL, and the paths of its requests */
export async function startUpstream(answer: (url: URL, response: ServerResponse, body: string) => void) {
  const requestPaths: string[] = [];
  const server = createServer((request, response) => {
    const { url = '' } = request;
    requestPaths.push(url);
    void text(request).then((body) => answer(new URL(url, 'http://upstream'), response, body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requestPaths };
}

/** Answers a request with JSON. */
export const sendJson = (response: ServerResponse, body: unknown) => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
};
