import './quarantine.css';
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { answerOf, api, messageOf, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { mayChange } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatBytes, formatFull, formatTime } from '../../texts/format.ts';
import { lookUp, texts } from '../../texts/texts.ts';
import { Confirm, Dialog } from '../forms/dialog.tsx';
import { Form } from '../forms/fields.tsx';
import { VehicleForm } from '../forms/vehicle-form.tsx';
import { type NamedVehicle, VehiclePicker } from '../forms/vehicle-picker.tsx';
import { Button } from '../layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../layout/placeholders.tsx';
import { bytesOf, type DecodedFault, decodeFault, hexLines, isBinary, type Span, textOf } from './decode.ts';

export type Upload = Schema<'QuarantinedUpload'>;

const maxFaults = 5;
/** Characters that are shown before and after a place. */
const around = 600;

/** A text with its faulty place marked, cut around that place. */
function MarkedText({ label, text, place }: { label: string; text: string; place: Span | undefined }) {
  const { from, until } = place ?? { from: 0, until: 0 };
  const start = Math.max(0, from - around);
  const end = Math.min(text.length, until + around);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
    <section tabIndex={0} aria-label={label}>
      <pre class="code">
        {start > 0 && '… '}
        {text.slice(start, from)}
        {place && <mark>{text.slice(from, until) || ' '}</mark>}
        {text.slice(until, end)}
        {end < text.length && ' …'}
      </pre>
    </section>
  );
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
const printable = (byte: number): string => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.');

/** The bytes around the faulty place in hexadecimal and as text; those of the place are marked. */
function HexDump({ bytes, place }: { bytes: Uint8Array; place: Span | undefined }) {
  const isMarked = (offset: number) => place !== undefined && offset >= place.from && offset < place.until;
  const { quarantine: text } = texts.value;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
    <section tabIndex={0} aria-label={text.bytes}>
      <pre class="code hex">
        {hexLines(bytes, place).map((line) => (
          <span key={line.offset}>
            {`${hex(line.offset, 6)}  `}
            {line.bytes.map((byte, index) => {
              const written = `${hex(byte, 2)} `;
              return isMarked(line.offset + index) ? <mark key={`${line.offset + index}`}>{written}</mark> : written;
            })}
            {`${'   '.repeat(16 - line.bytes.length)} ${line.bytes.map(printable).join('')}\n`}
          </span>
        ))}
      </pre>
    </section>
  );
}

/** Describes a fault by its reason, its field and the rule that it breaks. */
function faultText({ reason, field, message }: Upload['faults'][number]): string {
  const name = lookUp(texts.value.quarantine.reasons, reason) ?? reason;
  return [name, field, message].filter((part) => part !== undefined).join(' · ');
}

function FaultDetails({ bytes, decoded }: { bytes: Uint8Array; decoded: DecodedFault }) {
  const { quarantine: text } = texts.value;
  const { fault, inText, inBytes, json, inJson } = decoded;
  return (
    <section class="fault">
      <h3>
        {faultText(fault)}
        {fault.index !== null && ` · ${text.reading(fault.index + 1)}`}
        {inBytes && ` · ${text.byte(inBytes.from)}`}
      </h3>
      <div class="fault-views">
        {json !== undefined && <MarkedText label={text.decoded} text={json} place={inJson} />}
        {json === undefined && !isBinary(bytes) && <MarkedText label={text.text} text={textOf(bytes)} place={inText} />}
        <HexDump bytes={bytes} place={inBytes} />
      </div>
    </section>
  );
}

/** The bytes of an upload, decoded, with the place of each fault. Opening them is recorded in the audit. */
function UploadDetails({ upload }: { upload: Upload }) {
  const { quarantine: text } = texts.value;
  const { id, faults, format } = upload;
  const { data, failure, reload } = useLoad(
    async () => answerOf(api.POST('/v1/x/admin/quarantine/{id}/open', { params: { path: { id } } })),
    [id],
  );
  const decoded = useMemo(() => {
    if (data === undefined) return undefined;
    const bytes = bytesOf(data.base64);
    const readings = format === 'native' && !isBinary(bytes) ? undefined : data.readings;
    return { bytes, faults: faults.slice(0, maxFaults).map((fault) => decodeFault(bytes, fault, readings)) };
  }, [data, faults, format]);
  if (!decoded) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <>
      {decoded.faults.map((one) => (
        <FaultDetails key={`${one.fault.index} ${one.fault.field}`} bytes={decoded.bytes} decoded={one} />
      ))}
      {faults.length > maxFaults && <p class="muted">{text.moreFaults(faults.length - maxFaults)}</p>}
      <p class="muted">{text.audited}</p>
    </>
  );
}

