import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { replaceSecretFile } from '@odograph/runtime/secrets';
import { requestJson } from './admin-api.ts';

/** The cookie of a session (docs/interface.md, "Sessions of the console"). */
export const sessionCookie = 'odograph_session';

/** Credentials for a server. */
export type SavedLogin =
  | {
      readonly session: string;
      readonly name: string /** When the session was last kept alive, in ms since 1970. */;
      readonly usedAt: number;
    }
  | { readonly token: string };

interface SavedServers {
  /** The server that commands use without an address: that of the latest login. */
  readonly current?: string | undefined;
  readonly logins: Readonly<Record<string, SavedLogin>>;
}

const fileIn = (directory: string) => join(directory, 'servers.json');

/** Reads the servers that someone has signed in to. @throws Error for a file that is not ours */
export async function readServers(directory: string): Promise<SavedServers> {
  const file = fileIn(directory);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { logins: {} };
    throw error;
  }
  try {
    const { current, logins } = JSON.parse(text);
    return { current, logins: Object(logins) };
  } catch (cause) {
    throw new Error(`${file} is not JSON; delete it and sign in again`, { cause });
  }
}

/** Writes the file that only its owner can read. */
async function writeServers(directory: string, servers: SavedServers): Promise<void> {
  await mkdir(dirname(fileIn(directory)), { recursive: true, mode: 0o700 });
  await replaceSecretFile(fileIn(directory), JSON.stringify(servers, null, 2));
}

/** Saves a login; a new one makes its server the one that commands use without an address. */
export async function saveLogin(directory: string, url: string, login: SavedLogin): Promise<void> {
  const { current, logins } = await readServers(directory);
  const isNew = logins[url] === undefined;
  await writeServers(directory, { current: isNew ? url : current, logins: { ...logins, [url]: login } });
}

/** Forgets a login. */
export async function forgetLogin(directory: string, url: string): Promise<void> {
  const { current, logins } = await readServers(directory);
  const { [url]: _, ...others } = logins;
  await writeServers(directory, { ...(current !== url && { current }), logins: others });
}

/** A session ends after 12 hours without a sign of life; one each hour keeps it. */
const keepAliveMs = 3_600_000;

/** The headers that authenticate a request with a saved login; keeps its session alive. @throws Unreachable, Refusal */
export async function headersOf(directory: string, url: string, login: SavedLogin): Promise<Record<string, string>> {
  if ('token' in login) return { authorization: `Bearer ${login.token}` };
  // Without the origin, the platform takes a change for a request that another site made.
  const headers = { cookie: `${sessionCookie}=${login.session}`, origin: url };
  if (Date.now() - login.usedAt > keepAliveMs) {
    await requestJson(url, new URL('/v1/x/session', url), { headers });
    await saveLogin(directory, url, { ...login, usedAt: Date.now() });
  }
  return headers;
}
