type Query = Readonly<Record<string, string | undefined>>;

/** The operator routes of the platform, `/v1/x/admin`. */
export interface AdminApi {
  get(path: string, query?: Query): Promise<unknown>;
  post(path: string, body: object): Promise<unknown>;
  put(path: string, body: object): Promise<unknown>;
  delete(path: string, query?: Query): Promise<unknown>;
}

/** Encodes text for one segment of a path. */
export function segment(text: string): string {
  return encodeURIComponent(text);
}

function unreachable(url: string, error: unknown): Error {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new Error(`no answer from ${url}${code}; is the platform running?`);
}

function refused(status: number, body: unknown): Error {
  const { error, message } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  if (typeof error !== 'string') return new Error(`unexpected answer with status ${status}; is this the platform?`);
  return new Error(typeof message === 'string' ? `${error}: ${message}` : error);
}

/**
 * Creates a client of `/v1/x/admin` at `url`; the admin token is read at the first call.
 * Each call throws an Error with a one-line message when the platform does not answer or refuses.
 */
export function createAdminApi(url: string, readToken: () => Promise<string>): AdminApi {
  const request = async (method: string, path: string, query: Query, body?: object): Promise<unknown> => {
    const target = new URL(`/v1/x/admin/${path}`, url);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) target.searchParams.set(name, value);
    const response = await fetch(target, {
      method,
      headers: { authorization: `Bearer ${await readToken()}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw unreachable(url, error);
    });
    const answer: unknown = await response.json().catch(() => undefined);
    if (!response.ok || answer === undefined) throw refused(response.status, answer);
    return answer;
  };
  return {
    get: (path, query = {}) => request('GET', path, query),
    post: (path, body) => request('POST', path, {}, body),
    put: (path, body) => request('PUT', path, {}, body),
    delete: (path, query = {}) => request('DELETE', path, query),
  };
}
