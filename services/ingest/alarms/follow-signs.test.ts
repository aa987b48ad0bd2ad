import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Alarm, followSigns, type Sign, type StoredSigns } from './evaluate-alarms.ts';

type Arrival = Pick<Sign, 'timeMicroseconds' | 'isOn'>;
interface KeptAlarm extends Alarm {
  readonly id: string;
  /** How often it was raised and cleared. */
  raised: number;
}

function signsIn(stored: ReadonlyMap<number, boolean>): StoredSigns {
  return {
    async findNext(after) {
      const times = [...stored.keys()].filter((time) => time > after);
      if (times.length === 0) return undefined;
      const timeMicroseconds = Math.min(...times);
      return { timeMicroseconds, isOn: stored.get(timeMicroseconds) === true };
    },
    isConfirmed: async (after, before) => [...stored].some(([time, isOn]) => isOn && time > after && time < before),
  };
}

/** The alarms after batches, as ingest keeps them; and the batch in which each reading first arrived. */
async function alarmsAfter(batches: readonly (readonly Arrival[])[]) {
  const arrivedIn = new Map<number, number>();
  const stored = new Map<number, boolean>();
  const alarms = new Map<string, KeptAlarm>();
  for (const [number, batch] of batches.entries()) {
    const signs = [...new Map(batch.map((one) => [one.timeMicroseconds, { ...one, evidence: {} }])).values()].sort(
      (a, b) => a.timeMicroseconds - b.timeMicroseconds,
    );
    const oldest = signs[0]?.timeMicroseconds ?? 0;
    const known = [...alarms.values()].filter(({ untilMicroseconds }) => untilMicroseconds > oldest);
    for (const changed of await followSigns(signs, known, signsIn(stored))) {
      const id = changed.id ?? `alarm ${alarms.size}`;
      alarms.set(id, { ...changed, id, raised: (alarms.get(id)?.raised ?? 0) + (changed.id === undefined ? 1 : 0) });
    }
    for (const { timeMicroseconds, isOn } of signs) {
      stored.set(timeMicroseconds, isOn);
      if (!arrivedIn.has(timeMicroseconds)) arrivedIn.set(timeMicroseconds, number);
    }
  }
  const inOrder = [...alarms.values()].sort((a, b) => a.fromMicroseconds - b.fromMicroseconds);
  return { alarms: inOrder, arrivedIn };
}

/** The alarms of readings that arrive one by one in time order. */
function alarmsInOrder(readings: readonly Arrival[]): [from: number, until: number][] {
  const alarms: [number, number][] = [];
  for (const { timeMicroseconds, isOn } of readings) {
    const last = alarms.at(-1);
    const isOpen = last?.[1] === Number.POSITIVE_INFINITY;
    if (isOn && !isOpen) alarms.push([timeMicroseconds, Number.POSITIVE_INFINITY]);
    if (!isOn && isOpen && last) last[1] = timeMicroseconds;
  }
  return alarms;
}

const intervals = (alarms: readonly Alarm[]) =>
  alarms.map(({ fromMicroseconds, untilMicroseconds }) => [fromMicroseconds, untilMicroseconds]);

const readingsOf = fc
  .array(fc.boolean(), { minLength: 1, maxLength: 16 })
  .map((signs) => signs.map((isOn, index) => ({ timeMicroseconds: index + 1, isOn })));

/** Splits a list into batches of these lengths; what remains is the last batch. */
function split<One>(list: readonly One[], lengths: readonly number[]): One[][] {
  const batches: One[][] = [];
  let start = 0;
  for (const length of lengths) {
    batches.push(list.slice(start, start + length));
    start += length;
  }
  return [...batches, list.slice(start)].filter((batch) => batch.length > 0);
}

const lengths = fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 12 });
/** Readings in any order, some of them several times, in any batches. */
const deliveries = readingsOf.chain((readings) =>
  fc
    .tuple(
      fc.shuffledSubarray(readings, { minLength: readings.length }),
      fc.array(fc.constantFrom(...readings), { maxLength: 10 }),
      lengths,
    )
    .chain(([once, again, sizes]) =>
      fc.shuffledSubarray([...once, ...again], { minLength: once.length + again.length }).map((all) => ({
        readings,
        batches: split(all, sizes),
      })),
    ),
);

