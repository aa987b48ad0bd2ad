import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { answerOf, api, type Schema } from '../../api/client.ts';

const pauseMs = 250;
const mostFound = 50;

/** Vehicles that the platform has found; `isFailed` when it could not be asked. */
export interface Found {
  readonly vehicles: readonly Schema<'TableVehicle'>[];
  readonly total: number;
  readonly isFailed: boolean;
}

async function find(words: string): Promise<Found> {
  const answer = await answerOf(api.GET('/v1/x/vehicles', { params: { query: { q: words, limit: mostFound } } }));
  // The other format is CSV, as text.
  const { vehicles, total = vehicles.length } = typeof answer === 'string' ? { vehicles: [] } : answer;
  return { vehicles, total, isFailed: false };
}

/** Has the platform search the whole fleet. @param words none: nothing is searched, and nothing found */
export function useFleetSearch(words: string): Found | undefined {
  const found = useSignal<Found | undefined>(undefined);
  useEffect(() => {
    found.value = undefined;
    if (words === '') return undefined;
    let isCurrent = true;
    const keep = (result: Found) => {
      if (isCurrent) found.value = result;
    };
    const timer = setTimeout(() => {
      find(words).then(keep, () => keep({ vehicles: [], total: 0, isFailed: true }));
    }, pauseMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [words]);
  return found.value;
}
