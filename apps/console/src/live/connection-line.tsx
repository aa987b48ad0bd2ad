import './connection-line.css';
import { formatTime } from '../texts/format.ts';
import { texts } from '../texts/texts.ts';
import type { Connection } from './live-stream.ts';

/** Says whether the page is live, and since when it is not. */
export function ConnectionLine({ connection }: { connection: Connection }) {
  const { connection: text } = texts.value;
  const { state } = connection;
  return (
    <p class={`connection ${state}`} role="status" {...(state === 'lost' && { title: text.lostText })}>
      {state === 'lost' ? text.lost(formatTime(connection.sinceMs)) : text[state]}
      {state === 'polling' && <small>{text.pollingText}</small>}
    </p>
  );
}
