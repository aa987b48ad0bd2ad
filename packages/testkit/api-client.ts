export interface ApiAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of any shape
  body: any;
}

export interface ApiClient {
  get(path: string): Promise<ApiAnswer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiAnswer>;
  put(path: string, body?: unknown): Promise<ApiAnswer>;
  delete(path: string, body?: unknown): Promise<ApiAnswer>;
}

/** Creates a client of the HTTP interface that sends `headers` with every request. */
export function createApiClient(httpUrl: string, headers: Record<string, string> = {}): ApiClient {
  const request = async (method: string, path: string, body?: unknown, more: Record<string, string> = {}) => {
    const response = await fetch(new URL(path, httpUrl), {
      method,
      headers: { 'content-type': 'application/json', ...headers, ...more },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = /[/+]json/.test(response.headers.get('content-type') ?? '') && text !== '';
    return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
  };
  return {
    get: (path) => request('GET', path),
    post: (path, body, more) => request('POST', path, body, more),
    put: (path, body) => request('PUT', path, body),
    delete: (path, body) => request('DELETE', path, body),
  };
}

/** Creates a client that sends what a browser sends from a page of this platform. @param cookie as createOperator answers it */
export function createBrowser(httpUrl: string, cookie: string, headers: Record<string, string> = {}): ApiClient {
  return createApiClient(httpUrl, { cookie, origin: new URL(httpUrl).origin, ...headers });
}

/** Creates a client that sends an access token. */
export function clientWithToken(httpUrl: string, token: string): ApiClient {
  return createApiClient(httpUrl, { 'x-service-token': token });
}

/** Clients of a platform, one for each kind of credentials. */
export interface PlatformClients {
  readonly admin: ApiClient;
  readonly anonymous: ApiClient;
  /** Creates a client with an access token. */
  as(token: string): ApiClient;
}

/** Creates the clients of a platform. */
export function clientsOf(httpUrl: string, adminToken: string): PlatformClients {
  return {
    admin: createApiClient(httpUrl, { authorization: `Bearer ${adminToken}` }),
    anonymous: createApiClient(httpUrl),
    as: (token) => clientWithToken(httpUrl, token),
  };
}
