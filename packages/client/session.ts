import { failureOf } from './failures.ts';
import type { components } from './interface.d.ts';
import { type Attempts, sendWithRetries } from './retry.ts';

/** An access token and the refresh token that replaces it once. */
export type Tokens = components['schemas']['Tokens'];

/** The credentials of an application, for itself or for one of its users. */
export interface Credentials {
  readonly appId: string;
  readonly appKey: string;
  readonly username?: string;
  /** Without one, a user stays signed in as long as the refresh token of `tokens` is valid. */
  readonly password?: string;
}

/** The tokens of a session outside of this process. */
export interface SavedTokens {
  /** Tokens saved earlier: their session continues. */
  readonly tokens?: Tokens | undefined;
  /** Saves new tokens before they are used. A refresh token is valid once, so only the latest ones are of use. */
  readonly saveTokens?: ((tokens: Tokens) => void | Promise<void>) | undefined;
}

interface SessionOptions extends SavedTokens, Attempts {
  /** Address of the platform without a slash at the end. */
  readonly url: string;
  readonly credentials: Credentials;
}

/** Signs in, and renews the tokens once for all requests that were refused with the same token. */
export class Session {
  readonly #options: SessionOptions;
  #tokens: Tokens | undefined;
  #renewal: Promise<Tokens> | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#tokens = options.tokens;
  }

  /** Sends a request with the access token, and once more with a new one after 401. @throws OdographFailure */
  async send(request: Request): Promise<Response> {
    const token = await this.#accessToken();
    const answer = await this.#sendAs(token, request);
    if (answer.status !== 401) return answer;
    await answer.body?.cancel();
    return this.#sendAs(await this.#accessToken(token), request);
  }

  #sendAs(token: string, request: Request): Promise<Response> {
    const signed = request.clone();
    signed.headers.set('x-service-token', token);
    return sendWithRetries(signed, this.#options);
  }

  /** @param refused the token that the platform refused, unless another request has had it replaced already */
  async #accessToken(refused?: string): Promise<string> {
    if (this.#tokens && this.#tokens.token !== refused) return this.#tokens.token;
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    return (await this.#renewal).token;
  }

  async #renew(): Promise<Tokens> {
    const { credentials, saveTokens } = this.#options;
    const { username, password, ...application } = credentials;
    const refreshed =
      this.#tokens &&
      (await this.#post('/v1/refreshToken', { ...application, refresh_token: this.#tokens.refresh_token }));
    // Without its password a user cannot sign in; without the name it would be the application that does.
    const canSignIn = username === undefined || password !== undefined;
    const isRefused = refreshed === undefined || (refreshed.status === 401 && canSignIn);
    const answer = isRefused ? await this.#post('/v1/login', credentials) : refreshed;
    const body: unknown = await answer.json().catch(() => undefined);
    if (!answer.ok) throw failureOf(answer, body);
    this.#tokens = body as Tokens;
    await saveTokens?.(this.#tokens);
    return this.#tokens;
  }

  /** Both may be repeated: a lost answer is no reason to sign in again, since a spent refresh token is good for 60 s. */
  #post(path: string, body: object): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    const request = new Request(this.#options.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return sendWithRetries(request, this.#options, true);
  }
}
