import { randomUUID } from 'node:crypto';
import { apiKeyScopes } from '@odograph/contracts/caller';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { createToken } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';
import { createOwner, missingNames, type Owner } from './owner.fixture.ts';
import {
  callRoute,
  givenParameters,
  guardOf,
  plainValue,
  type Resource,
  type Route,
  readRoutes,
  resourceOf,
} from './route-table.fixture.ts';

let owner: Owner;
let stranger: Owner;

// Wrong admin tokens are limited per address.
const platform = await usePlatform(await loadServices(), { HTTP_TRUST_PROXY: '1' });
const routes = await readRoutes(platform.httpUrl);
[owner, stranger] = [await createOwner(platform), await createOwner(platform)];
const user = await platform.db
  .insertInto('user_account')
  .values({ application_id: owner.application.id, username: randomUUID(), password_hash: '-' })
  .returning('id')
  .executeTakeFirstOrThrow();
const userToken = await createToken(platform.db, owner.application.id, user.id);

type Names = Readonly<Record<Resource, string>>;

async function call(
  route: Route,
  chosen: string | undefined,
  token: string,
  nameOf: (name: string) => string | undefined,
) {
  const values = givenParameters(route, chosen)
    .filter(({ place }) => place !== 'header')
    .map((parameter) => ({ ...parameter, value: nameOf(parameter.name) ?? plainValue(route, parameter.name) }));
  return callRoute(platform.httpUrl, route, values, { 'x-service-token': token });
}

/** Lists the parameters of a route that name a resource; alternatives that name the same vehicle are tried separately. */
const namesIn = (route: Route): string[] =>
  route.parameters.map(({ name }) => name).filter((name) => resourceOf(route, name) !== undefined);

function naming(route: Route, pick: (name: string) => Names) {
  return (name: string): string | undefined => {
    const resource = resourceOf(route, name);
    return resource && pick(name)[resource];
  };
}

/** Removes the values sent by the caller and random values from an answer. */
function comparable({ status, body }: { status: number; body: string }, names: Names): string {
  const text = Object.values(names).reduce((left, name) => left.replaceAll(name, '<name>'), body);
  return `${status} ${text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')}`;
}

