import { useSignal } from '@preact/signals';
import { answerOf, api, CallFailure } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { type CreatedDevice, type DeviceAddresses, loadAddresses, NewSettings } from '../../parts/devices/settings.tsx';
import { Confirm } from '../../parts/forms/dialog.tsx';
import { SelectField } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { CopyButton } from '../../parts/layout/copy.tsx';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatFull, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import type { DeviceDetail } from './device-data.ts';

const overlaps = [0, 3600, 86_400, 604_800] as const;

interface CredentialsOptions {
  readonly device: DeviceDetail;
  readonly mayChange: boolean;
  readonly onChanged: () => void;
}

type Question = 'secret' | 'certificates' | 'key' | 'tokens';

/** A secret that was made just now, and is shown once. */
type Shown =
  | { readonly kind: 'secret'; readonly created: CreatedDevice; readonly addresses: DeviceAddresses }
  | { readonly kind: 'key'; readonly key: string };

async function loadKey(id: string) {
  try {
    return await answerOf(api.GET('/v1/x/admin/devices/{id}/key', { params: { path: { id } } }));
  } catch (error) {
    // A device without a key.
    if (error instanceof CallFailure && error.code === 'UNKNOWN_DEVICE') return null;
    throw error;
  }
}

/** Carries out what was confirmed. @returns the secret to show. @throws CallFailure */
async function carryOut(
  question: Question,
  { deviceId: id, model, protocol }: DeviceDetail,
  overlapSeconds: number,
): Promise<Shown | undefined> {
  const params = { path: { id } };
  switch (question) {
    case 'secret': {
      const addresses = await loadAddresses();
      const call = api.POST('/v1/x/admin/devices/{id}/secret', { params, body: { overlapSeconds } });
      return { kind: 'secret', created: { secrets: await answerOf(call), model, protocol }, addresses };
    }
    case 'key':
      return { kind: 'key', key: (await answerOf(api.POST('/v1/x/admin/devices/{id}/key', { params }))).key };
    case 'certificates':
      await answerOf(api.DELETE('/v1/x/admin/devices/{id}/certificates', { params }));
      return undefined;
    case 'tokens':
      await answerOf(api.DELETE('/v1/x/admin/devices/{id}/tokens', { params }));
      return undefined;
  }
}

function ShownSecret({ shown }: { shown: Shown }) {
  const { devices: text } = texts.value;
  if (shown.kind === 'secret') return <NewSettings created={shown.created} addresses={shown.addresses} />;
  return (
    <div class="shown-key">
      <p class="notice late">{text.keyShownOnce}</p>
      <code>{shown.key}</code>
      <CopyButton text={shown.key} label={text.deviceKey} />
    </div>
  );
}

/** Confirms the change of a credential; for a secret also how long the former one stays valid. */
function QuestionDialog({
  question,
  deviceId,
  onConfirm,
  onClose,
}: {
  question: Question;
  deviceId: string;
  onConfirm: (overlapSeconds: number) => Promise<void>;
  onClose: () => void;
}) {
  const { devices: text } = texts.value;
  const overlap = useSignal('86400');
  const { title, text: meaning, action } = text.questions[question];
  return (
    <Confirm
      title={title(deviceId)}
      action={action}
      onConfirm={() => onConfirm(Number(overlap.value))}
      onClose={onClose}
    >
      <p class="muted">{meaning}</p>
      {question === 'secret' && (
        <SelectField
          label={text.overlap}
          value={overlap.value}
          options={overlaps.map((seconds) => [String(seconds), text.overlaps[seconds]])}
          onChange={(seconds) => assign(overlap, seconds)}
        />
      )}
    </Confirm>
  );
}

function Facts({ device, keyText }: { device: DeviceDetail; keyText: string }) {
  const { devices: text } = texts.value;
  const { secretIssuedAt, previousSecretUntil } = device;
  return (
    <dl class="facts">
      <dt>{text.columns.secretIssuedAt}</dt>
      <dd title={formatFull(secretIssuedAt)}>{formatTime(secretIssuedAt)}</dd>
      {previousSecretUntil && (
        <>
          <dt>{text.previousSecret}</dt>
          <dd title={formatFull(previousSecretUntil)}>{formatTime(previousSecretUntil)}</dd>
        </>
      )}
      <dt>{text.deviceKey}</dt>
      <dd>{keyText}</dd>
    </dl>
  );
}

/** The credentials of a device, with their rotation; the device key only for administrators. */
export function Credentials({ device, mayChange, onChanged }: CredentialsOptions) {
  const { devices: text } = texts.value;
  const { deviceId } = device;
  const isTeltonika = device.protocol === 'teltonika';
  const key = useLoad(() => loadKey(deviceId), [deviceId]);
  const asked = useSignal<Question | undefined>(undefined);
  const shown = useSignal<Shown | undefined>(undefined);
  const setAsked = (question: Question | undefined) => assign(asked, question);
  const ask = (question: Question, title: string) => <Button onClick={() => setAsked(question)}>{title}</Button>;
  const question = asked.value;
  return (
    <section class="card">
      <h2>{text.credentials}</h2>
      <Facts device={device} keyText={key.data ? text.keyVersion(key.data.keyVersion) : (key.failure ?? text.noKey)} />
      {isTeltonika && <p class="muted">{text.teltonikaCredentials}</p>}
      {shown.value && <ShownSecret shown={shown.value} />}
      {mayChange && (
        <div class="row start">
          {!isTeltonika && ask('secret', text.rotateSecret)}
          {!isTeltonika && ask('certificates', text.revokeCertificates)}
          {hasRole('administrator') && ask('key', key.data ? text.rotateKey : text.createKey)}
          {hasRole('administrator') && key.data && ask('tokens', text.endTokens)}
        </div>
      )}
      {question && (
        <QuestionDialog
          question={question}
          deviceId={deviceId}
          onConfirm={async (overlapSeconds) => {
            shown.value = await carryOut(question, device, overlapSeconds);
            onChanged();
            key.reload();
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  );
}
