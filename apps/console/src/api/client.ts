import type { components, paths } from '@odograph/client/interface';
import { signal } from '@preact/signals';
import createClient, { type Middleware } from 'openapi-fetch';

/** A schema of the interface, by its name. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

/** Every call of the interface, typed by its OpenAPI document. The browser adds the cookie of the session. */
export const api = createClient<paths>({ headers: { 'content-type': 'application/json' } });

/** A call that was refused, or that got no answer. */
export class CallFailure extends Error {
  /** The code of the answer; UNREACHABLE without one. */
  readonly code: string;
  /** The parameter at fault. */
  readonly field: string | undefined;

  constructor(code: string, message: string, field?: string) {
    super(message);
    this.name = 'CallFailure';
    this.code = code;
    this.field = field;
  }
}

/** Describes a failed call for people. */
export const messageOf = (error: unknown): string => (error instanceof CallFailure ? error.message : String(error));

/** Whether the platform has refused the session since the sign-in. */
export const sessionEnded = signal(false);

const noticeEnd: Middleware = {
  async onResponse({ response, schemaPath }) {
    if (response.status !== 401 || schemaPath === '/v1/x/session') return;
    const { error } = readFailure(
      await response
        .clone()
        .json()
        .catch(() => undefined),
    );
    // A rejected code or passkey does not end the session.
    if (error !== 'INVALID_CREDENTIALS') sessionEnded.value = true;
  },
};
api.use(noticeEnd);

/** Waits for the answer of a call. @throws CallFailure */
export async function answerOf<Data>(
  call: Promise<{ data?: Data; error?: unknown; response: Response }>,
): Promise<Data> {
  const result = await call.catch((error: unknown) => {
    throw new CallFailure('UNREACHABLE', error instanceof Error ? error.message : String(error));
  });
  if (result.response.ok) return result.data as Data;
  const { error, message, field } = readFailure(result.error);
  throw new CallFailure(error ?? String(result.response.status), message ?? result.response.statusText, field);
}

/** Reads the answer of a refused call (docs/interface.md, "Failures"); a proxy may have answered in another form. */
function readFailure(body: unknown): { readonly error?: string; readonly message?: string; readonly field?: string } {
  const members = Object(body) as Readonly<Record<string, unknown>>;
  const texts = ['error', 'message', 'field'].filter((name) => typeof members[name] === 'string');
  return Object.fromEntries(texts.map((name) => [name, members[name]]));
}

/** The same address also answers another format, as text. @throws CallFailure */
export function onlyJson<Answer>(answer: Answer | string): Answer {
  if (typeof answer === 'string') throw new CallFailure('UNEXPECTED', 'the answer is not JSON');
  return answer;
}
