import './audit.css';
import { useSignal } from '@preact/signals';
import { answerOf, api, messageOf, type Schema } from '../../api/client.ts';
import { type Page, usePages } from '../../api/use-pages.ts';
import { SearchBox } from '../../parts/forms/search-box.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, Heading, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { address, navigate } from '../../router.ts';
import { session } from '../../session.ts';
import { formatFull, formatTime } from '../../texts/format.ts';
import { lookUp, texts } from '../../texts/texts.ts';

type Row = Schema<'AuditRow'>;
type Operator = Schema<'SignedInOperator'>;

const pageRows = 100;

interface Request {
  /** Empty for the actions outside of any application. */
  readonly appId: string;
  readonly search: string;
}

const readRequest = (): Request => ({
  appId: address.value.query.get('app') ?? '',
  search: address.value.query.get('q') ?? '',
});

function open({ appId, search }: Request): void {
  const query = new URLSearchParams({ ...(appId && { app: appId }), ...(search && { q: search }) });
  navigate(query.size > 0 ? `/audit?${query}` : '/audit', { replace: true });
}

async function loadRows({ appId, search }: Request, after: string | undefined): Promise<Page<Row>> {
  const query = {
    order: 'newest' as const,
    limit: pageRows,
    ...(appId !== '' && { appId }),
    ...(search !== '' && { search }),
    ...(after !== undefined && { after: Number(after) }),
  };
  const rows = (await answerOf(api.GET('/v1/x/admin/audit', { params: { query } }))).audit;
  const last = rows.length === pageRows ? rows.at(-1) : undefined;
  return { rows, total: undefined, after: last && String(last.position) };
}

function Details({ row }: { row: Row }) {
  const { audit: text } = texts.value;
  const entries = Object.entries(row.details);
  return (
    <dl class="audit-details">
      <dt>{text.time}</dt>
      <dd>{formatFull(row.at)}</dd>
      <dt>{text.action}</dt>
      <dd>{row.action}</dd>
      <dt>{text.address}</dt>
      <dd>{row.address || '–'}</dd>
      <dt>{text.position}</dt>
      <dd>{row.position}</dd>
      {entries.map(([name, value]) => [
        <dt key={name}>{name}</dt>,
        <dd key={`${name} value`}>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>,
      ])}
    </dl>
  );
}

/** Names an action such as device.create or command.turning-lights; unknown parts stay as they are. */
function actionText(action: string): string {
  const { audit: text, commands, flags } = texts.value;
  const [subject = '', ...rest] = action.split('.');
  const done = rest.join('.');
  const flagTexts: Readonly<Record<string, string>> = flags;
  const known = lookUp(text.done, done) ?? lookUp(commands.actions, done.toUpperCase()) ?? flagTexts[done] ?? done;
  return text.actionOf(lookUp(text.subjects, subject) ?? subject, known);
}

function AuditLine({ row }: { row: Row }) {
  const isUsual = ['done', 'requested', 'acknowledged', 'unchanged', 'verified'].includes(row.outcome);
  return (
    <li>
      <details class="audit-row">
        <summary>
          <time dateTime={row.at}>{formatTime(row.at)}</time>
          <span class="audit-action">{actionText(row.action)}</span>
          <span class="audit-actor">{row.actor}</span>
          <span class="audit-subject muted">{row.subject}</span>
          <span class={isUsual ? 'muted' : 'audit-unusual'}>
            {lookUp(texts.value.audit.outcomes, row.outcome) ?? row.outcome}
          </span>
        </summary>
        <Details row={row} />
      </details>
    </li>
  );
}

/** The rows of a chain, newest first, page by page. */
function Rows({ request }: { request: Request }) {
  const { audit: text, map } = texts.value;
  const { rows, failure, isLoading, loadNext, reload } = usePages(
    (after) => loadRows(request, after),
    [request.appId, request.search],
  );
  if (!rows) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <section class="audit-list" aria-label={text.title} aria-busy={isLoading}>
      {rows.rows.length === 0 ? (
        <Empty title={request.search ? map.noMatch : text.none} />
      ) : (
        <ol class="card">
          {rows.rows.map((row) => (
            <AuditLine key={row.position} row={row} />
          ))}
        </ol>
      )}
      {failure && <p class="notice wrong">{failure}</p>}
      {rows.after !== undefined && <Button onClick={loadNext}>{text.older}</Button>}
    </section>
  );
}

/** Recomputes the hashes of every chain, on request: it reads the whole audit. */
function Verification() {
  const { audit: text } = texts.value;
  const state = useSignal<'idle' | 'running' | { readonly sound: boolean; readonly message: string }>('idle');
  const verify = async () => {
    state.value = 'running';
    try {
      const { ok, chains } = await answerOf(api.GET('/v1/x/admin/audit/verify'));
      const rows = chains.reduce((sum, { length, prunedThrough }) => sum + length - prunedThrough, 0);
      const faulty = chains.find(({ fault }) => fault);
      state.value = {
        sound: ok,
        message: faulty?.fault
          ? text.altered(faulty.appId ?? text.platform, faulty.fault.position)
          : text.sound(rows, chains.length),
      };
    } catch (error) {
      state.value = { sound: false, message: messageOf(error) };
    }
  };
  const result = state.value;
  return (
    <>
      <Button disabled={result === 'running'} onClick={() => void verify()}>
        {result === 'running' ? text.verifying : text.verify}
      </Button>
      {typeof result === 'object' && (
        <p class={`notice audit-verdict ${result.sound ? 'good' : 'wrong'}`} role="status">
          {result.message}
        </p>
      )}
    </>
  );
}

function ChainChoice({ request, operator }: { request: Request; operator: Operator }) {
  const { audit: text } = texts.value;
  return (
    <select
      class="input"
      aria-label={text.chain}
      value={request.appId}
      onChange={({ currentTarget: { value } }) => open({ ...readRequest(), appId: value })}
    >
      {!operator.limited && <option value="">{text.platform}</option>}
      {operator.applications.map(({ appId, name }) => (
        <option key={appId} value={appId}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** The audit, and the verification of its chains. */
export function AuditScreen() {
  const { audit: text } = texts.value;
  if (session.value.state !== 'signed in' || session.value.person.kind !== 'operator') {
    return <Empty title={text.operatorsOnly} />;
  }
  const operator = session.value.person;
  const asked = readRequest();
  // An operator who is limited to applications cannot see the chain of the platform.
  const appId = asked.appId === '' && operator.limited ? (operator.applications[0]?.appId ?? '') : asked.appId;
  const request = { ...asked, appId };
  return (
    <div class="page">
      <header class="audit-bar">
        <Heading text={text.title} />
        <ChainChoice request={request} operator={operator} />
        <SearchBox
          label={text.search}
          placeholder={text.search}
          initial={request.search}
          onSearch={(search) => open({ ...readRequest(), search })}
        />
        {operator.role === 'administrator' && !operator.limited && <Verification />}
      </header>
      <Rows request={request} />
    </div>
  );
}
