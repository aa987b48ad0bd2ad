import { CopyRows } from '../../parts/layout/copy.tsx';
import { texts } from '../../texts/texts.ts';

const compose = 'docker compose run --rm tools';
const direct = 'npx odograph';
const connection = 'postgres://LOGIN:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full';

/** Shows the commands that manage database users for reports, because no service has the right to. */
export function ReportLogins({ appId }: { appId: string }) {
  const { reports: text } = texts.value;
  const rowsOf = (program: string) =>
    [
      [text.commands.create, `${program} reports create --app ${appId}`],
      [text.commands.list, `${program} reports list`],
      [text.commands.rotate, `${program} reports rotate --login LOGIN`],
      [text.commands.remove, `${program} reports delete --login LOGIN`],
    ] as const;
  return (
    <section class="card form" aria-label={text.title}>
      <h2>{text.title}</h2>
      <p>{text.text}</p>
      <h3>{text.compose}</h3>
      <CopyRows rows={rowsOf(compose)} />
      <h3>{text.direct}</h3>
      <CopyRows rows={rowsOf(direct)} />
      <h3>{text.connection}</h3>
      <p class="muted">{text.connectionText}</p>
      <CopyRows rows={[[text.connection, connection]]} />
    </section>
  );
}
