import { useSignal } from '@preact/signals';
import { answerOf, api } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { ActionButton } from '../../parts/forms/action-button.tsx';
import { Form, SelectField } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { ShownOnce } from '../../parts/layout/copy.tsx';
import { actingFor } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatFull, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { TableSection } from './table-section.tsx';

interface SharesOptions {
  readonly vehicle: { readonly id: string; readonly appId: string };
  readonly mayChange: boolean;
}

const hours = [1, 4, 12, 24, 72] as const;
const gridMetres = 500;

/** Creates a share and shows its link once. */
function NewShare({ vehicle: { id, appId }, onCreated }: Pick<SharesOptions, 'vehicle'> & { onCreated: () => void }) {
  const { shares: text } = texts.value;
  const duration = useSignal('1');
  const isRounded = useSignal(false);
  const url = useSignal<string | undefined>(undefined);
  const action = useAction();
  const create = async () => {
    const until = new Date(Date.now() + Number(duration.value) * 3_600_000).toISOString();
    const body = { vehicleId: id, until, ...(isRounded.value && { gridMetres }) };
    const created = await answerOf(api.POST('/v1/x/shares', { params: { header: actingFor(appId) }, body }));
    url.value = created.url;
    onCreated();
  };
  return (
    <>
      <Form class="row start" onSubmit={() => void action.run(create)}>
        <SelectField
          label={text.duration}
          value={duration.value}
          options={hours.map((count) => [String(count), text.hours(count)] as const)}
          onChange={(value) => assign(duration, value)}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={isRounded.value}
            onChange={({ currentTarget }) => assign(isRounded, currentTarget.checked)}
          />
          {text.rounded}
        </label>
        <div class="row start">
          <Button type="submit" disabled={action.isRunning}>
            {text.create}
          </Button>
        </div>
      </Form>
      {action.failure && (
        <p class="notice wrong" role="alert">
          {action.failure}
        </p>
      )}
      {url.value !== undefined && <ShownOnce entries={[[text.link, url.value]]} />}
    </>
  );
}

/** Lists, creates and revokes the shares of a vehicle. */
export function Shares({ vehicle, mayChange }: SharesOptions) {
  const { shares: text } = texts.value;
  const load = () => answerOf(api.GET('/v1/x/shares', { params: { query: { vehicleId: vehicle.id, limit: 1000 } } }));
  const { data, failure, reload } = useLoad(load, [vehicle.id]);
  const revoke = async (id: string) => {
    await answerOf(api.DELETE('/v1/x/shares/{id}', { params: { path: { id }, header: actingFor(vehicle.appId) } }));
    reload();
  };
  const listed = [...(data?.shares ?? [])].sort((one, other) => other.createdAt.localeCompare(one.createdAt));
  return (
    <div class="stack">
      <TableSection
        title={text.title}
        none={text.none}
        heads={[text.createdBy, text.state, text.until, text.views, text.link]}
        rows={listed.map(({ id, createdBy, state, until, endedAt, views, lastViewedAt }) => (
          <tr key={id}>
            <th scope="row">{createdBy}</th>
            <td>
              <span class={`outcome ${state === 'active' ? 'acknowledged' : ''}`}>{text.states[state]}</span>
            </td>
            <td title={formatFull(endedAt ?? until)}>{formatTime(endedAt ?? until)}</td>
            <td>{lastViewedAt === undefined ? views : `${views} · ${formatTime(lastViewedAt)}`}</td>
            <td>
              {mayChange && state === 'active' && (
                <ActionButton action={text.revoke} title={text.revokeTitle} onConfirm={() => revoke(id)}>
                  {text.revokeText}
                </ActionButton>
              )}
            </td>
          </tr>
        ))}
      />
      {failure && <p class="notice wrong">{failure}</p>}
      <p class="muted">{text.text}</p>
      {mayChange && <NewShare vehicle={vehicle} onCreated={reload} />}
    </div>
  );
}
