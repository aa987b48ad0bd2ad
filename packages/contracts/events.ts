/** The types of the list of events (docs/interface.md, "Events"). */
export const eventTypes = [
  'reading.stored',
  'trip.finished',
  'trip.changed',
  'state.changed',
  'alarm.raised',
  'alarm.cleared',
  'command.ended',
  'booking.created',
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

/** What may stand for types: `trip.*` for all that begin so, `*` for all. */
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
