import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** A request; a GET may be repeated. */
export interface BalancedRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Answered {
  readonly status: number;
  readonly body: string;
}

const checkMs = 200;

/**
 * Balances requests over replicas with keep-alive connections and health checks. It retries at another replica when the request was
 * certainly not processed: the connection was refused, or the replica is closing (503 with `connection: close`). After a reset
 * connection it retries only GET.
 */
export class Balancer {
  readonly #ports: readonly number[];
  readonly #agent = new Agent({ keepAlive: true });
  readonly #well: boolean[];
  readonly #timer: NodeJS.Timeout;
  #turn = 0;

  constructor(ports: readonly number[]) {
    this.#ports = ports;
    this.#well = ports.map(() => true);
    this.#timer = setInterval(() => void this.#check(), checkMs);
  }

  async #check(): Promise<void> {
    await Promise.all(
      this.#ports.map(async (port, index) => {
        this.#well[index] = await fetch(`http://127.0.0.1:${port}/health`, { headers: { connection: 'close' } }).then(
          ({ ok }) => ok,
          () => false,
        );
      }),
    );
  }

  #next(): number {
    this.#turn += 1;
    const order = this.#ports.map((_port, index) => (index + this.#turn) % this.#ports.length);
    const chosen = order.find((index) => this.#well[index]) ?? order[0] ?? 0;
    return this.#ports[chosen] ?? 0;
  }

  /** @throws when the request failed and must not be repeated */
  async send(request: BalancedRequest): Promise<Answered> {
    for (let tries = 0; tries < 10; tries += 1) {
      const answer = await this.#attempt(request);
      if (answer !== 'elsewhere') return answer;
      if (tries > 1) await delay(checkMs);
    }
    throw new Error('no replica took the request');
  }

  async #attempt({ method, path, headers, body }: BalancedRequest): Promise<Answered | 'elsewhere'> {
    const sent = httpRequest({
      ...{ host: '127.0.0.1', port: this.#next(), agent: this.#agent, method, path },
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    try {
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const isClosing = response.statusCode === 503 && response.headers.connection === 'close';
      return isClosing ? 'elsewhere' : { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ECONNREFUSED' || (code === 'ECONNRESET' && method === 'GET')) return 'elsewhere';
      throw error;
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#agent.destroy();
  }
}
