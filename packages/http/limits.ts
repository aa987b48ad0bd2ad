import type { Socket } from 'node:net';
import { Failure, invalidParameter, tooManyRequests } from '@odograph/contracts/failures';
import type { Config } from '@odograph/runtime/config';
import { shareDescriptors } from '@odograph/runtime/descriptors';
import type { Limits } from '@odograph/runtime/limits';
import { isAddress, networkOf } from '@odograph/runtime/network-address';
import { WindowCounter } from '@odograph/runtime/window-counter';
import type { FastifyRequest } from 'fastify';
import type { Http } from './http.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** False exempts a route from the request limit. */
    rateLimit?: false;
  }
}

const windowMs = 60_000;
const maxNetworks = 10_000;

/** Checks every request before its credentials, without a lookup in a database. */
export function checkRequests(http: Http, requestsPerMinute: number): void {
  const requests = new WindowCounter(windowMs, maxNetworks);
  http.addHook('onRequest', async (request, reply) => {
    requireOneHost(request);
    const { headers } = request.raw;
    const forwardedFor = headers['x-forwarded-for'];
    if (forwardedFor !== undefined) headers['x-forwarded-for'] = forwardedAddresses(forwardedFor);
    // Answers hold data of one caller, or tokens; pages set their own policy.
    reply.header('cache-control', 'no-store');
    if (request.routeOptions.config.rateLimit === false) return;
    const network = networkOf(request.ip);
    const now = performance.now();
    requests.add(network, now);
    const count = requests.read(network, now);
    const remainingMs = requests.remainingMs(network, now);
    reply.headers({
      'x-ratelimit-limit': requestsPerMinute,
      'x-ratelimit-remaining': Math.max(0, requestsPerMinute - count),
      'x-ratelimit-reset': Math.ceil(remainingMs / 1000),
    });
    if (count > requestsPerMinute) throw tooManyRequests(remainingMs);
  });
}

/** A proxy and this server could read different ones of two Host headers (RFC 9112, section 3.2). */
function requireOneHost({ raw: { rawHeaders } }: FastifyRequest): void {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) throw invalidParameter('host', 'must be given once');
}

/**
 * Keeps the part of X-Forwarded-For that consists of addresses, without ports: proxies append on the right, so whatever
 * stands left of other text was written by the client.
 */
function forwardedAddresses(header: string | string[]): string {
  const entries = String(header).split(',').map(withoutPort);
  const firstAddress = entries.findLastIndex((entry) => !isAddress(entry)) + 1;
  return entries.slice(firstAddress).join(', ');
}

function withoutPort(entry: string): string {
  const text = entry.trim();
  return /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}

/** Refuses requests from the moment the server closes, and lets connections end with the answers under way. */
export function refuseWhileClosing(http: Http): void {
  let isClosing = false;
  http.addHook('preClose', async () => {
    isClosing = true;
  });
  http.addHook('onRequest', async (_request, reply) => {
    if (!isClosing) return;
    reply.header('connection', 'close');
    throw new Failure('OVERLOADED', 'the service is shutting down', { retryAfterSeconds: 5 });
  });
  // The close would wait for a connection that is kept alive after its request.
  http.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close');
  });
}

const maxLoopDelayMs = 5000;
const loopSampleMs = 1000;

/**
 * Refuses requests from a turn of the event loop that came more than 5 s late until one that did not. Its timer makes no
 * system call, since one that fails without free descriptors would end the process (process.memoryUsage() reads a file).
 * @throws Failure OVERLOADED in the request
 */
export function refuseWhileOverloaded(http: Http): void {
  let sampledAtMs = performance.now();
  let delayMs = 0;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    delayMs = nowMs - sampledAtMs - loopSampleMs;
    sampledAtMs = nowMs;
  }, loopSampleMs).unref();
  http.addHook('onClose', () => clearInterval(timer));
  http.addHook('onRequest', async () => {
    if (delayMs > maxLoopDelayMs) throw new Failure('OVERLOADED', undefined, { retryAfterSeconds: 5 });
  });
}

/** A proxy in front keeps far fewer open; browsers without one need a few each. */
const maxConnections = 10_000;

/**
 * Limits connections in all and for each client network (an IPv4 address or an IPv6 /64). A trusted proxy carries the
 * connections of many clients, so behind proxies only the limit in all applies.
 */
export function limitConnections(http: Http, config: Config, { maxHttpConnectionsPerAddress: maximum }: Limits): void {
  http.server.maxConnections = Math.min(maxConnections, shareDescriptors().http);
  if (config.HTTP_TRUST_PROXY !== '0') return;
  const connections = new Map<string, number>();
  http.server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    const open = (connections.get(network) ?? 0) + 1;
    if (open > maximum) return void socket.destroy();
    connections.set(network, open);
    socket.once('close', () => {
      const left = (connections.get(network) ?? 1) - 1;
      if (left === 0) connections.delete(network);
      else connections.set(network, left);
    });
  });
}

const statusOf: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Answers bytes that are not an HTTP request, or that come too slowly or with too many headers, and closes the connection. */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  const { _httpMessage: pending } = socket as Socket & { _httpMessage?: { headersSent: boolean } | null };
  // An answer that has begun cannot become another one.
  if (error.code === 'ECONNRESET' || !socket.writable || pending?.headersSent) return void socket.destroy();
  const status = statusOf[error.code ?? ''] ?? '400 Bad Request';
  const body = JSON.stringify({ error: 'INVALID_PARAMETER', message: 'the request cannot be read', field: 'request' });
  const headers = `content-type: application/json; charset=utf-8\r\ncontent-length: ${body.length}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${body}`);
  socket.destroySoon();
}