/** Reads all rows of a vehicle. */
async function rowsOf({ vehicle }: Owner): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'vehicle_id' and table_name not like 'trip\\_%'
    order by 1`.execute(platform.db);
  const contents: string[] = [];
  for (const { name } of tables) {
    const { rows } = await sql`select to_jsonb(t) as row from ${sql.table(name)} as t
      where vehicle_id = ${Number(vehicle.id)} order by 1`.execute(platform.db);
    contents.push(`${name} ${JSON.stringify(rows)}`);
  }
  const { rows } = await sql`select * from vehicle where id = ${Number(vehicle.id)}`.execute(platform.db);
  return [...contents, JSON.stringify(rows)].join('\n');
}

const title = ({ method, path }: Route) => `${method} ${path}`;
const tokenRoutes = () => routes.filter((route) => guardOf(route) === 'token');

/** Parking spots and imported registration data belong to the application, and each of its users sees them. */
const sharedByUsers: ReadonlySet<Resource | undefined> = new Set(['parking', 'registration']);

describe('a token without access to a vehicle', () => {
  it('gets the answer of a missing resource for another application on every route, and changes nothing', async () => {
    const before = await rowsOf(owner);
    const missing = missingNames();
    let tried = 0;
    for (const route of tokenRoutes()) {
      for (const chosen of namesIn(route)) {
        const ask = async (names: Names) => {
          const answer = await call(
            route,
            chosen,
            stranger.application.token,
            naming(route, (name) => (name === chosen ? names : stranger.names)),
          );
          return comparable(answer, names);
        };
        const expected = await ask(missing);
        expect([title(route), chosen, await ask(owner.names)]).toEqual([title(route), chosen, expected]);
        expect(expected).not.toMatch(/^(400|401|5)|INVALID_PARAMETER/);
        tried += 1;
      }
    }
    expect(tried).toBeGreaterThan(60);
    expect(await rowsOf(owner)).toBe(before);
  });

  it('gets the answer of a missing resource as a user without grants', async () => {
    const before = await rowsOf(owner);
    const missing = missingNames();
    for (const route of tokenRoutes()) {
      for (const chosen of namesIn(route)) {
        if (namesIn(route).length === 1 && sharedByUsers.has(resourceOf(route, chosen))) continue;
        const ask = async (names: Names) =>
          comparable(
            await call(
              route,
              chosen,
              userToken,
              naming(route, () => names),
            ),
            names,
          );
        expect([title(route), chosen, await ask(owner.names)]).toEqual([title(route), chosen, await ask(missing)]);
      }
    }
    expect(await rowsOf(owner)).toBe(before);
  });

  it('finds none of them in any list', async () => {
    const lists = tokenRoutes().filter((route) => namesIn(route).length === 0);
    expect(lists.length).toBeGreaterThan(10);
    const { parking: _, ...hidden } = owner.names;
    const told = await Promise.all(
      lists.map((route) => call(route, undefined, owner.application.token, () => undefined)),
    );
    const telling = told.filter(({ body }) => Object.values(owner.names).some((name) => body.includes(name)));
    expect(telling.length).toBeGreaterThan(8);
    for (const [token, names] of [
      [stranger.application.token, owner.names],
      [userToken, hidden],
    ] as const) {
      for (const route of lists) {
        const { body } = await call(route, undefined, token, () => undefined);
        const found = Object.values(names).filter((name) => body.includes(name));
        expect([title(route), found]).toEqual([title(route), []]);
      }
    }
  });

  /** Routes whose answer is the same with and without access, because the owner has none of these resources either. */
  const alike = new Set([
    'GET /v1/user/{userid}/authorizations/expired',
    'GET /v1/user/{userid}/authorizations/scheduled',
  ]);

  it('gets another answer than the owner, so the comparison is meaningful', async () => {
    const missing = missingNames();
    for (const route of tokenRoutes().filter(({ method, path }) => method === 'GET' && !alike.has(`GET ${path}`))) {
      for (const chosen of namesIn(route)) {
        const ask = async (names: Names) =>
          comparable(
            await call(
              route,
              chosen,
              owner.application.token,
              naming(route, () => names),
            ),
            names,
          );
        const where = `${title(route)} ${chosen}: `;
        expect(where + (await ask(owner.names))).not.toBe(where + (await ask(missing)));
      }
    }
  });
});

async function brokenTokens(): Promise<[token: string | undefined, code: string][]> {
  const { db } = platform;
  const [expired, revoked] = [await createToken(db, owner.application.id), await createToken(db, owner.application.id)];
  const sha256 = hashSecret(expired);
  await db
    .updateTable('access_token')
    .set({ expires_at: new Date(Date.now() - 1000) })
    .where('token_sha256', '=', sha256)
    .execute();
  await sql`update session set revoked_at = now() where id = (
    select session_id from access_token where token_sha256 = ${hashSecret(revoked)})`.execute(db);
  const user = await db
    .insertInto('user_account')
    .values({
      application_id: owner.application.id,
      username: randomUUID(),
      password_hash: '-',
      deleted_at: new Date(),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return [
    [undefined, 'MISSING_TOKEN'],
    ['', 'MISSING_TOKEN'],
    [createSecret(), 'INVALID_TOKEN'],
    ['\u00e9 or 1=1', 'INVALID_TOKEN'],
    [testAdminToken, 'INVALID_TOKEN'],
    [expired, 'TOKEN_EXPIRED'],
    [revoked, 'INVALID_TOKEN'],
    [await createToken(db, owner.application.id, user.id), 'INVALID_TOKEN'],
  ];
}

async function refusalOf(
  route: Route,
  headers: Record<string, string>,
): Promise<[title: string, status: number, code: string]> {
  const inPath = route.parameters.filter(({ place }) => place === 'path').map((one) => ({ ...one, value: '1' }));
  const { status, body } = await callRoute(platform.httpUrl, route, inPath, headers);
  return [title(route), status, JSON.parse(body).error];
}

describe('a route', () => {
  it('declares in its description which token it needs', () => {
    const expected = { token: 'serviceToken', admin: 'adminToken', session: 'session', nobody: undefined };
    for (const route of routes) {
      expect([title(route), route.token]).toEqual([title(route), expected[guardOf(route)]]);
    }
  });

  it('rejects a missing, wrong, expired or revoked token with its code, before it checks anything else', async () => {
    for (const [token, code] of await brokenTokens()) {
      const headers: Record<string, string> = token === undefined ? {} : { 'x-service-token': token };
      for (const route of tokenRoutes()) expect(await refusalOf(route, headers)).toEqual([title(route), 401, code]);
    }
  });

  it('rejects exactly the API keys that lack its scope', async () => {
    const opensVehicles =
      /^POST \/v1\/vehicle\/(lock|unlock|immobilize|start|honk|lights|trunk|windows)|^(GET|POST) \/v1\/bluetooth-token(\/\{authorizationId\}.*|\/params|\/commands)?$/;
    const scopeOf = (route: Route) => {
      if (
        guardOf(route) === 'admin' ||
        /^(POST|PUT|DELETE) \/v1\/x\/(webhooks|notifications|groups|report-schedules)/.test(title(route))
      )
        return 'admin';
      if (opensVehicles.test(title(route))) return 'commands';
      return route.method === 'GET' ? 'read' : 'write';
    };
    const walked = routes.filter(({ tokens, path }) => tokens.includes('apiKey') && !path.includes('api-keys'));
    expect(new Set(walked.map(scopeOf))).toEqual(new Set(apiKeyScopes));
    for (const scope of apiKeyScopes) {
      const created = { appId: stranger.application.appId, name: scope, scopes: [scope] };
      const { key } = (await platform.admin.post('/v1/x/admin/api-keys', created)).body;
      for (const route of walked) {
        const inPath = route.parameters.filter(({ place }) => place === 'path').map((one) => ({ ...one, value: '1' }));
        const { body } = await callRoute(platform.httpUrl, route, inPath, { 'x-service-token': key });
        const isRefused = body.startsWith('{"error":"UNAUTHORIZED"');
        expect([scope, title(route), isRefused]).toEqual([scope, title(route), scope !== scopeOf(route)]);
      }
    }
  });

  it('for operators rejects a missing or wrong admin token, and any token of an application', async () => {
    const forOperators = routes.filter((route) => guardOf(route) === 'admin');
    expect(forOperators.length).toBeGreaterThan(20);
    for (const [headers, code] of [
      [{}, 'MISSING_TOKEN'],
      [{ authorization: 'Bearer wrong' }, 'INVALID_TOKEN'],
      [{ 'x-service-token': owner.application.token }, 'MISSING_TOKEN'],
      [{ authorization: `Bearer ${owner.application.token}` }, 'INVALID_TOKEN'],
    ] as const) {
      for (const [index, route] of forOperators.entries()) {
        // An address may send 60 wrong tokens a minute.
        const refusal = await refusalOf(route, { ...headers, 'x-forwarded-for': `10.0.0.${index}` });
        expect(refusal).toEqual([title(route), 401, code]);
      }
    }
  });
});
