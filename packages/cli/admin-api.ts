/** The operator's side of the HTTP interface, `/v1/x/admin`. */
export interface AdminApi {
  get(path: string, query?: Readonly<Record<string, string | undefined>>): Promise<unknown>;
  post(path: string, body: object): Promise<unknown>;
  put(path: string, body: object): Promise<unknown>;
  delete(path: string): Promise<unknown>;
}

/** A segment of a path made from what the operator typed. */
export function segment(text: string | undefined): string {
  return encodeURIComponent(text ?? '');
}

function describeUnreachable(url: string, error: unknown): Error {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new Error(`nothing answers at ${url}${code}; does the platform run?`);
}

function describeFailure(status: number, body: unknown): Error {
  const { error, message } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  if (typeof error !== 'string') return new Error(`the answer is ${status}, and not one of the platform`);
  return new Error(typeof message === 'string' ? `${error}: ${message}` : error);
}

/**
 * Speaks to `/v1/x/admin` at `url` with the admin token.
 * Each call throws an Error of one line when nothing answers or the platform refuses.
 */
export function connectAdminApi(url: string, adminToken: string): AdminApi {
  const request = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(new URL(`/v1/x/admin/${path}`, url), {
      method,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw describeUnreachable(url, error);
    });
    const answer: unknown = await response.json().catch(() => undefined);
    if (!response.ok || answer === undefined) throw describeFailure(response.status, answer);
    return answer;
  };
  return {
    get(path, query = {}) {
      const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
      return request('GET', given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`);
    },
    post: (path, body) => request('POST', path, body),
    put: (path, body) => request('PUT', path, body),
    delete: (path) => request('DELETE', path),
  };
}
