import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { FactList } from '../../parts/layout/fact-list.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { address, changeQuery } from '../../router.ts';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatFull, formatNumber, formatTime } from '../../texts/format.ts';
import { type ReportTexts, useReportTexts } from '../../texts/report-texts.ts';
import { locale, lookUp, texts } from '../../texts/texts.ts';
import { loadSchedules, type Schedule, ScheduleForm, titleOf } from './schedule-form.tsx';

type SentReport = Schema<'SentReport'>;

interface ListOptions {
  readonly appId: string;
  readonly names: ReportTexts;
  readonly schedules: readonly Schedule[];
  readonly onChanged: () => void;
}

function ScheduleList({ appId, names, schedules, onChanged }: ListOptions) {
  const { reportScreen: text } = texts.value;
  const isCreating = useSignal(false);
  const close = () => assign(isCreating, false);
  if (isCreating.value) {
    const saved = () => {
      close();
      onChanged();
    };
    return <ScheduleForm appId={appId} names={names} onSaved={saved} onClose={close} />;
  }
  const hrefOf = (id: string) => {
    const query = new URLSearchParams(address.value.query);
    query.set('schedule', id);
    return `/reports/schedules?${query}`;
  };
  return (
    <>
      {hasRole('administrator') && (
        <div>
          <Button kind="primary" onClick={() => assign(isCreating, true)}>
            {text.newSchedule}
          </Button>
        </div>
      )}
      {schedules.length === 0 ? (
        <Empty title={text.noSchedules}>{<p>{text.noSchedulesText}</p>}</Empty>
      ) : (
        <ul class="card" aria-label={text.tabs.schedules}>
          {schedules.map((schedule) => (
            <li key={schedule.id} class="report-schedule">
              <a href={hrefOf(schedule.id)}>{titleOf(schedule, names)}</a>
              <span class="muted">{schedule.recipients.join(', ')}</span>
              <span class="muted">{text.nextDue(formatTime(schedule.nextDueAt))}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** The days of a report in the time zone of its schedule. */
function daysOf({ from, until }: SentReport, timeZone: string): string {
  const days = new Intl.DateTimeFormat(locale.value, { dateStyle: 'medium', timeZone });
  return `${days.format(new Date(from))} – ${days.format(new Date(Date.parse(until) - 1))}`;
}

/** The totals that late data has changed since the report was sent. */
function Changes({ report: { outdatedAt, changes }, names }: { report: SentReport; names: ReportTexts }) {
  const { reportScreen: text, exports } = texts.value;
  if (outdatedAt === undefined) return null;
  return (
    <>
      <p class="notice late">{text.outdated(formatTime(outdatedAt))}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: for scrolling by keyboard */}
      <section class="table-frame" tabIndex={0} aria-label={text.changes}>
        <table class="table">
          <thead>
            <tr>
              <th scope="col">{exports.vehicle}</th>
              <th scope="col">{text.total}</th>
              <th scope="col" class="number">
                {text.wasSent}
              </th>
              <th scope="col" class="number">
                {text.isNow}
              </th>
            </tr>
          </thead>
          <tbody>
            {changes.map(({ vehicleId, plate, column, sent, now }) => (
              <tr key={`${vehicleId} ${column}`}>
                <th scope="row">
                  <a href={`/vehicles/${vehicleId}`}>{plate}</a>
                </th>
                <td>{lookUp(names.columns, column) ?? column}</td>
                <td class="number">{formatNumber(sent, Number.isInteger(sent) ? 0 : 2)}</td>
                <td class="number">{formatNumber(now, Number.isInteger(now) ? 0 : 2)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

interface SentOptions {
  readonly report: SentReport;
  readonly schedule: Schedule;
  readonly names: ReportTexts;
}

function Sent({ report, schedule, names }: SentOptions) {
  const { reportScreen: text, webhooks } = texts.value;
  const { state, accepted, sentAt, lastError, attempts } = report;
  return (
    <li class="sent-report">
      <strong>{`${daysOf(report, schedule.timeZone)} · ${text.states[state]}`}</strong>
      <FactList
        rows={[
          [text.sentAt, sentAt && <time title={formatFull(sentAt)}>{formatTime(sentAt)}</time>],
          [text.accepted, accepted.join(', ')],
          [text.attempts, attempts > 1 && formatNumber(attempts)],
          [webhooks.lastError, lastError && <span class="field-error">{lastError}</span>],
        ]}
      />
      <Changes report={report} names={names} />
    </li>
  );
}

function SentReports({ appId, schedule, names }: Pick<ListOptions, 'appId' | 'names'> & { schedule: Schedule }) {
  const { reportScreen: text } = texts.value;
  const { id } = schedule;
  const params = { path: { id }, header: headerFor(appId) };
  const load = async () => (await answerOf(api.GET('/v1/x/report-schedules/{id}/reports', { params }))).reports;
  const { data, failure, reload } = useLoad(load, [id]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <>
      <h2>{text.sent}</h2>
      {data.length === 0 ? (
        <p class="muted">{text.nothingSent}</p>
      ) : (
        <ul class="card" aria-label={text.sent}>
          {data.map((report) => (
            <Sent key={report.dueAt} report={report} schedule={schedule} names={names} />
          ))}
        </ul>
      )}
    </>
  );
}

/** A schedule with its reports. */
function SchedulePage({ appId, names, schedule, onChanged }: Omit<ListOptions, 'schedules'> & { schedule: Schedule }) {
  const { reportScreen: text, groups, notifications, change, remove } = texts.value;
  const isEditing = useSignal(false);
  const { id, group, recipients, nextDueAt, timeZone } = schedule;
  const params = { path: { id }, header: headerFor(appId) };
  const loadGroups = () => answerOf(api.GET('/v1/x/groups', { params: { header: headerFor(appId) } }));
  const { data: known } = useLoad(loadGroups, [group]);
  if (isEditing.value) {
    const close = () => {
      isEditing.value = false;
      onChanged();
    };
    return <ScheduleForm appId={appId} names={names} schedule={schedule} onSaved={close} onClose={close} />;
  }
  const deleteSchedule = async () => {
    await answerOf(api.DELETE('/v1/x/report-schedules/{id}', { params }));
    changeQuery({ schedule: undefined });
    onChanged();
  };
  const title = titleOf(schedule, names);
  return (
    <>
      <section class="card form" aria-label={title}>
        <h2>{title}</h2>
        <FactList
          rows={[
            [text.recipients, recipients.join(', ')],
            [groups.label, group && (known?.groups.find((one) => one.id === group)?.name ?? group)],
            [text.next, <time title={formatFull(nextDueAt)}>{formatTime(nextDueAt)}</time>],
            [notifications.timeZone, timeZone],
          ]}
        />
        {hasRole('administrator') && (
          <div class="row start">
            <Button onClick={() => assign(isEditing, true)}>{change}</Button>
            <ActionButton action={remove} title={text.deleteTitle} isDangerous onConfirm={deleteSchedule}>
              {text.deleteText}
            </ActionButton>
          </div>
        )}
      </section>
      <SentReports appId={appId} schedule={schedule} names={names} />
    </>
  );
}

/** The report schedules of an application, or the one selected in the URL. */
export function Schedules({ appId }: { appId: string }) {
  const { reportScreen: text } = texts.value;
  const names = useReportTexts();
  const { data, failure, reload } = useLoad(() => loadSchedules(appId), [appId]);
  const fault = failure ?? names.failure;
  if (!data || !names.data) return fault ? <LoadFailure message={fault} retry={reload} /> : <Loading />;
  const id = address.value.query.get('schedule');
  const part = { appId, names: names.data, onChanged: reload };
  if (id === null) return <ScheduleList {...part} schedules={data} />;
  const schedule = data.find((one) => one.id === id);
  return (
    <>
      <div>
        <Button onClick={() => changeQuery({ schedule: undefined })}>{text.allSchedules}</Button>
      </div>
      {schedule ? <SchedulePage key={id} {...part} schedule={schedule} /> : <Empty title={text.noSuchSchedule} />}
    </>
  );
}
