import { Agent, request } from 'node:http';

interface TimedAnswer {
  firstByteMs: number;
  totalMs: number;
  bytes: number;
}

/** A client with one keep-alive connection; the caller closes it. */
export interface HttpClient {
  /** Reads the whole answer. @throws for any status but 200 */
  send(method: 'GET' | 'POST', path: string, body?: object): Promise<TimedAnswer>;
  close(): void;
}

/** Opens a client with an access token; it does not parse answers, to keep its own cost low. */
export function openHttpClient(httpUrl: string, token: string): HttpClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { 'x-service-token': token, 'content-type': 'application/json' };
  return {
    close: () => agent.destroy(),
    send: (method, path, body) =>
      new Promise((resolve, reject) => {
        const start = performance.now();
        const sent = request(new URL(path, httpUrl), { agent, method, headers }, (response) => {
          let firstByteMs = Number.NaN;
          let bytes = 0;
          let text = '';
          response.on('data', (chunk: Buffer) => {
            if (bytes === 0) firstByteMs = performance.now() - start;
            bytes += chunk.length;
            if (response.statusCode !== 200) text += chunk.toString();
          });
          response.once('error', reject);
          response.once('end', () => {
            if (response.statusCode === 200) resolve({ firstByteMs, totalMs: performance.now() - start, bytes });
            else reject(new Error(`${method} ${path} answered ${response.statusCode}: ${text}`));
          });
        });
        sent.once('error', reject);
        sent.end(body === undefined ? '' : JSON.stringify(body));
      }),
  };
}
