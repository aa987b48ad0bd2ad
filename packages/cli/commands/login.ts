import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Refusal, requestJson, UsageFailure } from '../server/admin-api.ts';
import { forgetLogin, readServers, type SavedLogin, saveLogin, sessionCookie } from '../server/logins.ts';
import { command, flag, optional } from './command.ts';

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Asks on the terminal; what is hidden is not shown while it is typed. */
async function ask(question: string, isHidden: boolean): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  if (isHidden) process.stderr.write(question);
  const terminal = createInterface({
    input: process.stdin,
    output: isHidden ? nowhere : process.stderr,
    terminal: true,
  });
  try {
    const interrupted = new AbortController();
    terminal.once('SIGINT', () => interrupted.abort(new Error('interrupted')));
    return await terminal.question(isHidden ? '' : question, { signal: interrupted.signal });
  } finally {
    terminal.close();
    if (isHidden) process.stderr.write('\n');
  }
}

/** Reads a secret: from a terminal hidden, else the first line of stdin. */
async function readSecret(question: string): Promise<string> {
  const secret = process.stdin.isTTY
    ? await ask(question, true)
    : ((await text(process.stdin)).split('\n')[0] ?? '').trim();
  if (secret === '') throw new UsageFailure('expected the password or token on standard input');
  return secret;
}

async function readName(given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  if (!process.stdin.isTTY) throw new UsageFailure('missing --name: without a terminal, only the password is read');
  return ask('Name: ', false);
}

function parseServer(address: string): string {
  if (!/^https?:\/\//.test(address) || !URL.canParse(address)) {
    throw new UsageFailure('expected an http or https URL, such as https://fleet.example.com');
  }
  const { origin, protocol, hostname } = new URL(address);
  if (protocol === 'http:' && !loopback.test(hostname)) {
    process.stderr.write(`${origin} is not encrypted: the network can read the credentials\n`);
  }
  return origin;
}

async function signInWithToken(url: string): Promise<SavedLogin> {
  const token = await readSecret('Admin token: ');
  const target = new URL('/v1/x/admin/applications', url);
  await requestJson(url, target, { headers: { authorization: `Bearer ${token}` } });
  return { token };
}

async function signIn(url: string, given: string | undefined, givenCode: string | undefined): Promise<SavedLogin> {
  const name = await readName(given);
  const password = await readSecret('Password: ');
  const send = (code?: string) =>
    requestJson(url, new URL('/v1/x/session', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url },
      body: JSON.stringify({ name, password, code }),
    });
  const { body, headers } = await send(givenCode).catch(async (error: unknown) => {
    const requiresCode = error instanceof Refusal && error.message.startsWith('SECOND_FACTOR_REQUIRED');
    if (!requiresCode || error.message.includes('passkey') || !process.stdin.isTTY) throw error;
    return send(await ask('Authenticator code or recovery code: ', false));
  });
  if (Object(body).mustAddSecondFactor === true) throw new Error(`add a second factor first, at ${url}/profile`);
  if (Object(body).mustChangePassword === true) throw new Error(`change the password first, at ${url}/profile`);
  const cookie = headers.getSetCookie().find((one) => one.startsWith(`${sessionCookie}=`));
  const [, session] = /=([^;]+)/.exec(cookie ?? '') ?? [];
  if (session === undefined) throw new Error('unexpected answer without a session; is this the platform?');
  return { session, name, usedAt: Date.now() };
}

const describe = (url: string, login: SavedLogin) => ({
  server: url,
  ...('name' in login ? { name: login.name } : { token: 'admin token' }),
});

/** Signing in to servers, whose sessions are kept in a file of the user. */
export const loginCommands = [
  command({
    name: 'login',
    summary: 'sign in to a server as an operator; commands use it from now on, with the rights of that operator',
    operand: 'URL',
    options: {
      name: optional('name of the operator; asked for on a terminal'),
      code: optional('code of the second factor; a terminal prompts for it'),
      token: flag('sign in with the admin token instead'),
    },
    examples: [
      'login https://fleet.example.com',
      'login https://fleet.example.com --name alex < password-file',
      'login https://fleet.example.com --token < token-file',
    ],
    async run({ userDirectory, operand }, { name, code, token }) {
      const url = parseServer(operand);
      const login = token ? await signInWithToken(url) : await signIn(url, name, code);
      await forgetLogin(userDirectory, url);
      await saveLogin(userDirectory, url, login);
      return describe(url, login);
    },
  }),
  command({
    name: 'logout',
    summary: 'end the session at a server, that of the latest login unless --server names one, and forget it',
    examples: ['logout', 'logout --server https://fleet.example.com'],
    async run({ api, userDirectory }) {
      const { logins } = await readServers(userDirectory);
      const url = new URL(api.url).origin;
      const login = logins[url];
      if (login === undefined) throw new Error(`not signed in to ${url}`);
      if ('session' in login) {
        // Also when the server does not answer, this host forgets the session.
        await api
          .delete('/v1/x/session')
          .catch((error: Error) => process.stderr.write(`session not ended: ${error.message}\n`));
      }
      await forgetLogin(userDirectory, url);
      return describe(url, login);
    },
  }),
  command({
    name: 'whoami',
    summary: 'show which server commands use, and as whom',
    examples: ['whoami', 'whoami --server https://fleet.example.com'],
    async run({ api, userDirectory }) {
      const { logins } = await readServers(userDirectory);
      const url = new URL(api.url).origin;
      if (logins[url] !== undefined && 'session' in logins[url]) {
        return { server: url, ...Object(await api.get('/v1/x/session')) };
      }
      await api.get('applications');
      return { server: url, token: 'admin token' };
    },
  }),
];
