import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { Form, Labelled, readFields } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { CopyRows, ShownOnce } from '../../parts/layout/copy.tsx';
import { QrCode } from '../../parts/layout/qr-code.tsx';
import { navigate } from '../../router.ts';
import { type Person, readSession } from '../../session.ts';
import { texts } from '../../texts/texts.ts';

function faultText(error: unknown): string {
  const { profile: text, signIn } = texts.value;
  if (!(error instanceof CallFailure)) return signIn.failed;
  if (error.code === 'INVALID_OLD_PASSWORD') return text.wrongPassword;
  return error.code === 'INVALID_CREDENTIALS' ? text.wrongCode : error.message;
}

interface StepOptions {
  readonly label: string;
  readonly name: 'currentPassword' | 'code';
  readonly action: string;
  /** Submits the value; a failure is shown below the field. */
  readonly onSubmit: (value: string, fields: Readonly<Record<string, string>>) => Promise<unknown>;
  /** Further fields. */
  readonly children?: ComponentChildren;
}

/** Asks for the password or a code. */
export function Step({ label, name, action, onSubmit, children }: StepOptions) {
  const fault = useSignal<string | undefined>(undefined);
  const submit = async (form: HTMLFormElement) => {
    fault.value = undefined;
    try {
      const fields = readFields(form);
      await onSubmit(fields[name] ?? '', fields);
      form.reset();
    } catch (error) {
      fault.value = faultText(error);
      const input = form.elements.namedItem(name);
      if (input instanceof HTMLInputElement) input.value = '';
    }
  };
  return (
    <Form class="" onSubmit={(form) => void submit(form)}>
      {children}
      <Labelled label={label}>
        {name === 'code' ? (
          <input class="input" type="text" name={name} required maxLength={32} autocomplete="one-time-code" />
        ) : (
          <input class="input" type="password" name={name} required autocomplete="current-password" />
        )}
      </Labelled>
      <div role="alert">{fault.value && <p class="notice wrong">{fault.value}</p>}</div>
      <div class="row">
        <Button type="submit">{action}</Button>
      </div>
    </Form>
  );
}

/** Adds a second factor: asks for the password, then for a code of the authenticator app. */
function Enrolment({ onAdded }: { onAdded: (recoveryCodes: readonly string[]) => void }) {
  const { profile: text } = texts.value;
  const started = useSignal<Schema<'SecondFactorSecret'> | undefined>(undefined);
  const start = async (currentPassword: string) => {
    started.value = await answerOf(api.POST('/v1/x/session/second-factor', { body: { currentPassword } }));
  };
  const confirm = async (code: string) => {
    const { recoveryCodes } = await answerOf(api.POST('/v1/x/session/second-factor/confirm', { body: { code } }));
    onAdded(recoveryCodes);
    // Navigate first: refreshing the session shows the requested page, which would hide the recovery codes.
    navigate('/profile', { replace: true });
    await readSession();
  };
  if (started.value === undefined) {
    return (
      <Step
        key="password"
        label={text.currentPassword}
        name="currentPassword"
        action={text.addSecondFactor}
        onSubmit={start}
      />
    );
  }
  return (
    <>
      <p>{text.scanCode}</p>
      <QrCode text={started.value.uri} label={text.qrCode} />
      <CopyRows rows={[[text.appSecret, started.value.secret]]} />
      <Step key="code" label={text.code} name="code" action={text.confirm} onSubmit={confirm} />
    </>
  );
}

/** Adds or removes the second factor of the signed-in user. */
export function SecondFactor({ person }: { person: Person }) {
  const { profile: text } = texts.value;
  const recoveryCodes = useSignal<readonly string[] | undefined>(undefined);
  const mustAdd = person.kind === 'operator' && person.mustAddSecondFactor;
  const remove = async (code: string) => {
    await answerOf(api.DELETE('/v1/x/session/second-factor', { body: { code } }));
    recoveryCodes.value = undefined;
    await readSession();
  };
  return (
    <section class="card">
      <h2>{text.secondFactor}</h2>
      {mustAdd && <p class="notice late">{text.mustAddSecondFactor}</p>}
      <p class="muted">{person.hasSecondFactor ? text.secondFactorOn : text.secondFactorOff}</p>
      {recoveryCodes.value && (
        <>
          <ShownOnce entries={[[text.recoveryCodes, recoveryCodes.value.join(' ')]]} />
          <p class="muted">{text.recoveryCodesText}</p>
        </>
      )}
      {person.hasSecondFactor ? (
        <Step key="remove" label={text.code} name="code" action={text.removeSecondFactor} onSubmit={remove} />
      ) : (
        <Enrolment
          onAdded={(codes) => {
            recoveryCodes.value = codes;
          }}
        />
      )}
    </section>
  );
}