/** Which uploads of the quarantine to list; all open ones without members. */
export interface QuarantineSearch {
  readonly vehicleId?: string;
  readonly deviceId?: string;
  readonly reason?: string;
}

const maxRows = 100;
const uploadsPerReplay = 1000;
const outcomeChecks = 20;
const checkMs = 500;

async function load(search: QuarantineSearch, limit: number, after?: number): Promise<readonly Upload[]> {
  const query = { ...search, open: true, order: 'newest' as const, limit, ...(after !== undefined && { after }) };
  return (await answerOf(api.GET('/v1/x/admin/quarantine', { params: { query } }))).quarantine;
}

/** Waits until an upload that was replayed is stored, or has come back. @returns what happened to it */
async function awaitOutcome({ id, timesSeen }: Upload): Promise<'stored' | 'partial' | 'back' | 'waiting'> {
  for (let check = 0; check < outcomeChecks; check += 1) {
    await new Promise((resolve) => setTimeout(resolve, checkMs));
    const now = await answerOf(api.GET('/v1/x/admin/quarantine/{id}', { params: { path: { id } } }));
    if (now.resolvedAt !== null) return 'stored';
    if (now.timesSeen > timesSeen) return now.partial ? 'partial' : 'back';
  }
  return 'waiting';
}

/** Dismisses an upload, with a reason. */
function Dismissal({ isDisabled, onDismiss }: { isDisabled: boolean; onDismiss: (reason: string) => void }) {
  const { quarantine: text } = texts.value;
  const reason = useSignal('');
  return (
    <Form class="dismiss" onSubmit={() => onDismiss(reason.value)}>
      <input
        class="input"
        required
        maxLength={1000}
        aria-label={text.dismissReason}
        placeholder={text.dismissReason}
        onInput={({ currentTarget }) => assign(reason, currentTarget.value)}
      />
      <Button type="submit" kind="danger" disabled={isDisabled}>
        {text.dismiss}
      </Button>
    </Form>
  );
}

interface RepairOptions {
  readonly upload: Upload;
  readonly onOutcome: (message: string) => void;
}

interface ConfirmLinkOptions {
  readonly deviceId: string;
  readonly vehicle: NamedVehicle;
  readonly onConfirm: (vehicleId: string) => void;
  readonly onClose: () => void;
}

function ConfirmLink({ deviceId, vehicle, onConfirm, onClose }: ConfirmLinkOptions) {
  const { quarantine: text } = texts.value;
  return (
    <Confirm
      title={text.confirmLink(deviceId, vehicle.plate)}
      action={text.linkAndReplay}
      // The list shows the outcome, which can take seconds.
      onConfirm={async () => onConfirm(vehicle.id)}
      onClose={onClose}
    >
      <p class="muted">{text.confirmLinkText}</p>
    </Confirm>
  );
}

interface NewVehicleOptions {
  readonly deviceId: string;
  readonly onCreated: (vehicle: NamedVehicle) => void;
  readonly onClose: () => void;
}

/** Creates a vehicle in the application of a device. */
function NewVehicle({ deviceId, onCreated, onClose }: NewVehicleOptions) {
  const params = { path: { id: deviceId } };
  const {
    data: device,
    failure,
    reload,
  } = useLoad(() => answerOf(api.GET('/v1/x/devices/{id}', { params })), [deviceId]);
  return (
    <Dialog title={texts.value.vehicleForm.new} onClose={onClose}>
      {device && <VehicleForm appId={device.appId || undefined} onDone={onCreated} onClose={onClose} />}
      {!device && (failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />)}
    </Dialog>
  );
}

/** Chooses or creates the vehicle for a device, and asks before it links them. */
function LinkChoice({ deviceId, onLink }: { deviceId: string; onLink: (vehicleId: string) => void }) {
  const { quarantine: text } = texts.value;
  const chosen = useSignal<NamedVehicle | undefined>(undefined);
  const isCreating = useSignal(false);
  return (
    <>
      <VehiclePicker label={text.link(deviceId)} onPick={(vehicle) => assign(chosen, vehicle)} />
      <Button onClick={() => assign(isCreating, true)}>{text.createVehicle}</Button>
      {isCreating.value && (
        <NewVehicle
          deviceId={deviceId}
          onCreated={(vehicle) => {
            isCreating.value = false;
            chosen.value = vehicle;
          }}
          onClose={() => assign(isCreating, false)}
        />
      )}
      {chosen.value && (
        <ConfirmLink
          deviceId={deviceId}
          vehicle={chosen.value}
          onConfirm={onLink}
          onClose={() => assign(chosen, undefined)}
        />
      )}
    </>
  );
}

