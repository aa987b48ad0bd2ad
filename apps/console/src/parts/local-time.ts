import { preferences } from './preferences.ts';

const minuteMs = 60_000;

/** Minutes that the person's clock is ahead of UTC at a time. */
const aheadMinutes = (date: Date): number => (preferences.value.zone === 'utc' ? 0 : -date.getTimezoneOffset());

/** Writes a time as an input of the type datetime-local has it, in the person's zone; empty for none. */
export function toLocalInput(moment: string | number | undefined): string {
  if (moment === undefined || moment === '') return '';
  const date = new Date(moment);
  return new Date(date.getTime() + aheadMinutes(date) * minuteMs).toISOString().slice(0, 16);
}

/** Reads an input of the type datetime-local, in the person's zone. @returns ISO 8601, UTC; undefined for an empty one */
export function fromLocalInput(text: string): string | undefined {
  if (text === '') return undefined;
  const date = new Date(preferences.value.zone === 'utc' ? `${text}Z` : text);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
