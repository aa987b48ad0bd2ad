import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { usePages } from '../../api/use-pages.ts';
import { Dialog } from '../../parts/forms/dialog.tsx';
import { errorBeyond, errorOf, Form, TextInput } from '../../parts/forms/fields.tsx';
import { FormEnd, type Saving, useSave } from '../../parts/forms/use-save.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { hasRole } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatAgo, formatFull } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

type Request = Schema<'VehicleRequest'>;

const pageSize = 200;
const maxTextLength = 256;
const maxReasonLength = 1000;
/** The registration data of the vehicle. */
const facts = ['plate', 'vin', 'brand', 'model'] as const;
type Draft = Readonly<Record<(typeof facts)[number], string>>;

interface DecisionOptions {
  readonly request: Request;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

interface DecisionFormOptions {
  readonly title: string;
  /** The fields that show their own failures. */
  readonly fields: readonly string[];
  readonly saving: Saving<Request>;
  readonly decide: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly onDone: () => void;
  readonly children: ComponentChildren;
}

function DecisionForm({ title, fields, saving, decide, onClose, onDone, children }: DecisionFormOptions) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Form class="form" onSubmit={() => saving.run(decide, onDone)}>
        {children}
        <FormEnd
          failure={errorBeyond(saving.failure, fields)}
          saving={saving}
          describe={() => ({})}
          onTheirs={() => undefined}
          onClose={onClose}
        />
      </Form>
    </Dialog>
  );
}

/** Creates the vehicle of a request. */
function Approval({ request, onClose, onDone }: DecisionOptions) {
  const { requests: text } = texts.value;
  const draft = useSignal<Draft>({ plate: request.plate, vin: '', brand: '', model: '' });
  const saving = useSave<Request>(undefined);
  const approve = () => {
    const { plate, vin, brand, model } = draft.value;
    const body = { plate, brand, model, ...(vin !== '' && { vin }) };
    return answerOf(
      api.POST('/v1/x/admin/requests/{id}/approve', { params: { path: { id: request.requestId } }, body }),
    );
  };
  return (
    <DecisionForm
      {...{ title: text.approveTitle(request.plate), fields: facts, saving, decide: approve, onClose, onDone }}
    >
      <p class="muted">{text.approveText}</p>
      {facts.map((name) => (
        <TextInput
          key={name}
          label={text.fields[name]}
          value={draft.value[name]}
          maxLength={maxTextLength}
          isOptional={name === 'vin'}
          error={errorOf(saving.failure, name)}
          onValue={(value) => assign(draft, { ...draft.value, [name]: value })}
        />
      ))}
    </DecisionForm>
  );
}

/** Declines a request, with the reason that its owner reads. */
function Refusal({ request, onClose, onDone }: DecisionOptions) {
  const { requests: text } = texts.value;
  const reason = useSignal('');
  const saving = useSave<Request>(undefined);
  const decline = () =>
    answerOf(
      api.POST('/v1/x/admin/requests/{id}/decline', {
        params: { path: { id: request.requestId } },
        body: { reason: reason.value },
      }),
    );
  return (
    <DecisionForm
      {...{ title: text.declineTitle(request.plate), fields: ['reason'], saving, decide: decline, onClose, onDone }}
    >
      <TextInput
        label={text.reason}
        value={reason.value}
        maxLength={maxReasonLength}
        error={errorOf(saving.failure, 'reason')}
        onValue={(value) => assign(reason, value)}
      />
    </DecisionForm>
  );
}

interface RowOptions {
  readonly request: Request;
  readonly onApprove: () => void;
  readonly onDecline: () => void;
}

function RequestRow({ request, onApprove, onDecline }: RowOptions) {
  const { requests: text } = texts.value;
  const { plate, request: asked, createdAt, userId, appId } = request;
  return (
    <li class="request-row">
      <strong>{plate}</strong>
      <span>{asked}</span>
      <small class="muted">{userId ?? appId}</small>
      <time dateTime={createdAt} title={formatFull(createdAt)}>
        {formatAgo(createdAt)}
      </time>
      {hasRole('operator') && (
        <span class="row">
          <Button aria-label={`${text.approve}: ${plate}`} onClick={onApprove}>
            {text.approve}
          </Button>
          <Button kind="danger" aria-label={`${text.decline}: ${plate}`} onClick={onDecline}>
            {text.decline}
          </Button>
        </span>
      )}
    </li>
  );
}

/** The undecided requests for vehicles. */
export function Requests({ appId }: { appId: string }) {
  const { requests: text } = texts.value;
  const { rows, failure, isLoading, loadNext, reload } = usePages<Request>(
    async (after) => {
      const query = { state: 'pending' as const, limit: pageSize, ...(appId && { appId }), ...(after && { after }) };
      const { requests } = await answerOf(api.GET('/v1/x/admin/requests', { params: { query } }));
      const next = requests.length < pageSize ? undefined : requests.at(-1)?.requestId;
      return { rows: requests, total: undefined, after: next };
    },
    [appId],
  );
  const decided = useSignal<{ readonly request: Request; readonly isApproval: boolean } | undefined>(undefined);
  if (!rows) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const close = () => assign(decided, undefined);
  const done = () => {
    close();
    reload();
  };
  const Decision = decided.value?.isApproval ? Approval : Refusal;
  return (
    <>
      {failure && <p class="notice late">{failure}</p>}
      {rows.rows.length === 0 && <Empty title={text.none} />}
      {rows.rows.length > 0 && (
        <ul class="card" aria-label={text.list}>
          {rows.rows.map((request) => (
            <RequestRow
              key={request.requestId}
              request={request}
              onApprove={() => assign(decided, { request, isApproval: true })}
              onDecline={() => assign(decided, { request, isApproval: false })}
            />
          ))}
        </ul>
      )}
      {rows.after !== undefined && (
        <div>
          <Button disabled={isLoading} onClick={loadNext}>
            {texts.value.navigation.more}
          </Button>
        </div>
      )}
      {decided.value && <Decision request={decided.value.request} onClose={close} onDone={done} />}
    </>
  );
}
