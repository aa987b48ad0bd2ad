import { useMemo } from 'preact/hooks';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { texts } from '../../texts/texts.ts';
import { LoadFailure, Loading } from '../layout/placeholders.tsx';
import { bytesOf, type DecodedFault, decodeFault, hexLines, isBinary, textOf } from './decode.ts';
import type { Span } from './json-fault.ts';

export type Upload = Schema<'QuarantinedUpload'>;

const mostFaults = 5;
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
            {line.bytes.map((byte, index) =>
              isMarked(line.offset + index) ? (
                <mark key={`${line.offset + index}`}>{`${hex(byte, 2)} `}</mark>
              ) : (
                `${hex(byte, 2)} `
              ),
            )}
            {`${'   '.repeat(16 - line.bytes.length)} ${line.bytes.map(printable).join('')}\n`}
          </span>
        ))}
      </pre>
    </section>
  );
}

/** Describes a fault by its reason, its field and the rule that it breaks. */
export function faultText({ reason, field, message }: Upload['faults'][number]): string {
  const name = texts.value.quarantine.reasons[reason] ?? reason;
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
export function UploadDetails({ upload }: { upload: Upload }) {
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
    return { bytes, faults: faults.slice(0, mostFaults).map((fault) => decodeFault(bytes, fault, readings)) };
  }, [data, faults, format]);
  if (!decoded) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <>
      {decoded.faults.map((one) => (
        <FaultDetails key={`${one.fault.index} ${one.fault.field}`} bytes={decoded.bytes} decoded={one} />
      ))}
      {faults.length > mostFaults && <p class="muted">{text.moreFaults(faults.length - mostFaults)}</p>}
      <p class="muted">{text.audited}</p>
    </>
  );
}
