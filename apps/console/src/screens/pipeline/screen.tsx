import './pipeline.css';
import { useSignal } from '@preact/signals';
import { api, CallFailure } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { isUnlimited } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import { Figures } from './figures.tsx';
import { Quarantine } from './quarantine.tsx';

const periods = { hour: 1, day: 24, week: 168, month: 720 } as const;
type Period = keyof typeof periods;

type Services = Readonly<Record<string, { readonly ok: boolean; readonly state: string }>>;

/** Reads /health, which answers 503 with the same content while something fails. */
async function loadServices(): Promise<Services> {
  const { data, error } = await api.GET('/health');
  const answer: { services?: Services } = data ?? Object(error);
  if (!answer.services) throw new CallFailure('UNEXPECTED', texts.value.unreachable.title);
  return answer.services;
}

function Services() {
  const { data, failure, reload } = useLoad(loadServices, []);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <ul class="services">
      {Object.entries(data).map(([name, { ok, state }]) => (
        <li key={name} class={ok ? '' : 'failing'}>
          <span class="mark" aria-hidden="true">
            {ok ? '✓' : '✕'}
          </span>
          {name}
          <span class={ok ? 'muted' : ''}>{state}</span>
        </li>
      ))}
    </ul>
  );
}

function PeriodChoice({ period }: { period: { value: Period } }) {
  const { pipeline: text } = texts.value;
  return (
    <fieldset class="choice">
      <legend class="visually-hidden">{text.period}</legend>
      {(Object.keys(periods) as Period[]).map((one) => (
        <label key={one}>
          <input
            class="visually-hidden"
            type="radio"
            name="period"
            checked={period.value === one}
            onChange={() => {
              period.value = one;
            }}
          />
          {text.periods[one]}
        </label>
      ))}
    </fieldset>
  );
}

/** Where uploads are on their way from devices to the database, and where they got stuck. */
export function PipelineScreen() {
  const { pipeline: text } = texts.value;
  const period = useSignal<Period>('hour');
  return (
    <div class="page">
      <div class="pipeline-head">
        <h1>{text.title}</h1>
        {isUnlimited() && <PeriodChoice period={period} />}
      </div>
      <Services />
      {isUnlimited() && <Figures hours={periods[period.value]} />}
      <h2>{text.quarantine}</h2>
      <Quarantine />
      {isUnlimited() && <h2>{text.more}</h2>}
      {isUnlimited() && (
        <nav class="page-links" aria-label={text.more}>
          <a class="button" href="/queues" data-load>
            {text.queues}
          </a>
          <a class="button" href="/docs" data-load>
            {text.reference}
          </a>
          <a class="button" href="/health" data-load>
            {text.health}
          </a>
          <a class="button" href="/metrics" data-load>
            {text.metrics}
          </a>
        </nav>
      )}
    </div>
  );
}
