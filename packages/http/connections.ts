import type { Socket } from 'node:net';
import type { Config } from '@odograph/runtime/config';
import { shareDescriptors } from '@odograph/runtime/descriptors';
import { networkOf } from '@odograph/runtime/network-address';
import type { Http } from './http.ts';

/**
 * Limits connections in all and for each client network (an IPv4 address or an IPv6 /64). A trusted proxy carries the
 * connections of many clients, so behind proxies only the limit in all applies.
 */
export function limitConnections(http: Http, config: Config): void {
  http.server.maxConnections = Math.min(config.HTTP_MAX_CONNECTIONS, shareDescriptors().http);
  if (config.HTTP_TRUST_PROXY !== '0') return;
  const maximum = config.HTTP_CONNECTIONS_PER_ADDRESS;
  const connections = new Map<string, number>();
  http.server.on('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    const open = (connections.get(network) ?? 0) + 1;
    if (open > maximum) {
      socket.destroy();
      return;
    }
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
  if (error.code === 'ECONNRESET' || !socket.writable || pending?.headersSent) {
    socket.destroy();
    return;
  }
  const status = statusOf[error.code ?? ''] ?? '400 Bad Request';
  const body = JSON.stringify({ error: 'INVALID_PARAMETER', message: 'the request cannot be read', field: 'request' });
  const headers = `content-type: application/json; charset=utf-8\r\ncontent-length: ${body.length}\r\nconnection: close`;
  socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${body}`);
  socket.destroySoon();
}
