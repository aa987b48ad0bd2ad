/** Settings that differ from the server's own, by name. */
export type SettingValues = ReadonlyMap<string, string>;

/** The part of the engine that settings need. */
interface SettingsEngine {
  query: (sql: string) => string[][];
}

/**
 * The settings of a PostgreSQL server where the engine's differ. It fixes its own on its command line, which neither postgresql.conf nor
 * ALTER DATABASE overrides.
 */
export const SERVER_SETTINGS: SettingValues = new Map([
  ['TimeZone', 'UTC'],
  ['allow_system_table_mods', 'off'],
  ['enable_seqscan', 'on'],
  ['log_min_messages', 'warning'],
  ['search_path', '"$user", public'],
]);

const READ_SETTINGS = `
select name, setting from pg_settings where source = 'session' and name not like 'transaction\\_%' and name <> 'seed'
union all select 'role', current_setting('role') where current_setting('role') <> 'none'
order by 1`;

const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const quoteText = (value: string): string => ` E'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Settings that a startup message asks for, `options=-c name=value` included (libpq, "Database Connection Control Functions"). */
export function startupSettings(parameters: ReadonlyMap<string, string>): SettingValues {
  const settings = new Map(SERVER_SETTINGS);
  const options = parameters.get('options') ?? '';
  for (const match of options.matchAll(/(?:-c\s*|--)([\w.-]+)=((?:\\.|\S)*)/g)) {
    setSetting(settings, (match[1] ?? '').replaceAll('-', '_'), (match[2] ?? '').replaceAll(/\\(.)/g, '$1'));
  }
  for (const [name, value] of parameters) {
    if (!['user', 'database', 'options', 'replication'].includes(name) && !name.startsWith('_pq_.')) {
      setSetting(settings, name, value);
    }
  }
  if (/^'?utf-?8'?$/i.test(settings.get('client_encoding') ?? '')) settings.delete('client_encoding');
  const user = parameters.get('user');
  if (user !== undefined && user !== 'postgres') settings.set('role', user);
  return settings;
}

/** Names of settings are the same in any letter case. */
function setSetting(settings: Map<string, string>, name: string, value: string): void {
  const known = [...settings.keys()].find((other) => other.toLowerCase() === name.toLowerCase());
  settings.set(known ?? name, value);
}

/** The settings that the session has now; those that were reset are the server's again. */
export function readSettings(engine: SettingsEngine): SettingValues {
  const found = new Map(engine.query(READ_SETTINGS).map(([name = '', value = '']) => [name, value]));
  const missing = new Map([...SERVER_SETTINGS].filter(([name]) => !found.has(name)));
  exchangeSettings(engine, new Map(), missing);
  return new Map([...found, ...missing]);
}

/** Brings the session from one connection's settings to another's. Throws the database's message, with everything reset. */
export function exchangeSettings(engine: SettingsEngine, current: SettingValues, wanted: SettingValues): void {
  const statements: string[] = [];
  if (current.has('role') && current.get('role') !== wanted.get('role')) statements.push('reset role');
  for (const name of current.keys()) {
    if (name !== 'role' && !wanted.has(name)) statements.push(`reset ${quoteName(name)}`);
  }
  // The role comes last: another setting may need the privileges that it gives up.
  const changed = [...wanted].filter(([name, value]) => current.get(name) !== value);
  changed.sort(([first], [second]) => Number(first === 'role') - Number(second === 'role'));
  for (const [name, value] of changed)
    statements.push(`select set_config(${quoteText(name)}, ${quoteText(value)}, false)`);
  if (statements.length === 0) return;
  try {
    engine.query(statements.join('; '));
  } catch (error) {
    engine.query('reset role; reset all');
    readSettings(engine);
    throw error;
  }
}

/** Whether executing this SQL can have changed settings beyond its transaction, judged by text and by command tag. */
export function mayChangeSettings(sql: string, commandTag: string): boolean {
  if (/^(RESET|DISCARD ALL)/.test(commandTag)) return true;
  if (commandTag === 'SET') return !/^\s*set\s+(local|transaction)\s[^;]*;?\s*$/i.test(sql);
  return /set_config/i.test(sql);
}
