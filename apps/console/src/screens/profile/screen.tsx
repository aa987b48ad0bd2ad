import './profile.css';
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { CallFailure } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { readFields } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Heading } from '../../parts/layout/placeholders.tsx';
import { prefer, preferences } from '../../preferences.ts';
import { changePassword, type Person, session, signOut } from '../../session.ts';
import { completeLanguages, languages } from '../../texts/languages.ts';
import { texts } from '../../texts/texts.ts';
import { Passkeys } from './passkeys.tsx';
import { SecondFactor } from './second-factor.tsx';
import { Sessions } from './sessions.tsx';

function Account({ person }: { person: Person }) {
  const { profile: text } = texts.value;
  const isOperator = person.kind === 'operator';
  const action = useAction();
  const applications = isOperator ? person.applications.map(({ name }) => name).join(', ') : person.applicationName;
  return (
    <section class="card">
      <h2>{isOperator ? person.name : person.username}</h2>
      <dl>
        <dt>{text.role}</dt>
        <dd>{text.roles[isOperator ? person.role : 'user']}</dd>
        <dt>{text.applications}</dt>
        <dd>{isOperator && !person.limited ? text.everyApplication : applications}</dd>
      </dl>
      <div class="row">
        <Button onClick={() => void action.run(() => signOut())}>{text.signOut}</Button>
        <Button onClick={() => void action.run(() => signOut({ everywhere: true }))}>{text.signOutEverywhere}</Button>
      </div>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </section>
  );
}

function Choice<Name extends 'theme' | 'language' | 'units' | 'zone'>({
  name,
  label,
  options,
}: {
  name: Name;
  label: string;
  options: Readonly<Record<string, string>>;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select
        class="input"
        value={preferences.value[name]}
        onChange={({ currentTarget }) => prefer({ [name]: currentTarget.value })}
      >
        {Object.entries(options).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Display() {
  const { profile: text } = texts.value;
  const ownNames = Object.fromEntries(completeLanguages.map((code) => [code, languages[code].name]));
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <section class="card">
      <h2>{text.display}</h2>
      <div class="choices">
        <Choice name="theme" label={text.theme} options={text.themes} />
        <Choice name="language" label={text.language} options={{ system: text.sameAsBrowser, ...ownNames }} />
        <Choice name="units" label={text.units} options={text.unitSystems} />
        <Choice name="zone" label={text.zone} options={{ local: text.zones.local(zone), utc: text.zones.utc }} />
      </div>
    </section>
  );
}

function passwordFault(error: unknown): string {
  const { profile: text, signIn } = texts.value;
  const code = error instanceof CallFailure ? error.code : '';
  if (code === 'INVALID_OLD_PASSWORD') return text.wrongPassword;
  return code === 'INVALID_PASSWORD_LENGTH' ? text.shortPassword : signIn.failed;
}

function Password({ mustChange }: { mustChange: boolean }) {
  const { profile: text } = texts.value;
  const form = useRef<HTMLFormElement>(null);
  const outcome = useSignal<{ readonly text: string; readonly isGood: boolean } | undefined>(undefined);
  const isSending = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!form.current || isSending.value) return;
    isSending.value = true;
    const { current = '', chosen = '' } = readFields(form.current);
    try {
      await changePassword(current, chosen);
      form.current.reset();
      outcome.value = { text: text.passwordChanged, isGood: true };
    } catch (error) {
      outcome.value = { text: passwordFault(error), isGood: false };
    } finally {
      isSending.value = false;
    }
  };
  return (
    <section class="card">
      <h2>{text.password}</h2>
      {mustChange && <p class="notice late">{text.mustChange}</p>}
      <form ref={form} onSubmit={(event) => void submit(event)}>
        <label class="field">
          <span>{text.currentPassword}</span>
          <input class="input" type="password" name="current" autocomplete="current-password" required />
        </label>
        <label class="field">
          <span>{text.newPassword}</span>
          <input class="input" type="password" name="chosen" autocomplete="new-password" minLength={8} required />
          <small class="muted">{text.passwordRule}</small>
        </label>
        <div role="status">
          {outcome.value && <p class={`notice ${outcome.value.isGood ? 'good' : 'wrong'}`}>{outcome.value.text}</p>}
        </div>
        <div class="row">
          <Button type="submit" kind="primary">
            {text.changePassword}
          </Button>
        </div>
      </form>
    </section>
  );
}

/** The account, how the console looks, and the password. */
export function ProfileScreen() {
  const now = session.value;
  if (now.state !== 'signed in') return null;
  return (
    <div class="page profile">
      <Heading text={texts.value.profile.title} />
      <Account person={now.person} />
      <Display />
      {now.person.hasPassword && (
        <>
          <Password mustChange={now.person.mustChangePassword} />
          {!now.person.mustChangePassword && <SecondFactor person={now.person} />}
          {!now.person.mustChangePassword && now.person.kind === 'operator' && <Passkeys />}
        </>
      )}
      <Sessions />
    </div>
  );
}
