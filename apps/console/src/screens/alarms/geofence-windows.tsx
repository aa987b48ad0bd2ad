import type { Signal } from '@preact/signals';
import { Field } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { CloseIcon } from '../../parts/layout/icons.tsx';
import { assign } from '../../signals.ts';
import { locale, texts } from '../../texts/texts.ts';
import type { Draft, GeofenceWindow } from './geofence-shapes.ts';

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
const workdays: GeofenceWindow = { weekdays: weekdays.slice(0, 5), from: '18:00', until: '06:00' };

/** Formats the short name of a weekday; 2024-01-01 was a Monday. */
const nameOf = (day: number): string =>
  new Date(Date.UTC(2024, 0, 1 + day)).toLocaleDateString(locale.value, { weekday: 'short', timeZone: 'UTC' });

interface WindowOptions {
  readonly number: number;
  readonly window: GeofenceWindow;
  readonly onChange: (window: GeofenceWindow) => void;
  readonly onRemove: () => void;
}

function Window({ number, window, onChange, onRemove }: WindowOptions) {
  const { geofences: text } = texts.value;
  const toggle = (day: (typeof weekdays)[number], isChosen: boolean) =>
    onChange({
      ...window,
      weekdays: weekdays.filter((one) => (one === day ? isChosen : window.weekdays.includes(one))),
    });
  return (
    <fieldset class="geofence-window">
      <legend class="visually-hidden">{text.window(number)}</legend>
      <div class="row start">
        {weekdays.map((day, place) => (
          <label key={day} class="row start">
            <input
              type="checkbox"
              checked={window.weekdays.includes(day)}
              onChange={({ currentTarget }) => toggle(day, currentTarget.checked)}
            />
            {nameOf(place)}
          </label>
        ))}
      </div>
      <div class="row start">
        {(['from', 'until'] as const).map((end) => (
          <input
            key={end}
            class="input"
            type="time"
            required
            aria-label={text[end]}
            value={window[end]}
            onInput={({ currentTarget }) => onChange({ ...window, [end]: currentTarget.value })}
          />
        ))}
        <Button kind="plain icon" aria-label={text.removeWindow(number)} onClick={onRemove}>
          <CloseIcon size={16} />
        </Button>
      </div>
    </fieldset>
  );
}

/** Edits the time windows in which a geofence is active. */
export function Windows({ draft, error }: { draft: Signal<Draft>; error: string | undefined }) {
  const { geofences: text } = texts.value;
  const { windows, timeZone } = draft.value;
  const set = (changed: readonly GeofenceWindow[]) => assign(draft, { ...draft.value, windows: changed });
  return (
    <>
      <p class="muted">{windows.length > 0 ? text.windowsHint : text.always}</p>
      {windows.map((window, index) => (
        <Window
          key={index}
          number={index + 1}
          window={window}
          onChange={(changed) => set(windows.with(index, changed))}
          onRemove={() => set(windows.filter((_unused, other) => other !== index))}
        />
      ))}
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
      <div>
        <Button onClick={() => set([...windows, workdays])}>{text.addWindow}</Button>
      </div>
    </>
  );
}
