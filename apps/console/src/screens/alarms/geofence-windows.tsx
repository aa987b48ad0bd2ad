import type { Signal } from '@preact/signals';
import { Field } from '../../parts/forms/fields.tsx';
import { TimeWindows, weekdays } from '../../parts/forms/time-windows.tsx';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import type { Draft, GeofenceWindow } from './geofence-shapes.ts';

const workdays: GeofenceWindow = { weekdays: weekdays.slice(0, 5), from: '18:00', until: '06:00' };

/** Edits the time windows in which a geofence is active. */
export function Windows({ draft, error }: { draft: Signal<Draft>; error: string | undefined }) {
  const { geofences: text } = texts.value;
  const { windows, timeZone } = draft.value;
  return (
    <TimeWindows
      hint={windows.length > 0 ? text.windowsHint : text.always}
      windows={windows}
      proposed={workdays}
      onChange={(changed) => assign(draft, { ...draft.value, windows: changed })}
    >
      {windows.length > 0 && (
        <Field label={text.timeZone} error={error}>
          {(input) => (
            <input
              {...input}
              class="input"
              required
              value={timeZone}
              onInput={({ currentTarget }) => assign(draft, { ...draft.value, timeZone: currentTarget.value.trim() })}
            />
          )}
        </Field>
      )}
    </TimeWindows>
  );
}
