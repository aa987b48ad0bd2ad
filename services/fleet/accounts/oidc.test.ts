import { randomUUID } from 'node:crypto';
import { freePort } from '@odograph/testkit/free-port';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { toConsolePath } from './oidc.ts';
import { clientId, clientSecret, startProvider, TestBrowser } from './provider.fixture.ts';

const publicUrl = 'http://fleet.example';
const [port, otherPort] = [await freePort(), await freePort()];
const [admins, viewers] = ['fleet admins', 'viewers'];
const limitedAppId = `app-${randomUUID()}`;
const { platform, admin } = await startFleet({
  ...{ OIDC_ISSUER: `http://127.0.0.1:${port}`, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret },
  ...{ PUBLIC_URL: publicUrl, OIDC_NAME: 'Keycloak', OIDC_SCOPE: 'openid profile', SECOND_FACTOR_ROLE: 'viewer' },
  OIDC_ROLES: `${admins}=administrator,${viewers}=viewer,of ${limitedAppId}=operator:${limitedAppId}`,
  OIDC_PROVIDERS: JSON.stringify([
    {
      ...{ id: 'partner', name: 'Partner', issuer: `http://127.0.0.1:${otherPort}`, clientId, clientSecret },
      ...{ scope: 'openid profile', roles: `${admins}=viewer` },
    },
  ]),
});
const { db, httpUrl } = platform;
const provider = await startProvider(port, {
  redirectUri: `${publicUrl}/v1/x/session/oidc/callback`,
  logoutUri: `${httpUrl}/v1/x/session/oidc/logout`,
});
const partner = await startProvider(otherPort, {
  redirectUri: `${publicUrl}/v1/x/session/oidc/partner/callback`,
  logoutUri: `${httpUrl}/v1/x/session/oidc/partner/logout`,
});
const start = `${httpUrl}/v1/x/session/oidc`;

async function signIn(
  id: string,
  groups: readonly string[],
  { name = `name-${id}`, next = '/vehicles?page=2', at = start } = {},
) {
  (at === start ? provider : partner).signsIn(id, { preferred_username: name, groups });
  const browser = new TestBrowser(publicUrl, httpUrl);
  const address = await browser.open(`${at}?next=${encodeURIComponent(next)}`);
  const show = async () => (await browser.fetch(`${httpUrl}/v1/x/session`)).json();
  return { browser, address, show, name };
}
const logOut = (token: string, at = start) =>
  fetch(`${at}/logout`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ logout_token: token }),
  });
const logoutClaims = (more: object) => ({ iss: provider.issuer, aud: clientId, jti: randomUUID(), ...more });

