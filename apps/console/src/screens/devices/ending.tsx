import { useSignal } from '@preact/signals';
import { answerOf, api } from '../../api/client.ts';
import { Confirm } from '../../parts/forms/dialog.tsx';
import { CopyButton } from '../../parts/layout/copy.tsx';
import { navigate } from '../../router.ts';
import { texts } from '../../texts/texts.ts';
import type { DeviceDetail } from './device-data.ts';

/** Takes a device from its application, or deletes it. */
export function Ending({ device: { deviceId } }: { device: DeviceDetail }) {
  const { devices: text } = texts.value;
  const asked = useSignal<'release' | 'delete' | undefined>(undefined);
  const claimCode = useSignal<string | undefined>(undefined);
  const params = { path: { id: deviceId } };
  const carryOut = async (question: 'release' | 'delete') => {
    if (question === 'release') {
      claimCode.value = (await answerOf(api.POST('/v1/x/admin/devices/{id}/release', { params }))).claimCode;
    } else {
      await answerOf(api.DELETE('/v1/x/admin/devices/{id}', { params }));
      navigate('/devices');
    }
  };
  const question = asked.value;
  return (
    <section class="card">
      <h2>{text.ending}</h2>
      {claimCode.value && (
        <div class="shown-key">
          <p class="notice late">{text.claimShownOnce}</p>
          <code>{claimCode.value}</code>
          <CopyButton text={claimCode.value} label={text.fields.claimCode} />
        </div>
      )}
      <div class="row start">
        {(['release', 'delete'] as const).map((one) => (
          <button
            key={one}
            type="button"
            class={`button${one === 'delete' ? ' danger' : ''}`}
            onClick={() => {
              asked.value = one;
            }}
          >
            {text.questions[one].action}
          </button>
        ))}
      </div>
      {question && (
        <Confirm
          title={text.questions[question].title(deviceId)}
          action={text.questions[question].action}
          isDangerous={question === 'delete'}
          {...(question === 'delete' && { typed: deviceId })}
          onConfirm={() => carryOut(question)}
          onClose={() => {
            asked.value = undefined;
          }}
        >
          <p class="muted">{text.questions[question].text}</p>
        </Confirm>
      )}
    </section>
  );
}
