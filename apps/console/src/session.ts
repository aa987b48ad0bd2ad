import { signal } from '@preact/signals';
import { address, navigate } from './parts/router.ts';

/** Who is signed in, as GET /v1/x/session answers it. */
export type Person =
  | {
      readonly kind: 'operator';
      readonly name: string;
      readonly role: 'viewer' | 'operator' | 'administrator';
      readonly applications: readonly { readonly appId: string; readonly name: string }[];
      readonly mustChangePassword: boolean;
    }
  | { readonly kind: 'user'; readonly username: string; readonly appId: string; readonly mustChangePassword: boolean };

type Session =
  | { readonly state: 'unknown' }
  | { readonly state: 'unreachable' }
  | { readonly state: 'signed out' }
  /** `isOver`: the platform refused the session since; the page stays, and asks for the password. */
  | { readonly state: 'signed in'; readonly person: Person; readonly isOver: boolean };

export const session = signal<Session>({ state: 'unknown' });

const path = '/v1/x/session';
const retryMs = 5000;

/** Finds out who is signed in; tries again while the platform does not answer. */
export async function readSession(): Promise<void> {
  const response = await fetch(path).catch(() => undefined);
  if (response?.ok) {
    session.value = { state: 'signed in', person: await response.json(), isOver: false };
  } else if (response && response.status < 500) {
    session.value = { state: 'signed out' };
  } else {
    session.value = { state: 'unreachable' };
    setTimeout(() => void readSession(), retryMs);
  }
}

export type Credentials =
  | { readonly name: string; readonly password: string }
  | { readonly appId: string; readonly username: string; readonly password: string };

/** Why a sign-in failed. */
export type SignInFault =
  | { readonly kind: 'wrong' | 'unreachable' }
  | { readonly kind: 'wait'; readonly seconds: number };

const json = { 'content-type': 'application/json' };

/** Signs in. @returns why it failed, undefined when it did not */
export async function signIn(credentials: Credentials): Promise<SignInFault | undefined> {
  const body = JSON.stringify(credentials);
  const response = await fetch(path, { method: 'POST', headers: json, body }).catch(() => undefined);
  if (response?.ok) {
    session.value = { state: 'signed in', person: await response.json(), isOver: false };
    return undefined;
  }
  if (response?.status === 429) return { kind: 'wait', seconds: Number(response.headers.get('retry-after') ?? 60) };
  return { kind: response === undefined || response.status >= 500 ? 'unreachable' : 'wrong' };
}

/** Signs out, here or in every browser, and shows the sign-in. */
export async function signOut({ everywhere = false } = {}): Promise<void> {
  await fetch(everywhere ? `${path}s` : path, { method: 'DELETE', headers: json, body: '{}' });
  session.value = { state: 'signed out' };
  navigate('/sign-in');
}

/** Changes the password of who is signed in; other sessions of the account end. */
export async function changePassword(
  currentPassword: string,
  newPassword: string,
): Promise<'changed' | 'wrongPassword' | 'shortPassword' | 'failed'> {
  const body = JSON.stringify({ currentPassword, newPassword });
  const response = await fetch(`${path}/password`, { method: 'POST', headers: json, body }).catch(() => undefined);
  if (response?.ok) {
    await readSession();
    return 'changed';
  }
  const code = await response?.json().then(
    (answer: { error?: string }) => answer.error,
    () => undefined,
  );
  if (code === 'INVALID_OLD_PASSWORD') return 'wrongPassword';
  return code === 'INVALID_PASSWORD_LENGTH' ? 'shortPassword' : 'failed';
}

/** The address to open after the sign-in: one of this console, `next` of the address or the map. */
export function addressAfterSignIn(): string {
  const next = address.value.query.get('next') ?? '';
  const url = URL.canParse(next, location.origin) ? new URL(next, location.origin) : undefined;
  if (!next.startsWith('/') || url?.origin !== location.origin || url.pathname === '/sign-in') return '/map';
  return url.pathname + url.search;
}