describe('a sign-in at the identity provider', () => {
  it('is offered under the name of each provider', async () => {
    expect(await (await fetch(`${httpUrl}/v1/x/session/methods`)).json()).toEqual({
      providers: [
        { id: 'provider', name: 'Keycloak', path: '/v1/x/session/oidc' },
        { id: 'partner', name: 'Partner', path: '/v1/x/session/oidc/partner' },
      ],
    });
  });

  it('creates the operator with the role of its group, and returns to the requested page', async () => {
    const { address, show, name, browser } = await signIn(randomUUID(), ['others', viewers]);
    expect(address).toBe('/vehicles?page=2');
    expect(await show()).toMatchObject({ name, role: 'viewer', limited: false, mustAddSecondFactor: false });
    const { sessions } = await (await browser.fetch(`${httpUrl}/v1/x/sessions`)).json();
    expect(sessions[0].method).toBe('identity provider');
    expect((await admin.post(`/v1/x/admin/operators/${name}/password`, {})).body.error).toBe('UNAUTHORIZED');
  });

  it('follows group changes, and deletes the operator and its sessions when no group has a role', async () => {
    const id = randomUUID();
    const first = await signIn(id, [viewers]);
    const second = await signIn(id, [admins, viewers]);
    for (const { show } of [first, second]) expect((await show()).role).toBe('administrator');
    const third = await signIn(id, ['others']);
    expect(third.address).toBe('/sign-in?failed=provider');
    for (const { show } of [first, second, third]) expect((await show()).error).toMatch(/^(INVALID|MISSING)_TOKEN$/);
    const { rows } =
      await sql`select action from audit where subject = ${`operator:${first.name}`} order by position`.execute(db);
    expect(rows.map((row) => Object(row).action)).toEqual([
      ...['operator.create', 'operator.sign-in', 'operator.change', 'operator.sign-in', 'operator.delete'],
    ]);
  });

  it('does not take over an operator with a password', async () => {
    const name = `local-${randomUUID().slice(0, 8)}`;
    await admin.post('/v1/x/admin/operators', { name, role: 'viewer' });
    const { address, show } = await signIn(randomUUID(), [admins], { name });
    expect([address, (await show()).error]).toEqual(['/sign-in?failed=provider', 'MISSING_TOKEN']);
  });

  it('is bound to the browser that started it, and cannot be replayed', async () => {
    provider.signsIn(randomUUID(), { preferred_username: `name-${randomUUID()}`, groups: [viewers] });
    const [victim, attacker] = [new TestBrowser(publicUrl, httpUrl), new TestBrowser(publicUrl, httpUrl)];
    let callback = (await attacker.fetch(start)).headers.get('location') ?? '';
    while (!callback.startsWith(publicUrl)) {
      callback = new URL((await attacker.fetch(callback)).headers.get('location') ?? '', callback).href;
    }
    const finish = async (browser: TestBrowser) => (await browser.fetch(callback)).headers.get('location');
    expect(await finish(victim)).toBe('/sign-in?failed=provider');
    expect(await finish(attacker)).toBe('/map');
    expect(await finish(attacker)).toBe('/sign-in?failed=provider');
    await victim.fetch(start);
    expect(await finish(victim)).toBe('/sign-in?failed=provider');
  });

  it.each([
    ['https://elsewhere.example/', '/map'],
    ['//elsewhere.example/', '/map'],
    ['/\\elsewhere.example/', '/map'],
    ['/.//elsewhere.example/', '/map'],
    ['/\t/elsewhere.example/', '/map'],
    ['javascript:alert(1)', '/map'],
    ['', '/map'],
    ['/vehicles?x=//elsewhere.example', '/vehicles?x=//elsewhere.example'],
  ])('returns to a path of the console only: %s', (next, expected) => {
    expect(toConsolePath(next)).toBe(expected);
  });
});

describe('one of several providers', () => {
  const at = `${start}/partner`;

  it('grants the roles of its own groups, and signs in no operator of another provider', async () => {
    const id = randomUUID();
    const first = await signIn(id, [admins]);
    const second = await signIn(id, [admins], { at, name: `other-${id}` });
    const people = await Promise.all([first.show(), second.show()]);
    expect(people.map(({ name, role }) => [name, role])).toEqual([
      [first.name, 'administrator'],
      [second.name, 'viewer'],
    ]);
    const taken = await signIn(randomUUID(), [admins], { at, name: first.name });
    expect([taken.address, (await taken.show()).error]).toEqual(['/sign-in?failed=partner', 'MISSING_TOKEN']);
  });

  it('cannot complete a sign-in that was started at another provider', async () => {
    partner.signsIn(randomUUID(), { preferred_username: `name-${randomUUID()}`, groups: [admins] });
    const browser = new TestBrowser(publicUrl, httpUrl);
    let callback = (await browser.fetch(at)).headers.get('location') ?? '';
    while (!callback.startsWith(publicUrl)) {
      callback = new URL((await browser.fetch(callback)).headers.get('location') ?? '', callback).href;
    }
    const mixed = await browser.fetch(callback.replace('/oidc/partner/', '/oidc/'));
    expect(mixed.headers.get('location')).toBe('/sign-in?failed=provider');
  });

  it('ends only the sessions of its own operators', async () => {
    const id = randomUUID();
    const first = await signIn(id, [viewers]);
    await db
      .updateTable('sign_in')
      .set({ oidc_sid: id })
      .where('operator_id', '=', db.selectFrom('operator').select('id').where('name', '=', first.name))
      .execute();
    for (const claims of [{ sub: id }, { sid: id }]) {
      const token = await partner.signLogoutToken({ ...logoutClaims(claims), iss: partner.issuer });
      expect((await logOut(token, at)).status).toBe(200);
      expect((await logOut(token)).status).toBe(400);
    }
    expect((await first.show()).kind).toBe('operator');
    expect((await logOut(await provider.signLogoutToken(logoutClaims({ sid: id })))).status).toBe(200);
    expect((await first.show()).error).toBe('INVALID_TOKEN');
  });
});

