import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { answerOf, api, messageOf, type Schema } from '../../api/client.ts';
import { nextPage } from '../../api/use-pages.ts';
import { type Connection, LiveStream } from '../../live/live-stream.ts';
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
async function loadAlarms(filter: AlarmFilter, after: string | undefined) {
  const { appId, kind, state, acknowledged, vehicleId, from, until } = filter;
  const query = {
    ...{ limit: pageSize, address: true },
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
function merge(alarms: readonly Alarm[], arrived: Alarm, filter: AlarmFilter, isWhole: boolean): Alarm[] {
  const known = alarms.find(({ id }) => id === arrived.id);
  // The stream has no addresses.
  const changed = { ...arrived, ...(known?.location && { location: known.location }) };
  const others = alarms.filter(({ id }) => id !== changed.id);
  if (!matches(changed, filter)) return others;
  const place = others.findIndex((one) => isNewer(changed, one));
  if (place < 0) return isWhole || others.length < alarms.length ? [...others, changed] : others;
  return others.toSpliced(place, 0, changed);
}

/** A part of the map without vehicles: they are only asked for since a stream of alarms alone has no event `reset`. */
const onlyAlarms = new URLSearchParams({ bbox: '0,-90,0,-90', types: 'vehicles,alarms' });

const maxArrived = 1000;

interface Loaded {
  readonly alarms: readonly Alarm[];
  /** Where the next page begins; undefined when the list is whole. */
  readonly after: string | undefined;
}

interface AlarmList {
  readonly alarms: readonly Alarm[] | undefined;
  readonly hasMore: boolean;
  readonly failure: string | undefined;
  readonly connection: Signal<Connection> | undefined;
  loadOlder(): void;
  reload(): void;
  /** Shows an alarm as a call has answered it. */
  take(alarm: Alarm): void;
}

/** Follows alarms while the component is shown. @param onGap called when alarms may have been missed */
function useStream(onAlarm: (alarm: Alarm) => void, onGap: () => void) {
  const stream = useSignal<LiveStream | undefined>(undefined);
  useEffect(() => {
    const opened = new LiveStream(onlyAlarms, (event) => {
      if (event.event === 'alarm') onAlarm(event.data);
      // Away for too long, or other vehicles may be seen: what was missed is not sent.
      if (event.event === 'reset' && event.data.reason !== 'MODE') onGap();
    });
    stream.value = opened;
    return () => opened.stop();
  }, []);
  return stream.value?.connection;
}

/** The alarms of a filter: page by page, and live. */
export function useAlarms(filter: AlarmFilter): AlarmList {
  const loaded = useSignal<Loaded | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const latest = useRef(filter);
  latest.current = filter;
  /** Alarms of the stream while the list is loaded, whose answer may be older than they are. */
  const arrived = useRef<Alarm[]>([]);
  const key = JSON.stringify(filter);

  const load = async (page: () => Promise<Loaded>) => {
    const asked = JSON.stringify(latest.current);
    try {
      const answer = await page();
      if (asked !== JSON.stringify(latest.current)) return;
      loaded.value = answer;
      failure.value = undefined;
    } catch (error) {
      if (asked === JSON.stringify(latest.current)) failure.value = messageOf(error);
    }
  };
  const reload = () => {
    arrived.current = [];
    void load(async () => {
      const { alarms, after } = await loadAlarms(latest.current, undefined);
      const add = (list: readonly Alarm[], alarm: Alarm) => merge(list, alarm, latest.current, after === undefined);
      return { alarms: arrived.current.reduce(add, alarms), after };
    });
  };
  const take = (alarm: Alarm) => {
    const known = loaded.value;
    arrived.current.push(alarm);
    arrived.current.splice(0, arrived.current.length - maxArrived);
    if (!known) return;
    loaded.value = { ...known, alarms: merge(known.alarms, alarm, latest.current, known.after === undefined) };
  };
  useEffect(() => {
    loaded.value = undefined;
    reload();
  }, [key]);
  const connection = useStream(take, reload);
  return {
    alarms: loaded.value?.alarms,
    hasMore: loaded.value?.after !== undefined,
    failure: failure.value,
    connection,
    loadOlder() {
      const known = loaded.value;
      if (known?.after === undefined) return;
      void load(async () => {
        const { alarms, after } = await loadAlarms(latest.current, known.after);
        const before = loaded.value ?? known;
        // The list was reloaded in the meantime, or already has this page.
        if (before.after !== known.after) return before;
        const ids = new Set(before.alarms.map(({ id }) => id));
        return { alarms: [...before.alarms, ...alarms.filter(({ id }) => !ids.has(id))], after };
      });
    },
    reload,
    take,
  };
}
