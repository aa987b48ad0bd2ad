/** The types of the list of events (docs/interface.md, "Events"). */
export const eventTypes = [
  'reading.stored',
  'trip.finished',
  'trip.changed',
  'state.changed',
  'alarm.raised',
  'alarm.cleared',
  'alarm.escalated',
  'command.ended',
  'booking.created',
  'booking.starting',
  'booking.overdue',
  'booking.changed',
  'booking.ended',
  'authorization.created',
  'authorization.changed',
  'authorization.ended',
  'device.linked',
  'device.unlinked',
  'device.connected',
  'device.disconnected',
  'device.silent',
  'upload.quarantined',
] as const;
export type EventType = (typeof eventTypes)[number];

/** Wildcards for types: `trip.*` for all with that prefix, `*` for all. */
export const eventTypePatterns: readonly string[] = [
  '*',
  ...new Set(eventTypes.map((type) => `${type.slice(0, type.indexOf('.'))}.*`)),
  ...eventTypes,
];

/** Selects the types that a pattern stands for. @returns undefined for a text that is no pattern */
export function typesOfPattern(pattern: string): readonly EventType[] | undefined {
  if (!eventTypePatterns.includes(pattern)) return undefined;
  const start = pattern.endsWith('*') ? pattern.slice(0, -1) : undefined;
  return eventTypes.filter((type) => (start === undefined ? type === pattern : type.startsWith(start)));
}

/**
 * The stream of changes in Redis. Its entries name vehicles, commands and alarms. Readers look up their state, so that no
 * position is ever in Redis. An entry is added after the transaction that changed them, at least once while Redis is
 * available.
 */
export interface Changes {
  readonly vehicleIds: readonly number[];
  readonly commandIds: readonly string[];
  readonly alarmIds: readonly string[];
}

/** Names the stream of changes. */
export function changesKey(prefix: string): string {
  return `${prefix}:changes`;
}

/** Entries are trimmed after this time. */
export const changesKeptMs = 600_000;
/** And beyond this number, so that they take at most 250 MB of Redis: an id has ten digits and a comma. */
export const maximumChangeEntries = 20_000;
const maximumIdsPerEntry = 1000;

/** Writes changes as the fields of entries: `vehicles`, `commands` and `alarms`, each a list of ids separated by commas. */
export function writeChanges({ vehicleIds, commandIds, alarmIds }: Changes): string[][] {
  const lists: readonly [name: string, ids: readonly (number | string)[]][] = [
    ['vehicles', vehicleIds],
    ['commands', commandIds],
    ['alarms', alarmIds],
  ];
  return lists.flatMap(([name, ids]) => {
    const entries: string[][] = [];
    for (let start = 0; start < ids.length; start += maximumIdsPerEntry) {
      entries.push([name, ids.slice(start, start + maximumIdsPerEntry).join(',')]);
    }
    return entries;
  });
}

/** Reads the fields of one entry. */
export function readChanges(fields: readonly string[]): Changes {
  const listOf = (name: string): string[] => {
    const at = fields.findIndex((field, index) => index % 2 === 0 && field === name);
    return at === -1 ? [] : (fields[at + 1]?.split(',') ?? []);
  };
  return {
    vehicleIds: listOf('vehicles').map(Number).filter(Number.isSafeInteger),
    commandIds: listOf('commands'),
    alarmIds: listOf('alarms'),
  };
}
