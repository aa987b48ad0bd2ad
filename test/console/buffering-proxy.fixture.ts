import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Starts a proxy that passes an answer on only when all of it has arrived, as proxies that scan answers do. */
export async function startBufferingProxy(target: string): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((incoming, answer) => {
    const { method, url = '/', headers } = incoming;
    const outgoing = request(new URL(url, target), { method, headers, agent: false });
    incoming.pipe(outgoing);
    outgoing.on('error', () => answer.destroy());
    answer.on('close', () => outgoing.destroy());
    outgoing.on('response', (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => answer.destroy());
      response.on('end', () => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        answer.end(Buffer.concat(chunks));
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
