import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeUpload, sourceFormats } from '@odograph/codec/uploads';
import { sourceFormatNames } from '@odograph/contracts/sources';
import { afterEach, expect, it } from 'vitest';
import { SourceSender } from './source-sender.ts';

const deviceId = '350000000000001';
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A platform that answers with the given status codes, and then with 200. */
async function startPlatform(statuses: number[]) {
  const requests: { url: URL; authorization: string | undefined; body: unknown }[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const status = statuses.shift() ?? 200;
    const text = Buffer.concat(chunks).toString();
    const url = new URL(request.url ?? '', 'http://platform');
    const body: unknown = text === '' ? Object.fromEntries(url.searchParams) : JSON.parse(text);
    if (status === 200) requests.push({ url, authorization: request.headers.authorization, body });
    response.writeHead(status).end();
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

it.each(sourceFormatNames)('sends messages of %s once each, in order, and repeats what failed', async (format) => {
  const { url, requests } = await startPlatform([503, 200, 429]);
  const sender = new SourceSender({ url, format, deviceId, secret: 'hush', messagesPerRequest: 2 });
  for (let second = 0; second < 5; second += 1) {
    sender.record({ timestamp: 1_763_712_000 + second, location: { latitude: 48.8566, longitude: 2.3522 } });
  }
  await sender.drain();
  expect(sender.bufferedMessages).toBe(0);
  const messages = requests.flatMap(({ body }) =>
    sourceFormats[format].split({ body, device: deviceId, receivedAtMs: 0 }),
  );
  expect(new Set(messages.map(({ device }) => device))).toEqual(new Set([deviceId]));
  const { readings } = decodeUpload(format, JSON.stringify(messages.map(({ message }) => message)), 0);
  expect(readings.map(({ reading }) => reading.timestamp - 1_763_712_000)).toEqual([0, 1, 2, 3, 4]);
  const [request] = requests;
  expect(request?.url.pathname).toBe(format === 'osmand' ? `/in/osmand/${deviceId}` : `/in/${format}`);
  expect(request?.url.searchParams.get('secret') ?? request?.authorization).toBeTruthy();
});

it('stops where its secret is refused', async () => {
  const { url } = await startPlatform([401]);
  const sender = new SourceSender({ url, format: 'traccar', deviceId, secret: 'wrong' });
  sender.record({ timestamp: 1 });
  await expect(sender.drain()).rejects.toThrow('401');
  expect(sender.bufferedMessages).toBe(1);
});
