import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer, globalAgent } from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandAcknowledgement, CommandMessage } from '@odograph/contracts/commands';
import type { FlespiCommand } from '@odograph/contracts/device-models';
import { createLogger } from '@odograph/runtime/logger';
import { Counter } from '@odograph/runtime/metrics';
import { Sealer, sourceTokenContext } from '@odograph/runtime/sealing';
import { FlespiServer, notConnected } from '@odograph/simulator/flespi-server';
import { freePort } from '@odograph/testkit/free-port';
import { hasOpenssl } from '@odograph/testkit/programs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FlespiCommands, type FlespiCommandsOptions, sendToFlespi } from './flespi-commands.ts';

const flespi = new FlespiServer();
const deviceId = '350000000000001';
const command: FlespiCommand = {
  ...{ flespi: { name: 'custom', properties: { text: 'setdigout 1?' } }, success: ['DOUT1:ON'] },
  refusal: ['disabled from CFG'],
};
let url: string;

beforeAll(async () => {
  url = await flespi.start();
});
beforeEach(() => {
  flespi.calls.length = 0;
  flespi.script = () => [200, { result: [{ response: 'DOUT1:ON' }] }];
});
afterAll(() => flespi.stop());

const send = (waitMs = 30_000, to = url, withinMs = 10_500) =>
  sendToFlespi({
    ...{ url: to, token: 'the token', ident: deviceId, command: command.flespi, waitMs },
    expiresAtMs: Date.now() + withinMs,
  });
const errors = (reason: string) => ({ errors: [{ code: 2, reason }] });

describe('the outcome of a request to flespi', () => {
  it.each([
    ['a text', { result: [{ response: 'DOUT1:ON' }] }, 'DOUT1:ON'],
    ['an object', { result: [{ response: { dout: 1 } }] }, '{"dout":1}'],
    ['the command itself, as executed', { result: [{ id: 7, executed: true }] }, '{"id":7,"executed":true}'],
  ])('is the answer of the device: %s', async (_what, body, answer) => {
    flespi.script = () => [200, body];
    expect(await send()).toEqual({ kind: 'answered', answer });
  });

  it.each([
    ['the device is not connected', 400, errors(notConnected('custom')), /is not connected/],
    ['the same with a status of success', 200, errors(notConnected('custom')), /is not connected/],
    ['flespi has no such device', 200, { result: [] }, /no device of this ident/],
    ['the token is not valid', 401, errors('unauthorized'), /unauthorized/],
    ['the command does not exist', 400, errors('invalid command'), /invalid command/],
    ['flespi limits the rate', 429, 'slow down', /HTTP 429/],
    ['flespi names another address, which does not get the token', 302, {}, /HTTP 302/],
  ])('is a refusal when %s', async (_what, status, body, reason) => {
    flespi.script = () => [status, body];
    expect(await send()).toEqual({ kind: 'refused', reason: expect.stringMatching(reason) });
  });

  it('is a refusal when flespi cannot be reached, since nothing was sent', async () => {
    const reason = 'flespi cannot be reached (ECONNREFUSED); nothing was sent';
    expect(await send(30_000, `http://127.0.0.1:${await freePort()}`)).toEqual({ kind: 'refused', reason });
  });

  it.each([
    ['the device did not answer', 400, errors('no response from the device')],
    ['the time was over', 200, errors('command timeout')],
    ['flespi fails', 502, 'bad gateway'],
    ['flespi has not executed it', 200, { result: [{ executed: false }] }],
    ['the body is no JSON', 200, 'done'],
    [
      'one of two devices with the ident is not connected',
      200,
      { result: [{ response: 'DOUT1:ON' }], ...errors(notConnected('custom')) },
    ],
    ['the result is none', 200, { result: [null] }],
    ['the body is too long', 200, { result: [{ response: 'x'.repeat(100_000) }] }],
  ])('is open when %s', async (_what, status, body) => {
    flespi.script = () => [status, body];
    expect(await send()).toMatchObject({ kind: 'unknown' });
  });

  it('is open when flespi is killed while it has the command, or does not answer in time', async () => {
    flespi.script = (_call, response) => void response.destroy();
    expect(await send()).toMatchObject({ kind: 'unknown' });
    flespi.script = () => undefined;
    expect(await send(50)).toEqual({ kind: 'unknown', reason: 'no answer in time' });
  });

  it('is open, without an unhandled error, when the connection fails while the body is read', async () => {
    const begin = (response: ServerResponse) => void response.writeHead(200).write('{"result":[');
    flespi.script = (_call, response) => begin(response);
    expect(await send(300)).toMatchObject({ kind: 'unknown' });
    const reset = async (response: ServerResponse): Promise<void> => {
      begin(response);
      // Nothing shows that the client has the beginning; a reset before would discard it.
      await delay(200);
      response.socket?.resetAndDestroy();
    };
    flespi.script = (_call, response) => void reset(response);
    expect(await send()).toMatchObject({ kind: 'unknown' });
  });
});

