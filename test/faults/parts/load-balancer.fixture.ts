import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** What is asked for, and whether asking twice does no harm. */
export interface Ask {
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
 * Sends requests to replicas over connections that it keeps, as balancers do. It looks at their /health, and sends elsewhere
 * what was certainly not begun: a connection that was refused, or a replica that says that it is closing (503 with
 * `connection: close`). What a connection that was reset may have carried out it sends again only when it reads.
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

  /** @throws when it failed in a way that nobody may try again */
  async send(ask: Ask): Promise<Answered> {
    for (let tries = 0; tries < 10; tries += 1) {
      const answer = await this.#attempt(ask);
      if (answer !== 'elsewhere') return answer;
      if (tries > 1) await delay(checkMs);
    }
    throw new Error('no replica took the request');
  }

  async #attempt({ method, path, headers, body }: Ask): Promise<Answered | 'elsewhere'> {
    const sent = request({
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
