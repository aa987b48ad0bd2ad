import './time-windows.css';
import type { ComponentChildren } from 'preact';
import { locale, texts } from '../../texts/texts.ts';
import { Button } from '../layout/button.tsx';
import { CloseIcon } from '../layout/icons.tsx';

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

/** Hours on some weekdays; one that ends before it begins ends on the next day. */
export interface TimeWindow {
  readonly weekdays: (typeof weekdays)[number][];
  readonly from: string;
  readonly until: string;
}

/** Formats the short name of a weekday; 2024-01-01 was a Monday. */
const nameOf = (day: number): string =>
  new Date(Date.UTC(2024, 0, 1 + day)).toLocaleDateString(locale.value, { weekday: 'short', timeZone: 'UTC' });

interface WindowOptions {
  readonly number: number;
  readonly window: TimeWindow;
  readonly onChange: (window: TimeWindow) => void;
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
    <fieldset class="time-window">
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

interface WindowsOptions {
  /** Explains the windows, or their absence. */
  readonly hint: string;
  readonly windows: readonly TimeWindow[];
  readonly proposed: TimeWindow;
  readonly onChange: (windows: readonly TimeWindow[]) => void;
  /** Fields below the windows. */
  readonly children?: ComponentChildren;
}

/** Time windows of the week, as a part of a form. */
export function TimeWindows({ hint, windows, proposed, onChange, children }: WindowsOptions) {
  return (
    <>
      <p class="muted">{hint}</p>
      {windows.map((window, index) => (
        <Window
          key={index}
          number={index + 1}
          window={window}
          onChange={(changed) => onChange(windows.with(index, changed))}
          onRemove={() => onChange(windows.toSpliced(index, 1))}
        />
      ))}
      {children}
      <div>
        <Button onClick={() => onChange([...windows, proposed])}>{texts.value.geofences.addWindow}</Button>
      </div>
    </>
  );
}