describe.runIf(hasOpenssl)('a slow connection to flespi', () => {
  const bodies: string[] = [];
  let slowUrl: string;
  let stop: () => void = () => undefined;
  /** Holds each connection for this long before the handshake of TLS. */
  let heldMs = 0;

  beforeAll(async () => {
    const directory = mkdtempSync(join(tmpdir(), 'flespi-'));
    const [keyFile, file] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile];
    execFileSync('openssl', ['req', '-x509', ...key, '-out', file, '-days', '1', ...subject], { stdio: 'ignore' });
    const certificate = readFileSync(file);
    const server = createHttpsServer({ key: readFileSync(keyFile), cert: certificate });
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      bodies.push(await text(request));
      response.end(JSON.stringify({ result: [{ response: 'DOUT1:ON' }] }));
    };
    server.on('request', (request, response) => void answer(request, response));
    const forward = async (socket: Socket): Promise<void> => {
      socket.on('error', () => undefined);
      await delay(heldMs);
      const forwarded = connect((server.address() as AddressInfo).port, '127.0.0.1');
      forwarded.on('error', () => undefined);
      socket.pipe(forwarded).pipe(socket);
    };
    const gate = createServer((socket) => void forward(socket));
    await Promise.all([server, gate].map((one) => once(one.listen(0, '127.0.0.1'), 'listening')));
    slowUrl = `https://127.0.0.1:${(gate.address() as AddressInfo).port}`;
    globalAgent.options.ca = certificate;
    stop = () => {
      delete globalAgent.options.ca;
      server.closeAllConnections();
      server.close();
      gate.close();
      rmSync(directory, { recursive: true });
    };
  });
  afterAll(() => stop());

  it('leaves flespi only the time until expiry, and sends nothing afterwards', async () => {
    heldMs = 1500;
    const [inTime, late] = await Promise.all([send(30_000, slowUrl, 4500), send(30_000, slowUrl, 1200)]);
    expect(inTime).toEqual({ kind: 'answered', answer: 'DOUT1:ON' });
    expect(late).toEqual({ kind: 'refused', reason: expect.stringContaining('nothing was sent') });
    expect(bodies.map((body) => JSON.parse(body)[0].timeout)).toEqual([2]);
  });
});

/** Hands commands to a gateway, and returns what it acknowledged. */
async function receive(messages: readonly CommandMessage[], changes: Partial<FlespiCommandsOptions> = {}) {
  const sealer = new Sealer([randomBytes(32).toString('hex')], 'source tokens');
  const sealedToken = sealer.seal(Buffer.from('the token'), sourceTokenContext('source'));
  const claimed = new Set<string>();
  const acknowledged: CommandAcknowledgement[] = [];
  const commands = new FlespiCommands({
    ...{ url, sealer, logger: createLogger('silent') },
    findDevice: async () => ({
      ident: deviceId,
      commands: { IMMOBILIZE: command },
      source: { id: 'source', sealedToken },
    }),
    claim: async (id) => !claimed.has(id) && claimed.add(id) !== undefined,
    acknowledge: (_deviceId, acknowledgement) => acknowledged.push(acknowledgement),
    outcomes: new Counter({ name: 'outcomes', help: 'of the test', labelNames: ['outcome'], registers: [] }),
    ...changes,
  });
  for (const message of messages) commands.receive(deviceId, message);
  await commands.drain(30_000);
  return acknowledged;
}
const message = (id: string, withinMs = 20_000, action: CommandMessage['action'] = 'IMMOBILIZE'): CommandMessage => ({
  ...{ id, action, expiresAt: (Date.now() + withinMs) / 1000 },
});

describe('a command for a device behind flespi', () => {
  it('is sent with the token and the time that is left, and acknowledged by the answer', async () => {
    expect(await receive([message('one', 9500)])).toEqual([{ id: 'one', ok: true }]);
    expect(flespi.calls).toEqual([
      { ident: deviceId, authorization: 'FlespiToken the token', commands: [{ ...command.flespi, timeout: 9 }] },
    ]);
    flespi.script = () => [200, { result: [{ response: 'DOUT1 is disabled from CFG' }] }];
    expect(await receive([message('two')])).toEqual([{ id: 'two', ok: false, reason: 'DOUT1 is disabled from CFG' }]);
    expect(flespi.calls[1]?.commands[0]?.timeout).toBe(15);
  });

  it('is sent once when it arrives twice', async () => {
    const twice = message('one');
    expect(await receive([twice, twice])).toEqual([{ id: 'one', ok: true }]);
    expect(flespi.calls).toHaveLength(1);
  });

  it('is refused and not sent in its last second, without a command in the model, or without a token', async () => {
    const refused = await receive([message('late', 900), message('old', -1000), message('horn', 20_000, 'HONK')]);
    expect(refused.map(({ id, ok }) => `${id} ${ok}`).sort()).toEqual(['horn false', 'late false', 'old false']);
    const findDevice = async () => ({ ident: deviceId, commands: { IMMOBILIZE: command }, source: undefined });
    expect(await receive([message('one')], { findDevice })).toMatchObject([{ id: 'one', ok: false }]);
    expect(flespi.calls).toEqual([]);
  });

  it('is left to its time when nothing is known of the device, and when the answer means nothing to the model', async () => {
    expect(await receive([message('mqtt')], { findDevice: async () => undefined })).toEqual([]);
    expect(await receive([message('blind')], { findDevice: () => Promise.reject(new Error('no database')) })).toEqual(
      [],
    );
    expect(flespi.calls).toEqual([]);
    flespi.script = () => [200, { result: [{ response: 'ver 3.28' }] }];
    expect(await receive([message('odd')])).toEqual([{ id: 'odd', ok: false, reason: 'ver 3.28', outcome: 'unknown' }]);
  });
});
