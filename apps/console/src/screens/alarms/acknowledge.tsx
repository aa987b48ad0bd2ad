import { useSignal } from '@preact/signals';
import { answerOf, api } from '../../api/client.ts';
import { Dialog } from '../../parts/forms/dialog.tsx';
import { Field } from '../../parts/forms/fields.tsx';
import { useSave } from '../../parts/forms/use-save.tsx';
import { actingFor } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import type { Alarm } from './alarm-data.ts';

interface AcknowledgeOptions {
  readonly alarm: Alarm;
  readonly onDone: (alarm: Alarm | undefined) => void;
  readonly onClose: () => void;
}

/** Acknowledges an alarm with a note. Of two people, the second sees who was first. */
export function Acknowledge({ alarm, onDone, onClose }: AcknowledgeOptions) {
  const { alarms: text, cancel } = texts.value;
  const note = useSignal('');
  const saving = useSave<Alarm>(undefined);
  const acknowledge = () => {
    let answered: Alarm | undefined;
    const call = async () => {
      const params = { path: { id: alarm.id }, header: actingFor(alarm.appId) };
      answered = await answerOf(
        api.POST('/v1/x/alarms/{id}/acknowledge', { params, body: { note: note.value.trim() } }),
      );
    };
    saving.run(call, () => onDone(answered));
  };
  return (
    <Dialog title={text.acknowledgeTitle(text.kinds[alarm.kind], alarm.plate)} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          acknowledge();
        }}
      >
        <Field label={text.note} hint={text.noteHint} error={saving.failure?.message}>
          {(input) => (
            <textarea
              {...input}
              class="input"
              rows={3}
              maxLength={2000}
              value={note.value}
              onInput={({ currentTarget }) => {
                note.value = currentTarget.value;
              }}
            />
          )}
        </Field>
        <div class="row">
          <button type="button" class="button" onClick={onClose}>
            {cancel}
          </button>
          <button type="submit" class="button primary" disabled={saving.isBusy}>
            {text.acknowledge}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
