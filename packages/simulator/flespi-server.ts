import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request for a device, as flespi's REST API receives it. */
export interface FlespiCall {
  readonly ident: string;
  readonly authorization: string | undefined;
  /** The commands of the body. */
  readonly commands: readonly { name: string; properties: unknown; timeout: number }[];
}

/** Answers a call: with a status and a body, or by what it does with the response. */
type Script = (call: FlespiCall, response: ServerResponse) => readonly [status: number, body: unknown] | undefined;

/** The reason of flespi for a device that is not connected (https://flespi.com/kb/send-device-commands-api). */
export const notConnected = (name: string): string =>
  `failed to deliver command '${name}' with timeout pending, device with id 4711 is not connected`;

/**
 * The part of flespi's REST API that sends commands in real time: `POST /gw/devices/configuration.ident={ident}/commands` with an
 * array of commands, answered with `{ "result": [...] }` or `{ "errors": [{ "code", "reason" }] }` (https://flespi.com/rest-api and
 * https://flespi.com/kb/send-device-commands-api). Tests script the answers.
 */
export class FlespiServer {
  readonly calls: FlespiCall[] = [];
  /** Answers each call from now on. */
  script: Script = () => [200, { result: [] }];
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const [, ident] = /^\/gw\/devices\/configuration\.ident=([^/]+)\/commands$/.exec(request.url ?? '') ?? [];
    if (request.method !== 'POST' || ident === undefined) {
      response.writeHead(404).end(JSON.stringify({ errors: [{ code: 404, reason: 'not found' }] }));
      return;
    }
    const { authorization } = request.headers;
    const call = { ident: decodeURIComponent(ident), authorization, commands: JSON.parse(text) };
    this.calls.push(call);
    const scripted = this.script(call, response);
    if (scripted === undefined) return;
    const [status, body] = scripted;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
}
