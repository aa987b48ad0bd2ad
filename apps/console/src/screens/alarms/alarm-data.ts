import { answerOf, api, type Schema } from '../../api/client.ts';
import { nextPage } from '../../api/use-pages.ts';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { address } from '../../router.ts';

export type Alarm = Schema<'Alarm'>;
export type AlarmKind = Alarm['kind'];

/** Which alarms the list shows, as in its address. Empty texts filter nothing. */
export interface AlarmFilter {
  readonly appId: string;
  readonly kind: AlarmKind | '';
  readonly state: 'open' | 'cleared' | '';
  readonly acknowledged: 'true' | 'false' | '';
  readonly vehicleId: string;
  /** ISO 8601, UTC. */
  readonly from: string;
  readonly until: string;
}

const pageSize = 100;

const oneOf = <Word extends string>(word: string, words: readonly Word[]): Word | '' =>
  words.find((one) => one === word) ?? '';

/** Reads the filter from the address. */
export function readFilter(appId: string, kinds: readonly AlarmKind[]): AlarmFilter {
  const read = (name: string) => address.value.query.get(name) ?? '';
  return {
    appId,
    kind: oneOf(read('kind'), kinds),
    state: oneOf(read('state'), ['open', 'cleared']),
    acknowledged: oneOf(read('acknowledged'), ['true', 'false']),
    vehicleId: read('vehicle'),
    from: read('from'),
    until: read('until'),
  };
}

export const isFiltered = ({ appId: _appId, ...filters }: AlarmFilter): boolean =>
  Object.values(filters).some((filter) => filter !== '');

/** Loads a page of alarms, the newest first. @throws CallFailure */
export async function loadAlarms(filter: AlarmFilter, after: string | undefined) {
  const { appId, kind, state, acknowledged, vehicleId, from, until } = filter;
  const query = {
    limit: pageSize,
    ...(kind !== '' && { kind }),
    ...(state !== '' && { state }),
    ...(acknowledged !== '' && { acknowledged: acknowledged === 'true' }),
    ...(vehicleId !== '' && { vehicleId }),
    ...(from !== '' && { from }),
    ...(until !== '' && { until }),
    ...(after !== undefined && { after }),
  };
  const header = headerFor(appId);
  const call = api.GET('/v1/x/alarms', { params: { query, header } });
  const { alarms } = await answerOf(call);
  return { alarms, after: nextPage((await call).response) };
}

/** Whether an alarm belongs into the list, as the platform decides it. */
function matches(alarm: Alarm, filter: AlarmFilter): boolean {
  const raisedMs = Date.parse(alarm.raisedAt);
  return (
    (filter.appId === '' || alarm.appId === filter.appId) &&
    (filter.kind === '' || alarm.kind === filter.kind) &&
    (filter.state === '' || (alarm.clearedAt === undefined) === (filter.state === 'open')) &&
    (filter.acknowledged === '' || (alarm.acknowledgedAt !== undefined) === (filter.acknowledged === 'true')) &&
    (filter.vehicleId === '' || alarm.vehicleId === filter.vehicleId) &&
    (filter.from === '' || raisedMs >= Date.parse(filter.from)) &&
    (filter.until === '' || raisedMs < Date.parse(filter.until))
  );
}

const isNewer = (one: Alarm, other: Alarm): boolean =>
  one.raisedAt === other.raisedAt ? one.id > other.id : one.raisedAt > other.raisedAt;

/**
 * Takes an alarm that was raised or has changed into a list, the newest first.
 * @param isWhole whether nothing older follows the list; otherwise an older alarm comes with the next page
 */
export function merge(alarms: readonly Alarm[], changed: Alarm, filter: AlarmFilter, isWhole: boolean): Alarm[] {
  const others = alarms.filter(({ id }) => id !== changed.id);
  if (!matches(changed, filter)) return others;
  const place = others.findIndex((one) => isNewer(changed, one));
  if (place < 0) return isWhole || others.length < alarms.length ? [...others, changed] : others;
  return others.toSpliced(place, 0, changed);
}
