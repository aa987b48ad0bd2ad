import { setTimeout as delay } from 'node:timers/promises';
import type { SeparateDatabase } from './separate-database.fixture.ts';
import type { LineName, ProcessName, Testbed } from './testbed.fixture.ts';

/** Ends a fault; killed processes are restarted separately. */
type Mend = () => unknown;

/** The faults by name: how each ends, or which process to restart. */
interface Faults {
  readonly lasting: ReadonlyMap<string, () => Promise<Mend>>;
  readonly killing: ReadonlyMap<string, ProcessName>;
}

const lineNames: readonly LineName[] = ['device-broker', 'broker-Redis', 'ingest-Redis', 'ingest-database'];
const hourMs = 3_600_000;
const maxHoldMs = 1500;
const maxConcurrent = 3;
const slowMs = 150;

type Fault = readonly [name: string, begin: () => Promise<Mend>];

/** A fault that lasts until it is ended; without `mend` it is over at once. */
function fault(name: string, begin: () => unknown, mend: Mend = () => undefined): Fault {
  const beginning = async (): Promise<Mend> => {
    await begin();
    return mend;
  };
  return [name, beginning];
}

function lineFaults({ lines }: Testbed): Fault[] {
  return lineNames.flatMap((name) => {
    const line = lines[name];
    const mend = (): void => line.mend();
    return [
      fault(`connection cut: ${name}`, () => line.cut(), mend),
      fault(`connection slow: ${name}`, () => line.slow(slowMs), mend),
      fault(`connection silent: ${name}`, () => line.silence(), mend),
    ];
  });
}

function clockFaults({ clocks }: Testbed): Fault[] {
  return Object.entries(clocks).flatMap(([name, clock]) =>
    [hourMs, -hourMs, 5000, -5000].map((offsetMs) => {
      const sign = offsetMs < 0 ? '-' : '+';
      return fault(
        `clock of ${name} ${sign}${Math.abs(offsetMs) / 1000} s`,
        () => clock.set(offsetMs),
        () => clock.set(0),
      );
    }),
  );
}

/** Lists every fault of the suite. @param poison sends a malformed upload */
function faultsOf(testbed: Testbed, database: SeparateDatabase, poison: () => unknown): Faults {
  const stalled = () => testbed.ingest().process;
  const full = (isFull: boolean) => () => {
    testbed.disk.full = isFull;
  };
  return {
    lasting: new Map([
      ...lineFaults(testbed),
      ...clockFaults(testbed),
      fault(
        'ingest stalled',
        () => stalled().kill('SIGSTOP'),
        () => stalled().kill('SIGCONT'),
      ),
      fault('disk full', full(true), full(false)),
      fault('poison uploaded', poison),
      ...(database.embedded ? [fault('database killed', () => database.kill())] : []),
    ]),
    killing: new Map<string, ProcessName>([
      ['broker killed', 'broker'],
      ['ingest killed', 'ingest'],
      ['Redis killed', 'Redis'],
      ['connections to the database ended', 'database'],
    ]),
  };
}

export interface ChaosOptions {
  readonly testbed: Testbed;
  readonly database: SeparateDatabase;
  readonly random: () => number;
  poison(): void;
}

/**
 * Creates a function that runs one round of one to three random faults, ends them, and returns their names.
 */
export function createChaos({ testbed, database, random, poison }: ChaosOptions): () => Promise<string[]> {
  const { lasting, killing } = faultsOf(testbed, database, poison);
  const pick = (names: readonly string[]) => names[Math.floor(random() * names.length)] ?? '';
  return async () => {
    const chosen = new Set<string>();
    const count = 1 + Math.floor(random() * maxConcurrent);
    while (chosen.size < count) chosen.add(pick([...(random() < 0.5 ? killing : lasting).keys()]));
    const mends: Mend[] = [];
    const killed: ProcessName[] = [];
    for (const name of chosen) {
      await delay((random() * maxHoldMs) / 3);
      const victim = killing.get(name);
      const begin = lasting.get(name);
      if (begin) mends.push(await begin());
      if (victim) {
        killed.push(victim);
        await testbed.kill(victim);
      }
    }
    await delay(random() * maxHoldMs);
    // A killed process can start only when it reaches the others.
    for (const mend of mends) await mend();
    await testbed.restart(...killed);
    return [...chosen];
  };
}
