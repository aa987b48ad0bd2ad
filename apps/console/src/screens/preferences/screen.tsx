import './preferences.css';
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { readFields } from '../../parts/forms.ts';
import { type Preferences, prefer, preferences } from '../../parts/preferences.ts';
import { changePassword, type Person, session, signOut } from '../../session.ts';
import { texts } from '../../texts/texts.ts';

function Account({ person }: { person: Person }) {
  const { preferences: text } = texts.value;
  const isOperator = person.kind === 'operator';
  const applications = isOperator ? person.applications.map(({ name }) => name).join(', ') : person.appId;
  return (
    <section class="card">
      <h2>{isOperator ? person.name : person.username}</h2>
      <dl>
        <dt>{text.role}</dt>
        <dd>{text.roles[isOperator ? person.role : 'user']}</dd>
        <dt>{text.applications}</dt>
        <dd>{applications || text.everyApplication}</dd>
      </dl>
      <div class="row">
        <button type="button" class="button" onClick={() => void signOut()}>
          {text.signOut}
        </button>
        <button type="button" class="button" onClick={() => void signOut({ everywhere: true })}>
          {text.signOutEverywhere}
        </button>
      </div>
    </section>
  );
}

function Choice<Name extends keyof Preferences>({
  name,
  label,
  options,
}: {
  name: Name;
  label: string;
  options: Readonly<Record<Preferences[Name], string>>;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select
        class="input"
        value={preferences.value[name]}
        onChange={({ currentTarget }) => prefer({ [name]: currentTarget.value })}
      >
        {Object.entries<string>(options).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Display() {
  const { preferences: text } = texts.value;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <section class="card">
      <h2>{text.display}</h2>
      <div class="choices">
        <Choice name="theme" label={text.theme} options={text.themes} />
        <Choice name="language" label={text.language} options={text.languages} />
        <Choice name="units" label={text.units} options={text.unitSystems} />
        <Choice name="zone" label={text.zone} options={{ local: text.zones.local(zone), utc: text.zones.utc }} />
      </div>
    </section>
  );
}

type Outcome = 'changed' | 'wrongPassword' | 'shortPassword' | 'failed';

function Password({ mustChange }: { mustChange: boolean }) {
  const { preferences: text, signIn } = texts.value;
  const form = useRef<HTMLFormElement>(null);
  const outcome = useSignal<Outcome | undefined>(undefined);
  const message = {
    changed: text.passwordChanged,
    wrongPassword: text.wrongPassword,
    shortPassword: text.shortPassword,
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!form.current) return;
    const { current = '', chosen = '' } = readFields(form.current);
    outcome.value = await changePassword(current, chosen);
    if (outcome.value === 'changed') form.current.reset();
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
          {outcome.value && (
            <p class={`notice ${outcome.value === 'changed' ? 'good' : 'wrong'}`}>
              {outcome.value === 'failed' ? signIn.failed : message[outcome.value]}
            </p>
          )}
        </div>
        <div class="row">
          <button type="submit" class="button primary">
            {text.changePassword}
          </button>
        </div>
      </form>
    </section>
  );
}

/** Who is signed in, how the console looks, and the password. */
export function PreferencesScreen() {
  const now = session.value;
  if (now.state !== 'signed in') return null;
  return (
    <div class="page preferences">
      <h1>{texts.value.preferences.title}</h1>
      <Account person={now.person} />
      <Display />
      <Password mustChange={now.person.mustChangePassword} />
    </div>
  );
}
