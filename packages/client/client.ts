import createFetchClient, { type Client, type FetchOptions } from 'openapi-fetch';
import { followEvents, type StreamCursor } from './events.ts';
import type { Outcome } from './failures.ts';
import type { paths } from './interface.d.ts';
import { keyedPaths } from './keyed-paths.ts';
import { followPages, type ItemOf, itemsOf } from './pages.ts';
import { type Attempts, sendWithRetries } from './retry.ts';
import { type Credentials, type SavedTokens, Session } from './session.ts';

export { answerOf, type Failure, type FailureCode, OdographFailure } from './failures.ts';
export type { components, paths } from './interface.d.ts';
export type { Credentials, Tokens } from './session.ts';

/** The type of `data` without `parseAs`, also where a path has other formats. */
type Json = 'application/json';
type Api = Client<paths, Json>;
type Get<Path extends keyof paths> = paths[Path]['get'];
type SuccessOf<Operation> = Operation extends { responses: { 200: infer Success } } ? Success : never;
type JsonOf<Success> = Success extends { content: { 'application/json': infer Json extends object } } ? Json : never;

/** The lists that are answered in pages. */
export type PagedPath = {
  [Path in keyof paths]: SuccessOf<Get<Path>> extends { headers: { Link?: string } } ? Path : never;
}[keyof paths];

/** A page of a list. */
export type PageOf<Path extends PagedPath> = JsonOf<SuccessOf<Get<Path>>>;

/** Parameters of a list; those of its path are required. */
type PageOptions<Path extends PagedPath> = FetchOptions<NonNullable<Get<Path>>>;
type PageArguments<Path extends PagedPath> =
  object extends PageOptions<Path> ? [options?: PageOptions<Path>] : [options: PageOptions<Path>];

type EventOperation = NonNullable<Get<'/v1/x/events'>>;

/** An event of the live stream, with the id behind which the stream continues. */
export type LiveEvent = { readonly id: string | undefined } & (SuccessOf<EventOperation> extends {
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
  const { credentials, tokens, saveTokens, headers = {}, mostAttempts = 5 } = options;
  const url = options.url.replace(/\/+$/, '');
  const attempts = { fetch: options.fetch ?? ((request: Request) => fetch(request)), mostAttempts };
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
