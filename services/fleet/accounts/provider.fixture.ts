import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import Provider, { type JWK } from 'oidc-provider';
import { afterAll } from 'vitest';

/** A person at the provider. */
export interface TestPerson {
  readonly preferred_username: string;
  readonly groups: readonly string[];
}

export const clientId = 'odograph';
export const clientSecret = 'secret-of-the-client-0123456789';

/** Starts an OpenID provider (oidc-provider) that signs in the person set by `signsIn` without interaction. */
export async function startProvider(
  port: number,
  { redirectUri, logoutUri }: { redirectUri: string; logoutUri: string },
) {
  const issuer = `http://127.0.0.1:${port}`;
  const people = new Map<string, TestPerson>();
  let current = '';
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: 'test', use: 'sig', alg: 'RS256' } as JWK;
  const provider = new Provider(issuer, {
    clients: [
      {
        ...{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] },
        ...{ backchannel_logout_uri: logoutUri, backchannel_logout_session_required: true },
      },
    ],
    jwks: { keys: [key] },
    cookies: { keys: ['cookie-key'] },
    claims: { openid: ['sub', 'sid'], profile: ['preferred_username', 'groups'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    // The default agent refuses to send logout tokens to the loopback interface.
    fetch: (url, init) => {
      const options = { ...init };
      Reflect.deleteProperty(options, 'dispatcher');
      return fetch(url, options);
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...people.get(id) }) }),
  });
  const interact = async (request: IncomingMessage, response: ServerResponse) => {
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    if (prompt.name === 'login') {
      return provider.interactionFinished(request, response, { login: { accountId: current } });
    }
    const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: String(params['client_id']) });
    grant.addOIDCScope(String(params['scope']));
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
  };
  const handle = provider.callback();
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/interaction/')) void interact(request, response);
    else void handle(request, response);
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => void server.close());
  return {
    issuer,
    /** Sets the person that the provider signs in. */
    signsIn(id: string, person: TestPerson): void {
      people.set(id, person);
      current = id;
    },
    /** Signs a logout token with the key of the provider. */
    signLogoutToken: (claims: Record<string, unknown>, issuedAt = '0 seconds') =>
      new SignJWT({ events: { 'http://schemas.openid.net/event/backchannel-logout': {} }, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'test', typ: 'logout+jwt' })
        .setIssuedAt(issuedAt)
        .sign(privateKey),
  };
}

/** A browser with cookies that follows redirects and maps PUBLIC_URL to the platform. */
export class TestBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();
  readonly #publicUrl: string;
  readonly #httpUrl: string;

  constructor(publicUrl: string, httpUrl: string) {
    this.#publicUrl = publicUrl;
    this.#httpUrl = httpUrl;
  }

  cookie(url: string): string {
    return [...(this.#cookies.get(new URL(url).host) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  async fetch(address: string, init: RequestInit = {}): Promise<Response> {
    const url = address.replace(this.#publicUrl, this.#httpUrl);
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { ...init.headers, cookie: this.cookie(url) },
    });
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/s);
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(line) || value === '') jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  /** Follows redirects until the path belongs neither to the provider nor to the sign-in. @returns the path */
  async open(address: string): Promise<string> {
    for (let url = address, hops = 0; hops < 20; hops += 1) {
      const response = await this.fetch(url);
      const location = response.headers.get('location');
      if (location === null) throw new Error(`${url}: ${response.status} ${await response.text()}`);
      const next = new URL(location, url);
      const isOfPlatform = next.host === new URL(this.#publicUrl).host || next.host === new URL(this.#httpUrl).host;
      if (isOfPlatform && !next.pathname.startsWith('/v1/x/session/oidc')) return next.pathname + next.search;
      url = next.href;
    }
    throw new Error('too many redirects');
  }
}
