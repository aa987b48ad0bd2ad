import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { messageOf } from '../../api/client.ts';
import { type Connection, LiveStream } from '../../live/live-stream.ts';
import { type Alarm, type AlarmFilter, loadAlarms, merge } from './alarm-data.ts';

/** A part of the map without vehicles: they are only asked for since a stream of alarms alone has no event `reset`. */
const onlyAlarms = new URLSearchParams({ bbox: '0,-90,0,-90', types: 'vehicles,alarms' });

const mostArrived = 1000;

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
    arrived.current.splice(0, arrived.current.length - mostArrived);
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
        const before = loaded.value?.alarms ?? known.alarms;
        const ids = new Set(before.map(({ id }) => id));
        return { alarms: [...before, ...alarms.filter(({ id }) => !ids.has(id))], after };
      });
    },
    reload,
    take,
  };
}
