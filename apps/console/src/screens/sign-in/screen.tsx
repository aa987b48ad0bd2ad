import './sign-in.css';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { answerOf, api } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { Choice, readFields } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Logo } from '../../parts/layout/icons.tsx';
import { Heading } from '../../parts/layout/placeholders.tsx';
import { address, navigate } from '../../router.ts';
import {
  addressAfterSignIn,
  type Person,
  type SignInFault,
  session,
  signIn,
  signInWithPasskey,
  suggestsPasskeys,
  supportsPasskeys,
} from '../../session.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';

function faultText(fault: SignInFault): string {
  const { signIn: text } = texts.value;
  if (fault.kind === 'wait') return text.tooMany(fault.seconds);
  if (fault.kind === 'wrong code') return text.wrongCode;
  if (fault.kind === 'passkey') return text.needsPasskey;
  if (fault.kind === 'wrong passkey') return text.wrongPasskey;
  return fault.kind === 'wrong' ? text.wrong : text.failed;
}

interface TextFieldOptions {
  readonly label: string;
  readonly name: string;
  readonly autocomplete: string;
  readonly before: string | undefined;
}

function TextField({ label, name, autocomplete, before = '' }: TextFieldOptions) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="input"
        type="text"
        name={name}
        required
        spellcheck={false}
        autocapitalize="none"
        autocomplete={autocomplete}
        defaultValue={before}
      />
    </label>
  );
}

/** Suggestions are renewed before their challenge expires after five minutes. */
const suggestionMs = 240_000;

const focus = (input: HTMLInputElement | null): void => input?.focus();

function CodeField({ label }: { label: string }) {
  return (
    <label class="field">
      <span>{label}</span>
      <input class="input" type="text" name="code" required autocomplete="one-time-code" maxLength={32} ref={focus} />
    </label>
  );
}

/** Signs in with a passkey, on click or from an autofill suggestion for the name. */
function PasskeyButton({ onFault }: { onFault: (fault: SignInFault | undefined) => void }) {
  useEffect(() => {
    const suggest = async () => {
      if (await suggestsPasskeys()) onFault(await signInWithPasskey(true));
    };
    void suggest();
    const timer = setInterval(() => void suggest(), suggestionMs);
    return () => clearInterval(timer);
  }, []);
  const choose = async () => onFault(await signInWithPasskey());
  return <Button onClick={() => void choose()}>{texts.value.signIn.withPasskey}</Button>;
}

/** The form for a name and a password. @param person who was signed in before, whose names are filled in */
function SignInForm({ person, onSignedIn }: { person?: Person; onSignedIn: () => void }) {
  const { signIn: text } = texts.value;
  const kind = useSignal<Person['kind']>(person?.kind ?? 'operator');
  const fault = useSignal<SignInFault | undefined>(undefined);
  const isSending = useSignal(false);
  const needsCode = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  const operator = person?.kind === 'operator' ? person : undefined;
  const user = person?.kind === 'user' ? person : undefined;

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!form.current || isSending.value) return;
    const { name = '', appId = '', username = '', password = '', code } = readFields(form.current);
    isSending.value = true;
    const more = { password, ...(code !== undefined && { code }) };
    const failed = await signIn(kind.value === 'operator' ? { name, ...more } : { appId, username, ...more });
    isSending.value = false;
    if (failed === undefined) onSignedIn();
    if (failed?.kind === 'code') needsCode.value = true;
    else fault.value = failed;
    if (failed?.kind === 'wrong') form.current.querySelector<HTMLInputElement>('[name=password]')?.select();
  };

  return (
    <form class="sign-in-form" ref={form} onSubmit={(event) => void submit(event)}>
      <Choice
        label={text.as}
        name="kind"
        chosen={kind.value}
        options={(['operator', 'user'] as const).map((one) => [one, text[one]] as const)}
        onChoose={(one) => assign(kind, one)}
      />
      {kind.value === 'operator' ? (
        <TextField label={text.name} name="name" autocomplete="username webauthn" before={operator?.name} />
      ) : (
        <>
          <TextField label={text.application} name="appId" autocomplete="organization" before={user?.appId} />
          <TextField label={text.username} name="username" autocomplete="username" before={user?.username} />
        </>
      )}
      <label class="field">
        <span>{text.password}</span>
        <input class="input" type="password" name="password" required autocomplete="current-password" />
      </label>
      {needsCode.value && <CodeField label={text.code} />}
      <div role="alert">{fault.value && <p class="notice wrong">{faultText(fault.value)}</p>}</div>
      <Button type="submit" kind="primary" disabled={isSending.value}>
        {isSending.value && <span class="spinner" />}
        {text.submit}
      </Button>
      {kind.value === 'operator' && supportsPasskeys() && <PasskeyButton onFault={(one) => assign(fault, one)} />}
    </form>
  );
}

/** Links to the identity providers. */
function ProviderLinks() {
  const { signIn: text } = texts.value;
  const { data } = useLoad(() => answerOf(api.GET('/v1/x/session/methods')), []);
  const { providers = [] } = data ?? {};
  if (providers.length === 0) return null;
  const failed = providers.find(({ id }) => id === address.value.query.get('failed'));
  const next = encodeURIComponent(addressAfterSignIn());
  return (
    <div class="sign-in-form">
      <div role="alert">{failed && <p class="notice wrong">{text.providerFailed(failed.name)}</p>}</div>
      {providers.map(({ id, name, path }) => (
        <a key={id} class="button" href={`${path}?next=${next}`} data-load>
          {text.withProvider(name)}
        </a>
      ))}
    </div>
  );
}

/** The page that everybody sees first. */
export function SignInScreen() {
  const isSignedIn = session.value.state === 'signed in';
  const leave = () => {
    const next = addressAfterSignIn();
    // Pages such as /queues are not of the console: the browser loads them.
    if (/^\/(?:queues|docs)\b/.test(next)) location.assign(next);
    else navigate(next, { replace: true });
  };
  useEffect(() => {
    if (isSignedIn) leave();
  }, [isSignedIn]);
  return (
    <div class="sign-in-page">
      <main class="card">
        <div class="sign-in-brand">
          <Logo /> {texts.value.product}
        </div>
        <Heading text={texts.value.signIn.title} />
        <SignInForm onSignedIn={() => undefined} />
        <ProviderLinks />
      </main>
    </div>
  );
}

/** Asks for the password over the page of a session that has ended; the page keeps what was typed. */
export function SignInAgain({ person }: { person: Person }) {
  const { signIn: text } = texts.value;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      class="sign-in-again"
      ref={dialog}
      aria-labelledby="sign-in-again"
      onCancel={(event) => event.preventDefault()}
    >
      <h2 id="sign-in-again">{text.expiredTitle}</h2>
      <p class="muted">{text.expiredText}</p>
      <SignInForm person={person} onSignedIn={() => dialog.current?.close()} />
    </dialog>
  );
}
