import { signal } from '@preact/signals';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/browser';
import { answerOf, api, CallFailure, type Schema, sessionEnded } from './api/client.ts';
import { address, navigate } from './router.ts';

/** The signed-in person. */
export type Person = Schema<'SignedInPerson'>;

type Session =
  | { readonly state: 'unknown' | 'unreachable' | 'signed out' }
  | { readonly state: 'signed in'; readonly person: Person };

export const session = signal<Session>({ state: 'unknown' });

const retryMs = 5000;
/** A session ends after 12 hours without this call, also while a page is open. */
const keepAliveMs = 600_000;

/** Connects the tabs of this browser, which share the session cookie. */
const tabs = new BroadcastChannel('session');
type SessionChange = 'signed in' | 'signed out';
const notifyTabs = (change: SessionChange): void => tabs.postMessage(change);

const identityOf = (one: Person): string => (one.kind === 'operator' ? `operator ${one.name}` : `user ${one.userId}`);

/** Reloads the page to discard all data of the previous person. */
function discardPage(): void {
  session.value = { state: 'unknown' };
  location.reload();
}

function open(next: Person): void {
  const previous = person();
  if (previous && identityOf(previous) !== identityOf(next)) {
    discardPage();
    return;
  }
  sessionEnded.value = false;
  session.value = { state: 'signed in', person: next };
}

/** Whether a call was refused because the browser has no session, or one that has ended. */
const hasEnded = (error: unknown): boolean =>
  error instanceof CallFailure && ['MISSING_TOKEN', 'INVALID_TOKEN', 'TOKEN_EXPIRED'].includes(error.code);

/** Finds the signed-in person; tries again while the platform does not answer. */
export async function readSession(): Promise<void> {
  try {
    open(await answerOf(api.GET('/v1/x/session')));
    notifyTabs('signed in');
  } catch (error) {
    const isRefused = hasEnded(error);
    // Keep an open page: it may show a secret that is shown only once.
    if (isRefused && person()) sessionEnded.value = true;
    else if (isRefused) session.value = { state: 'signed out' };
    if (isRefused) return;
    if (!person()) session.value = { state: 'unreachable' };
    setTimeout(() => void readSession(), retryMs);
  }
}

/** The header with which an operator acts for the application of a vehicle; a user has only one. */
export const actingFor = (appId: string): { 'X-Application'?: string } =>
  isOperator() ? { 'X-Application': appId } : {};

const person = (): Person | undefined => (session.value.state === 'signed in' ? session.value.person : undefined);
const operator = () => {
  const signedIn = person();
  return signedIn?.kind === 'operator' ? signedIn : undefined;
};

/** Whether the person runs the platform, and sees the screens of its operation. */
export const isOperator = (): boolean => operator() !== undefined;

const operatorRoles = ['viewer', 'operator', 'administrator'] as const;

/** Whether the person is an operator with this role or one that includes it. */
export function hasRole(least: (typeof operatorRoles)[number]): boolean {
  const role = operator()?.role;
  return role !== undefined && operatorRoles.indexOf(role) >= operatorRoles.indexOf(least);
}

/** The applications that the operator sees, and whether these are all that there are for the operator. */
export function operatorApplications() {
  const { applications = [], limited: isLimited = true } = operator() ?? {};
  return { applications, isLimited };
}

/** Returns the time zone of an application; for a user, of the user's own. */
export function timeZoneOf(appId: string): string {
  const signedIn = person();
  if (signedIn?.kind === 'user') return signedIn.timeZone;
  return signedIn?.applications.find((one) => one.appId === appId)?.timeZone ?? 'UTC';
}

/** Whether the person runs the whole platform: an operator who is not limited to applications. */
export const isUnlimited = (): boolean => operator()?.limited === false;

/** Whether the person may change the map of the console. */
export const mayChangeMap = (): boolean => isUnlimited() && hasRole('administrator');

/** Tests whether the user is confined to the profile until the password is changed or a second factor added. */
export const isConfinedToProfile = (): boolean => {
  const signedIn = person();
  return signedIn?.mustChangePassword === true || (signedIn?.kind === 'operator' && signedIn.mustAddSecondFactor);
};

/** Whether the person may make changes: an operator with the role viewer can only read. */
export const mayChange = (): boolean => person()?.kind === 'user' || hasRole('operator');

/** Keeps the session alive, and detects that it has ended or belongs to another person. */
export async function checkSession(): Promise<void> {
  if (!person()) return;
  const { data, response } = await api.GET('/v1/x/session');
  if (data && person()) open(data);
  if (response.status === 401) sessionEnded.value = true;
}