describe('a back-channel logout', () => {
  it('with a sid ends the session that belongs to it', async () => {
    const id = randomUUID();
    const [one, other] = [await signIn(id, [viewers]), await signIn(id, [viewers])];
    const page = await one.browser.fetch(`${provider.issuer}/session/end`);
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(await page.text()) ?? [];
    await one.browser.fetch(`${provider.issuer}/session/end/confirm`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ xsrf, logout: 'yes' }).toString(),
    });
    expect((await one.show()).error).toBe('INVALID_TOKEN');
    expect((await other.show()).kind).toBe('operator');
  });

  it('with a sub ends all sessions of the operator, and no others', async () => {
    const [id, another] = [randomUUID(), randomUUID()];
    const [one, two, other] = [
      await signIn(id, [viewers]),
      await signIn(id, [viewers]),
      await signIn(another, [viewers]),
    ];
    expect((await logOut(await provider.signLogoutToken(logoutClaims({ sub: id })))).status).toBe(200);
    for (const { show } of [one, two]) expect((await show()).error).toBe('INVALID_TOKEN');
    expect((await other.show()).kind).toBe('operator');
  });

  it('is accepted from a provider whose clock is up to 30 seconds ahead, until five minutes after its issue', async () => {
    const id = randomUUID();
    const { show } = await signIn(id, [viewers]);
    for (const issuedAt of ['2 minutes', '-6 minutes']) {
      expect((await logOut(await provider.signLogoutToken(logoutClaims({ sub: id }), issuedAt))).status).toBe(400);
    }
    expect((await show()).kind).toBe('operator');
    expect((await logOut(await provider.signLogoutToken(logoutClaims({ sub: id }), '20 seconds'))).status).toBe(200);
    expect((await show()).error).toBe('INVALID_TOKEN');
  });

  it('that failed can be repeated', async () => {
    const id = randomUUID();
    const { show } = await signIn(id, [viewers]);
    const token = await provider.signLogoutToken(logoutClaims({ sub: id }));
    await sql`alter table sign_in rename to unavailable`.execute(db);
    expect((await logOut(token)).status).toBe(500);
    await sql`alter table unavailable rename to sign_in`.execute(db);
    expect((await logOut(token)).status).toBe(200);
    expect((await show()).error).toBe('INVALID_TOKEN');
  });

  it('is rejected without a required claim, and when replayed', async () => {
    const id = randomUUID();
    const { show } = await signIn(id, [viewers]);
    const refused = [
      { aud: 'another client' },
      { iss: 'https://elsewhere.example' },
      { nonce: 'of an ID token' },
      { events: {} },
      { sub: undefined },
      { jti: undefined },
    ];
    for (const fault of refused) {
      const token = await provider.signLogoutToken(logoutClaims({ sub: id, ...fault }));
      expect([fault, (await logOut(token)).status]).toEqual([fault, 400]);
    }
    const [header, payload] = (await provider.signLogoutToken(logoutClaims({ sub: id }))).split('.');
    expect((await logOut(`${header}.${payload}.forged`)).status).toBe(400);
    expect((await show()).kind).toBe('operator');
    const token = await provider.signLogoutToken(logoutClaims({ sub: id }));
    expect([(await logOut(token)).status, (await logOut(token)).status]).toEqual([200, 400]);
  });
});

describe('a group', () => {
  it('can limit its operators to applications', async () => {
    await db
      .insertInto('application')
      .values({ app_id: limitedAppId, name: 'A', app_key_sha256: Buffer.alloc(32) })
      .execute();
    const id = randomUUID();
    const { show, name } = await signIn(id, [`of ${limitedAppId}`]);
    const { role, limited, applications } = await show();
    expect([role, limited, applications]).toEqual([
      'operator',
      true,
      [{ appId: limitedAppId, name: 'A', timeZone: 'UTC' }],
    ]);
    // The audit records a change of the applications alone.
    await sql`delete from operator_application
      where operator_id = (select id from operator where name = ${name})`.execute(db);
    for (const _time of [1, 2]) await signIn(id, [`of ${limitedAppId}`]);
    const changes = sql`select from audit where subject = ${`operator:${name}`} and action = 'operator.change'`;
    expect((await changes.execute(db)).rows).toHaveLength(1);
  });
});
