import { useSignal } from '@preact/signals';
import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/browser';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { Labelled } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { navigate } from '../../router.ts';
import { readSession, supportsPasskeys } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatAgo, formatFull } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { Step } from './second-factor.tsx';

type Passkey = Schema<'Passkey'>;

/** Creates a passkey in the browser, and adds it to the account. @throws CallFailure */
async function addPasskey(name: string, currentPassword: string): Promise<void> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const options = await answerOf(api.POST('/v1/x/session/passkeys/options', { body: { currentPassword } }));
  const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  const created = await startRegistration({ optionsJSON }).catch(() => {
    throw new CallFailure('REFUSED', texts.value.profile.passkeyNotCreated);
  });
  const { clientDataJSON, attestationObject } = created.response;
  const body = { name, id: created.id, clientDataJSON, attestationObject };
  await answerOf(api.POST('/v1/x/session/passkeys', { body }));
}

function describeUse({ createdAt, usedAt }: Passkey): string {
  const { profile: text, accounts } = texts.value;
  const added = text.passkeyAdded(formatFull(createdAt));
  return usedAt === null ? added : `${added} · ${accounts.lastUse(formatAgo(usedAt))}`;
}

/** Lists the passkeys of the signed-in operator, adds and removes them. */
export function Passkeys() {
  const { profile: text, remove } = texts.value;
  const { data, failure, reload } = useLoad(() => answerOf(api.GET('/v1/x/session/passkeys')), []);
  /** The passkey that is being removed. */
  const removing = useSignal<Passkey | undefined>(undefined);
  const change = async (work: Promise<unknown>) => {
    await work;
    removing.value = undefined;
    reload();
    // Navigate first: refreshing the session shows the requested page.
    navigate('/profile', { replace: true });
    await readSession();
  };
  const removePasskey = (id: string, currentPassword: string) =>
    change(
      answerOf(api.DELETE('/v1/x/session/passkeys/{id}', { params: { path: { id } }, body: { currentPassword } })),
    );
  return (
    <section class="card">
      <h2>{text.passkeys}</h2>
      <p class="muted">{text.passkeysText}</p>
      {!data && (failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />)}
      <ul class="sessions" aria-label={text.passkeys}>
        {data?.passkeys.map((passkey) => (
          <li key={passkey.id}>
            <div>
              <strong>{passkey.name}</strong>
              <div class="muted">{describeUse(passkey)}</div>
            </div>
            <Button aria-label={`${remove}: ${passkey.name}`} onClick={() => assign(removing, passkey)}>
              {remove}
            </Button>
          </li>
        ))}
      </ul>
      {removing.value && (
        <Step
          key={removing.value.id}
          label={text.currentPassword}
          name="currentPassword"
          action={text.removePasskey(removing.value.name)}
          onSubmit={(password) => removePasskey(removing.value?.id ?? '', password)}
        />
      )}
      {!removing.value && !supportsPasskeys() && <p class="muted">{text.passkeysUnsupported}</p>}
      {!removing.value && supportsPasskeys() && (
        <Step
          key="add"
          label={text.currentPassword}
          name="currentPassword"
          action={text.addPasskey}
          onSubmit={(password, { name = '' }) => change(addPasskey(name, password))}
        >
          <Labelled label={text.passkeyName}>
            <input class="input" name="name" required maxLength={100} />
          </Labelled>
        </Step>
      )}
    </section>
  );
}
