import createFetchClient, { type Client, type FetchOptions } from 'openapi-fetch';
import { followEvents, type StreamCursor } from './event-stream.ts';
import { answerOf, failureOf, type Outcome } from './failures.ts';
import type { components, paths } from './interface.d.ts';
import { keyedPaths } from './keyed-paths.ts';
import { type Attempts, sendWithRetries } from './retry.ts';

export { answerOf, type Failure, type FailureCode, OdographFailure } from './failures.ts';
export type { components, paths } from './interface.d.ts';

/** The type of `data` without `parseAs`, also where a path has other formats. */
type Json = 'application/json';
type Api = Client<paths, Json>;
type Get<Path extends keyof paths> = paths[Path]['get'];
type SuccessOf<Operation> = Operation extends { responses: { 200: infer Success } } ? Success : never;
type JsonOf<Success> = Success extends { content: { 'application/json': infer Json extends object } } ? Json : never;

/** The lists that are answered in pages. */
type PagedPath = {
  [Path in keyof paths]: SuccessOf<Get<Path>> extends { headers: { Link?: string } } ? Path : never;
}[keyof paths];

/** A page of a list. */
type PageOf<Path extends PagedPath> = JsonOf<SuccessOf<Get<Path>>>;

/** Parameters of a list; those of its path are required. */
type PageOptions<Path extends PagedPath> = FetchOptions<NonNullable<Get<Path>>>;
type PageArguments<Path extends PagedPath> =
  object extends PageOptions<Path> ? [options?: PageOptions<Path>] : [options: PageOptions<Path>];

type EventOperation = NonNullable<Get<'/v1/x/events'>>;

/** An event of the live stream, with the id behind which the stream continues. */
type LiveEvent = { readonly id: string | undefined } & (SuccessOf<EventOperation> extends {
  content: { 'text/event-stream': infer Event };
}
  ? Event
  : never);

/** The part of the fleet to follow, and the cursor to continue from. */
export type EventOptions = StreamCursor & NonNullable<EventOperation['parameters']['query']>;

export interface ClientOptions extends SavedTokens, Partial<Attempts> {
  /** Address of the platform, such as https://fleet.example.org. */
  readonly url: string;
  /** Without them, requests carry no token; in a browser they carry the cookie of its session. */
  readonly credentials?: Credentials;
  /** Sent with every request, such as `authorization` with the admin token. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls of the interface; each answers `data`, or the `error` of a refusal. */
export interface OdographClient extends Pick<Api, 'GET' | 'POST' | 'PUT' | 'DELETE'> {
  /** Reads a list page by page to the end. @throws OdographFailure */
  pages<Path extends PagedPath>(path: Path, ...options: PageArguments<Path>): AsyncGenerator<PageOf<Path>>;
  /** Reads the items of a list to the end. @throws OdographFailure */
  items<Path extends PagedPath>(path: Path, ...options: PageArguments<Path>): AsyncGenerator<ItemOf<PageOf<Path>>>;
  /**
   * Follows the fleet live, over lost connections and restarts of the platform.
   * @throws OdographFailure when the platform refuses the stream; the reason of an abort
   */
  events(options?: EventOptions): AsyncGenerator<LiveEvent>;
}

const createKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Creates a client of a platform. It signs in with its first call. */
export function createClient(options: ClientOptions): OdographClient {
  const { credentials, tokens, saveTokens, headers = {}, maxAttempts = 5 } = options;
  const url = options.url.replace(/\/+$/, '');
  const attempts = { fetch: options.fetch ?? ((request: Request) => fetch(request)), maxAttempts };
  const session = credentials && new Session({ url, credentials, tokens, saveTokens, ...attempts });
  const send = (request: Request) => (session ? session.send(request) : sendWithRetries(request, attempts));
  const api = createFetchClient<paths, Json>({ baseUrl: url, headers, fetch: send });
  api.use({
    onRequest({ request, schemaPath }) {
      const takesKey = request.method === 'POST' && keyedPaths.includes(schemaPath);
      if (takesKey && !request.headers.has('idempotency-key')) request.headers.set('idempotency-key', createKey());
    },
  });
  const { GET, POST, PUT, DELETE } = api;
  return { GET, POST, PUT, DELETE, ...listsOf(api), events: (from) => eventsOf(api, from) };
}

/** Reads lists of a platform in pages. */
function listsOf(api: Api): Pick<OdographClient, 'pages' | 'items'> {
  const get = api.GET as <Page>(path: string, options?: object) => Promise<Outcome<Page>>;
  const pages: OdographClient['pages'] = (path, ...[options]) =>
    followPages((link) => {
      if (link === undefined) return get(path, options);
      // A link has all parameters of the path and the query.
      return get(link, { ...options, params: { header: options?.params?.header } });
    });
  return {
    pages,
    async *items(path, ...options) {
      for await (const page of pages(path, ...options)) yield* itemsOf(page);
    },
  };
}

/** Follows the live stream of a platform. */
function eventsOf(api: Api, { lastEventId, signal, ...query }: EventOptions = {}) {
  return followEvents<LiveEvent>(
    (id, ended) => {
      const headers = id === undefined ? {} : { 'last-event-id': id };
      return api.GET('/v1/x/events', { params: { query }, headers, signal: ended, parseAs: 'stream' });
    },
    { lastEventId, signal },
  );
}

/** Finds the next page (RFC 8288); the platform names it as an absolute path. */
function nextLink({ headers }: Response): string | undefined {
  return /<(\/[^>]*)>\s*;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1];
}

/** Reads page after page to the end. @param read reads the first page, or the one of a link. @throws OdographFailure */
async function* followPages<Page>(read: (link?: string) => Promise<Outcome<Page>>): AsyncGenerator<Page> {
  let link: string | undefined;
  do {
    const outcome = read(link);
    yield await answerOf(outcome);
    link = nextLink((await outcome).response);
  } while (link !== undefined);
}

/** The items of a page, which is a list or has members that are lists. */
type ItemOf<Page> = Page extends readonly (infer Item)[]
  ? Item
  : { [Member in keyof Page]-?: Page[Member] extends readonly (infer Item)[] ? Item : never }[keyof Page];

/** Lists the items of a page. */
function itemsOf<Page extends object>(page: Page): ItemOf<Page>[] {
  return Array.isArray(page) ? page : Object.values(page).filter(Array.isArray).flat();
}

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
interface SavedTokens {
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
class Session {
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

  /** Safe to retry after a lost answer: a spent refresh token is accepted for 60 s. */
  #post(path: string, body: object): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    const request = new Request(this.#options.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return sendWithRetries(request, this.#options, true);
  }
}