/** Links the device of an upload to a vehicle and replays its uploads, replays one, or dismisses it. */
function Repair({ upload, onOutcome }: RepairOptions) {
  const { quarantine: text, pipeline } = texts.value;
  const { id, deviceId, faults } = upload;
  const isBusy = useSignal(false);
  const run = async (action: () => Promise<string>) => {
    isBusy.value = true;
    onOutcome(await action().catch(messageOf));
    isBusy.value = false;
  };
  const replay = (ids: string[]) => answerOf(api.POST('/v1/x/admin/quarantine/replay', { body: { ids } }));
  const replayThis = async () => {
    await replay([id]);
    return text.outcomes[await awaitOutcome(upload)];
  };
  const link = async (vehicleId: string) => {
    await answerOf(
      api.POST('/v1/x/admin/devices/{id}/link', { params: { path: { id: deviceId } }, body: { vehicleId } }),
    );
    const loadNext = (after?: number) => load({ deviceId, reason: 'DEVICE_NOT_LINKED' }, uploadsPerReplay, after);
    for (let page = await loadNext(); page.length > 0; page = await loadNext(Number(page.at(-1)?.id))) {
      await replay(page.map((one) => one.id));
    }
    return text.outcomes[await awaitOutcome(upload)];
  };
  const dismiss = async (reason: string) => {
    await answerOf(api.POST('/v1/x/admin/quarantine/dismiss', { body: { ids: [id], reason } }));
    return text.dismissed;
  };
  const isDisabled = !mayChange() || isBusy.value;
  return (
    <div class="repair">
      {faults.some((fault) => fault.reason === 'DEVICE_NOT_LINKED') && mayChange() && (
        <LinkChoice deviceId={deviceId} onLink={(vehicleId) => void run(() => link(vehicleId))} />
      )}
      <Button disabled={isDisabled} onClick={() => void run(replayThis)}>
        {pipeline.replay}
      </Button>
      <Dismissal isDisabled={isDisabled} onDismiss={(reason) => void run(() => dismiss(reason))} />
      {isBusy.value && <span class="spinner" />}
    </div>
  );
}

function Row({ upload, onOutcome }: RepairOptions) {
  const { quarantine: text } = texts.value;
  const isOpen = useSignal(false);
  const { deviceId, faults, bytes, partial, timesSeen, receivedAt } = upload;
  const [first, ...others] = faults;
  return (
    <li>
      <details class="upload" onToggle={({ currentTarget }) => assign(isOpen, currentTarget.open)}>
        <summary>
          <time dateTime={receivedAt} title={formatFull(receivedAt)}>
            {formatTime(receivedAt)}
          </time>
          <strong>{deviceId}</strong>
          <span class="fault-text">
            {first ? faultText(first) : ''}
            {others.length > 0 && <span class="muted">{` +${others.length}`}</span>}
            {partial && <span class="partial muted">{text.partial}</span>}
          </span>
          <span class="muted">{formatBytes(bytes)}</span>
          <span class="muted">{timesSeen > 1 && text.seen(timesSeen)}</span>
        </summary>
        {isOpen.value && (
          <div class="upload-body">
            {partial && <p class="muted">{text.partialText}</p>}
            <Repair upload={upload} onOutcome={onOutcome} />
            {mayChange() && bytes > 0 && <UploadDetails upload={upload} />}
            {!mayChange() && <p class="muted">{text.notOpened}</p>}
          </div>
        )}
      </details>
    </li>
  );
}

/** Open uploads of the quarantine, the newest first, each with its bytes, its faults and the actions on it. */
export function QuarantineList({ search, onChange }: { search: QuarantineSearch; onChange?: () => void }) {
  const { pipeline: text, quarantine } = texts.value;
  const { vehicleId, deviceId, reason } = search;
  const { data, failure, reload } = useLoad(() => load(search, maxRows), [vehicleId, deviceId, reason]);
  const outcome = useSignal<string | undefined>(undefined);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const onOutcome = (message: string) => {
    outcome.value = message;
    reload();
    onChange?.();
  };
  return (
    <>
      <div role="status">{outcome.value && <p class="notice">{outcome.value}</p>}</div>
      {failure && <p class="notice late">{failure}</p>}
      {data.length === 0 ? (
        <Empty title={text.noQuarantine} />
      ) : (
        <ul class="card" aria-label={text.quarantine}>
          {data.map((upload) => (
            <Row key={upload.id} upload={upload} onOutcome={onOutcome} />
          ))}
        </ul>
      )}
      {data.length === maxRows && <p class="muted">{quarantine.newestOnly(maxRows)}</p>}
    </>
  );
}
