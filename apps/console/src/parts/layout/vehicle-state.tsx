import './vehicle-state.css';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { texts } from '../../texts/texts.ts';

/** How a vehicle is shown: its state, or `alarm` while a state flag is raised or an alarm is open. */
export type ShownState = LiveVehicle['state'] | 'archived' | 'alarm';

export const shownStates = ['alarm', 'moving', 'parked', 'silent', 'private'] as const satisfies readonly ShownState[];

/** A vehicle as the live stream or the table of vehicles has it. */
type Described = Pick<LiveVehicle, 'flags' | 'alarms' | 'speed'> & {
  readonly state: LiveVehicle['state'] | 'archived';
};

export const shownState = ({ state, flags, alarms }: Described): ShownState =>
  flags.length + alarms.length > 0 ? 'alarm' : state;

const shapes: Readonly<Record<ShownState, preact.JSX.Element>> = {
  moving: <path d="M8 1.5 13.5 14 8 11.2 2.5 14z" fill="currentColor" />,
  parked: (
    <>
      <rect x="1.8" y="1.8" width="12.4" height="12.4" rx="3" fill="currentColor" />
      <path d="M6.2 12V4.4h2.4a2.3 2.3 0 0 1 0 4.6H6.2" fill="none" stroke="var(--surface)" stroke-width="1.7" />
    </>
  ),
  silent: (
    <>
      <circle cx="8" cy="8" r="5.6" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="3.2 2.4" />
      <circle cx="8" cy="8" r="1.7" fill="currentColor" />
    </>
  ),
  archived: (
    <>
      <rect x="1.8" y="2.4" width="12.4" height="3.6" rx="1" fill="currentColor" />
      <path d="M3 7v6.2h10V7M6.4 9.4h3.2" fill="none" stroke="currentColor" stroke-width="1.6" />
    </>
  ),
  private: (
    <>
      <rect x="2.8" y="7" width="10.4" height="7" rx="1.6" fill="currentColor" />
      <path d="M5 7V5a3 3 0 0 1 6 0v2" fill="none" stroke="currentColor" stroke-width="1.8" />
    </>
  ),
  alarm: (
    <>
      <path d="M8 1.2 15.2 14.4H.8z" fill="currentColor" />
      <path d="M8 6v4M8 12.2v.1" stroke="var(--surface)" stroke-width="1.7" stroke-linecap="round" />
    </>
  ),
};

/** The colour and shape of a state; the word for it is next to it. */
export function StateMark(mark: { state: ShownState; angle?: number | undefined; size?: number }) {
  const { state, angle = 0, size = 16 } = mark;
  const style = state === 'moving' ? { transform: `rotate(${angle}deg)` } : {};
  const box = { width: size, height: size, viewBox: '0 0 16 16' };
  return (
    <svg class={`state-mark state-${state}`} {...box} style={style} aria-hidden="true">
      {shapes[state]}
    </svg>
  );
}

/**
 * Names the raised flags and the kinds of the open alarms, otherwise the state. A vehicle at 0 km/h within a trip, for
 * example at a red light, is standing.
 */
export function stateText({ state, speed, flags, alarms }: Described): string {
  const { states, standing, flags: flagTexts, alarms: alarmTexts } = texts.value;
  const reasons = [...flags.map((flag) => flagTexts[flag]), ...alarms.map((kind) => alarmTexts.kinds[kind])];
  if (reasons.length > 0) return [...new Set(reasons)].join(', ');
  return state === 'moving' && speed === 0 ? standing : states[state];
}