describe('the alarms of readings that arrive in time order', () => {
  it('are the same in any batches, however often batches are repeated', async () => {
    await fc.assert(
      fc.asyncProperty(readingsOf, lengths, fc.infiniteStream(fc.nat()), async (readings, sizes, picks) => {
        const batches = split(readings, sizes);
        const repeated = batches.flatMap((batch, index) => {
          const earlier = batches[(picks.next().value ?? 0) % (index + 1)] ?? [];
          return [batch, earlier];
        });
        const { alarms } = await alarmsAfter(repeated);
        expect(intervals(alarms)).toEqual(alarmsInOrder(readings));
        expect(alarms.every(({ raised }) => raised === 1)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the alarms of readings that arrive in any order, batches and repetition', () => {
  it('are open exactly if the newest reading shows the condition, and cover every reading that shows it', async () => {
    await fc.assert(
      fc.asyncProperty(deliveries, async ({ readings, batches }) => {
        const { alarms } = await alarmsAfter(batches);
        expect(alarms.at(-1)?.untilMicroseconds === Number.POSITIVE_INFINITY).toBe(readings.at(-1)?.isOn);
        for (const { timeMicroseconds: time } of readings.filter(({ isOn }) => isOn)) {
          expect(alarms.filter((one) => one.fromMicroseconds <= time && time < one.untilMicroseconds)).toHaveLength(1);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('begin with a reading that shows the condition, end with one that does not, and never overlap', async () => {
    await fc.assert(
      fc.asyncProperty(deliveries, async ({ readings, batches }) => {
        const { alarms } = await alarmsAfter(batches);
        const isOn = new Map(readings.map((one) => [one.timeMicroseconds, one.isOn]));
        for (const [index, { fromMicroseconds, untilMicroseconds, raised }] of alarms.entries()) {
          expect([isOn.get(fromMicroseconds), raised]).toEqual([true, 1]);
          expect(isOn.get(untilMicroseconds)).not.toBe(true);
          expect(untilMicroseconds).toBeGreaterThan(fromMicroseconds);
          const next = alarms[index + 1]?.fromMicroseconds ?? Number.POSITIVE_INFINITY;
          expect(untilMicroseconds).toBeLessThanOrEqual(next);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('contain a contrary reading only if a newer one that arrived before it had confirmed the alarm', async () => {
    await fc.assert(
      fc.asyncProperty(deliveries, async ({ readings, batches }) => {
        const { alarms, arrivedIn } = await alarmsAfter(batches);
        for (const { timeMicroseconds: time } of readings.filter(({ isOn }) => !isOn)) {
          const around = alarms.find((one) => one.fromMicroseconds < time && time < one.untilMicroseconds);
          if (around === undefined) continue;
          const confirming = readings.filter(
            (one) =>
              one.isOn &&
              one.timeMicroseconds > time &&
              one.timeMicroseconds < around.untilMicroseconds &&
              (arrivedIn.get(one.timeMicroseconds) ?? 0) < (arrivedIn.get(time) ?? 0),
          );
          expect(confirming.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('do not change when everything arrives again', async () => {
    await fc.assert(
      fc.asyncProperty(deliveries, deliveries, async ({ batches, readings }, { batches: shape }) => {
        const again = split(
          readings,
          shape.map((batch) => batch.length),
        ).reverse();
        const once = await alarmsAfter(batches);
        const twice = await alarmsAfter([...batches, ...again]);
        expect(intervals(twice.alarms)).toEqual(intervals(once.alarms));
      }),
      { numRuns: 1000 },
    );
  });
});

it('a late reading neither ends an alarm that a newer one confirmed nor raises one inside of it', async () => {
  const { alarms } = await alarmsAfter([
    [{ timeMicroseconds: 1, isOn: true }],
    [{ timeMicroseconds: 5, isOn: true }],
    [{ timeMicroseconds: 2, isOn: false }],
    [{ timeMicroseconds: 3, isOn: true }],
  ]);
  expect(intervals(alarms)).toEqual([[1, Number.POSITIVE_INFINITY]]);
});

it('a late reading raises an alarm of its own that ended, and the present stays as newer readings decided', async () => {
  const { alarms } = await alarmsAfter([
    [{ timeMicroseconds: 1, isOn: false }],
    [{ timeMicroseconds: 9, isOn: false }],
    [{ timeMicroseconds: 4, isOn: true }],
    [{ timeMicroseconds: 5, isOn: true }],
    [{ timeMicroseconds: 6, isOn: false }],
  ]);
  expect(intervals(alarms)).toEqual([[4, 6]]);
});
