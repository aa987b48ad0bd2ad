import { Agent, request } from 'node:http';
import type { Engines } from './engines.ts';

interface TimedAnswer {
  readonly firstByteMs: number;
  readonly totalMs: number;
  readonly bytes: number;
}

/** Sends a request and reads the whole answer. @throws for any status but 200 */
export type HttpClient = (method: 'GET' | 'POST', path: string, body?: object) => Promise<TimedAnswer>;

/** Opens a client with an access token and one keep-alive connection; it parses no answer, to keep its own cost low. */
export function openHttpClient(engines: Engines, httpUrl: string, token: string): HttpClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  engines.onStop('HTTP client', () => agent.destroy());
  const headers = { 'x-service-token': token, 'content-type': 'application/json' };
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const start = performance.now();
      const sent = request(new URL(path, httpUrl), { agent, method, headers }, (response) => {
        let firstByteMs = Number.NaN;
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          if (bytes === 0) firstByteMs = performance.now() - start;
          bytes += chunk.length;
          if (response.statusCode !== 200)
            reject(new Error(`${path} answered ${response.statusCode}: ${chunk.toString()}`));
        });
        response.once('error', reject);
        response.once('end', () => resolve({ firstByteMs, totalMs: performance.now() - start, bytes }));
      });
      sent.once('error', reject);
      sent.end(body === undefined ? '' : JSON.stringify(body));
    });
}