/** Keeps the session alive while the page is open, and follows sign-ins and sign-outs in other tabs. */
export function keepSession(): void {
  // Without an answer the next call tries again.
  const check = () => void checkSession().catch(() => undefined);
  setInterval(check, keepAliveMs);
  tabs.addEventListener('message', ({ data }: MessageEvent<SessionChange>) => {
    if (data === 'signed in') check();
    else if (person()) discardPage();
  });
}

export type Credentials =
  | { readonly name: string; readonly password: string; readonly code?: string }
  | { readonly appId: string; readonly username: string; readonly password: string; readonly code?: string };

/** Why a sign-in failed. */
export type SignInFault =
  | { readonly kind: 'wrong' | 'code' | 'wrong code' | 'passkey' | 'wrong passkey' | 'unreachable' }
  | { readonly kind: 'wait'; readonly seconds: number };

/** Signs in. @returns why it failed, undefined when it did not */
export async function signIn(credentials: Credentials): Promise<SignInFault | undefined> {
  const result = await api.POST('/v1/x/session', { body: credentials }).catch(() => undefined);
  if (result?.data) {
    open(result.data);
    notifyTabs('signed in');
    return undefined;
  }
  const status = result?.response.status ?? 0;
  if (status === 429) return { kind: 'wait', seconds: Number(result?.response.headers.get('retry-after') ?? 60) };
  if (status < 400 || status >= 500) return { kind: 'unreachable' };
  const { error, field, reason } = Object(result?.error);
  if (error === 'SECOND_FACTOR_REQUIRED') return { kind: reason === 'PASSKEY' ? 'passkey' : 'code' };
  return { kind: field === 'code' ? 'wrong code' : 'wrong' };
}

/** Whether passkeys can be used here: they require a domain name and a secure context. */
export const supportsPasskeys = (): boolean =>
  'PublicKeyCredential' in window && !/^[\d.]+$|^\[/.test(location.hostname);

/** Whether this browser suggests passkeys in autofill (conditional mediation). */
export const suggestsPasskeys = async (): Promise<boolean> =>
  supportsPasskeys() && (await PublicKeyCredential.isConditionalMediationAvailable?.()) === true;

/**
 * Signs in with a passkey that the person selects in a browser dialog or an autofill suggestion.
 * @returns the reason of a failure; undefined on success, or if no suggestion was selected
 */
export async function signInWithPasskey(isSuggested = false): Promise<SignInFault | undefined> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  try {
    const optionsJSON = (await answerOf(
      api.POST('/v1/x/session/passkey/options'),
    )) as unknown as PublicKeyCredentialRequestOptionsJSON;
    const { id, response } = await startAuthentication({ optionsJSON, useBrowserAutofill: isSuggested });
    const { authenticatorData, clientDataJSON, signature, userHandle = '' } = response;
    const body = { id, authenticatorData, clientDataJSON, signature, userHandle };
    open(await answerOf(api.POST('/v1/x/session/passkey', { body })));
    notifyTabs('signed in');
    return undefined;
  } catch (error) {
    if (!(error instanceof CallFailure)) return isSuggested ? undefined : { kind: 'wrong passkey' };
    return { kind: error.code === 'UNREACHABLE' ? 'unreachable' : 'wrong passkey' };
  }
}

/** Signs out, here or in every browser, and shows the sign-in. @throws CallFailure */
export async function signOut({ everywhere = false } = {}): Promise<void> {
  await answerOf(everywhere ? api.DELETE('/v1/x/sessions') : api.DELETE('/v1/x/session')).catch((error: unknown) => {
    // Without a session, the other sessions of the account cannot be ended.
    if (everywhere || !hasEnded(error)) throw error;
  });
  notifyTabs('signed out');
  navigate('/sign-in');
  discardPage();
}

/** Changes the password of the signed-in person; other sessions of the account end. @throws CallFailure */
export async function changePassword(currentPassword: string, newPassword: string): Promise<void> {
  await answerOf(api.POST('/v1/x/session/password', { body: { currentPassword, newPassword } }));
  await readSession();
}

/** The address to open after the sign-in: one of this console, `next` of the address or the map. */
export function addressAfterSignIn(): string {
  const next = address.value.query.get('next') ?? '';
  const url = URL.canParse(next, location.origin) ? new URL(next, location.origin) : undefined;
  if (!next.startsWith('/') || url?.origin !== location.origin || url.pathname === '/sign-in') return '/map';
  return url.pathname + url.search;
}
