import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { nextPage, type Pages, usePages } from '../../api/use-pages.ts';
import { Form, Labelled, SelectField } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatFull, formatNumber, formatTime, fromLocalInput } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { nameEvents, paramsOf } from './webhook-data.ts';

const pageSize = 50;

interface LogOptions<Row> {
  readonly label: string;
  readonly pages: Pages<Row>;
  /** The text shown when there are no rows. */
  readonly empty: string;
  readonly keyOf: (row: Row) => string;
  readonly show: (row: Row) => ComponentChildren;
}

/** Rows of a log, the newest first. */
function Log<Row>({ label, pages, empty, keyOf, show }: LogOptions<Row>) {
  const { rows, failure, reload, isLoading, loadNext } = pages;
  if (!rows) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (rows.rows.length === 0) return <p class="muted">{empty}</p>;
  return (
    <>
      {failure && <p class="notice late">{failure}</p>}
      <ul aria-label={label}>
        {rows.rows.map((row) => (
          <li key={keyOf(row)} class="log-row">
            {show(row)}
          </li>
        ))}
      </ul>
      {rows.after !== undefined && (
        <div>
          <Button disabled={isLoading} onClick={loadNext}>
            {texts.value.older}
          </Button>
        </div>
      )}
    </>
  );
}

const Time = ({ moment }: { moment: string }) => <time title={formatFull(moment)}>{formatTime(moment)}</time>;

interface EventOptions {
  readonly type: string;
  readonly eventId: string;
  readonly vehicleId?: string | undefined;
}

/** The type of an event, with a link to its vehicle. */
function EventName({ type, eventId, vehicleId }: EventOptions) {
  const name = nameEvents(type);
  return <span title={eventId}>{vehicleId ? <a href={`/vehicles/${vehicleId}`}>{name}</a> : name}</span>;
}

interface WebhookOptions {
  readonly appId: string;
  readonly id: string;
}

type Delivery = Schema<'Delivery'>;

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { webhooks: text } = texts.value;
  const { time, attempt, status, durationMs, error } = delivery;
  const outcome = error ?? (status === undefined ? text.delivered : text.answered(status));
  return (
    <>
      <Time moment={time} />
      <EventName {...delivery} />
      <span class={error === undefined ? 'good' : 'wrong'}>{outcome}</span>
      <span class="muted">{`${formatNumber(durationMs)} ms${attempt > 1 ? `, ${text.attempt(attempt)}` : ''}`}</span>
    </>
  );
}

export interface DeliveriesOptions {
  readonly load: (query: {
    limit: number;
    failed?: boolean;
    after?: string;
  }) => Promise<{ data?: { deliveries: Delivery[] }; error?: unknown; response: Response }>;
  /** A change reloads the first page. */
  readonly generation: number;
}

/** The attempts of the last three days, of a webhook or a notification. */
export function Deliveries({ load, generation }: DeliveriesOptions) {
  const { webhooks: text } = texts.value;
  const shown = useSignal('all');
  const pages = usePages<Delivery>(
    async (after) => {
      const query = { limit: pageSize, ...(shown.value === 'failed' && { failed: true }), ...(after && { after }) };
      const call = load(query);
      const { deliveries } = await answerOf(call);
      return { rows: deliveries, total: undefined, after: nextPage((await call).response) };
    },
    [shown.value, generation],
  );
  return (
    <section class="card form" aria-label={text.deliveries}>
      <div class="log-head">
        <h2>{text.deliveries}</h2>
        <SelectField
          label={text.show}
          value={shown.value}
          options={[
            ['all', text.allDeliveries],
            ['failed', text.failedDeliveries],
          ]}
          onChange={(one) => assign(shown, one)}
        />
      </div>
      <Log
        label={text.deliveries}
        pages={pages}
        empty={text.noDeliveries}
        keyOf={(one) => one.id}
        show={(delivery) => <DeliveryRow delivery={delivery} />}
      />
    </section>
  );
}

type DeadLetter = Schema<'DeadLetter'>;

interface DeadLettersOptions extends WebhookOptions {
  /** A change reloads the list. */
  readonly count: number;
  readonly onReplayed: () => void;
}

/** The events that failed for three days, which an administrator can send again. */
export function DeadLetters({ appId, id, count, onReplayed }: DeadLettersOptions) {
  const { webhooks: text } = texts.value;
  const params = paramsOf(appId, id);
  const action = useAction();
  const replayed = useSignal(0);
  const pages = usePages<DeadLetter>(
    async (after) => {
      const query = { limit: pageSize, ...(after && { after }) };
      const call = api.GET('/v1/x/webhooks/{id}/dead-letters', { params: { ...params, query } });
      const { deadLetters } = await answerOf(call);
      return { rows: deadLetters, total: undefined, after: nextPage((await call).response) };
    },
    [id, count],
  );
  const replay = (eventIds: string[]) =>
    action.run(async () => {
      const body = { eventIds };
      replayed.value = (await answerOf(api.POST('/v1/x/webhooks/{id}/replay', { params, body }))).deadLetters ?? 0;
      onReplayed();
    });
  const mayReplay = hasRole('administrator');
  const listed = pages.rows?.rows ?? [];
  return (
    <section class="card form" aria-label={text.deadLetters}>
      <div class="log-head">
        <h2>{text.deadLetters}</h2>
        {mayReplay && listed.length > 1 && (
          <Button disabled={action.isRunning} onClick={() => void replay(listed.map(({ eventId }) => eventId))}>
            {text.sendAllAgain}
          </Button>
        )}
      </div>
      <Log
        label={text.deadLetters}
        pages={pages}
        empty={text.noDeadLetters}
        keyOf={({ eventId }) => eventId}
        show={({ time, error, ...event }) => (
          <>
            <Time moment={time} />
            <EventName {...event} />
            <span class="wrong">{error}</span>
            {mayReplay && (
              <Button
                aria-label={`${text.sendAgain}: ${nameEvents(event.type)}, ${formatTime(time)}`}
                disabled={action.isRunning}
                onClick={() => void replay([event.eventId])}
              >
                {text.sendAgain}
              </Button>
            )}
          </>
        )}
      />
      <div role="status">{replayed.value > 0 && <p class="notice good">{text.sentAgain(replayed.value)}</p>}</div>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </section>
  );
}

/** Sends every event since a time again. */
export function Replay({ appId, id, onReplayed }: WebhookOptions & { onReplayed: () => void }) {
  const { webhooks: text } = texts.value;
  const action = useAction();
  const isDone = useSignal(false);
  const time = useSignal('');
  const submit = () =>
    action.run(async () => {
      isDone.value = false;
      const body = { from: fromLocalInput(time.value) ?? '' };
      await answerOf(api.POST('/v1/x/webhooks/{id}/replay', { params: paramsOf(appId, id), body }));
      isDone.value = true;
      onReplayed();
    });
  return (
    <Form class="card form" aria-label={text.replay} onSubmit={() => void submit()}>
      <h2>{text.replay}</h2>
      <p class="muted">{text.replayText}</p>
      <div class="log-head start">
        <Labelled label={text.replayFrom}>
          <input
            class="input"
            type="datetime-local"
            required
            value={time.value}
            onInput={({ currentTarget }) => assign(time, currentTarget.value)}
          />
        </Labelled>
        <Button type="submit" disabled={action.isRunning}>
          {text.replay}
        </Button>
      </div>
      <div role="status">{isDone.value && <p class="notice good">{text.replayed}</p>}</div>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
    </Form>
  );
}
